/**
 * A nested call that waits for a decision is executed with the input that was decided on, whatever its schema or hook
 * would make the next time.
 */
import { createHost } from "codecell";
import { createMemoryStore } from "codecell/store";
import { type Approve, type BeforeToolCall, createAgentRuntime } from "codecell/surface";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { CONTEXT } from "./fixtures.ts";
import { valueOf, waitingOf } from "./results.ts";

test.each<[string, BeforeToolCall | undefined, object]>([
  ["without a hook", undefined, {}],
  ["with a hook that leaves it", () => undefined, {}],
  ["with a hook that rewrites it", () => ({ input: { by: "hook" } }), { by: "hook" }],
  [
    "with a hook that changes it in place",
    ({ input }) => {
      Object.assign(input as object, { by: "hook" });
      return undefined;
    },
    { by: "hook" },
  ],
])("%s: the schema gives another value each time [exec-wait:51]", async (_how, beforeToolCall, expected) => {
  let made = 0;
  let hooked = 0;
  const asked: unknown[] = [];
  const executed: unknown[] = [];
  const approve: Approve = ({ input, resolution }) => {
    asked.push(structuredClone(input));
    return resolution === undefined ? { suspend: "may I?" } : "allow";
  };
  await using runtime = createAgentRuntime();
  await using run = runtime.prepareAgentRun({
    config: true,
    context: CONTEXT,
    tools: {
      core: {
        act: {
          input: z.looseObject({ id: z.string().default(() => `id${++made}`) }),
          execute: (input: unknown) => (executed.push(input), "done"),
        },
      },
    },
    approve,
    ...(beforeToolCall === undefined ? {} : { beforeToolCall: (call) => (hooked++, beforeToolCall(call)) }),
  });
  const { runId, pendingToolCalls = [] } = await waitingOf(run.exec({ code: "return await tools.act({})" }));
  run.resolve({ [pendingToolCalls[0]?.id ?? ""]: { resolution: "yes" } });
  expect(await valueOf(run.wait({ runId }))).toBe("done");
  expect(asked).toEqual([asked[0], asked[0]]);
  expect(asked[0]).toEqual({ id: expect.stringMatching(/^id\d+$/) as string, ...expected });
  expect(executed).toEqual([asked[0]]);
  expect(hooked).toBe(beforeToolCall === undefined ? 0 : 1);
});

describe("in another process", () => {
  /** Waits in one process and goes on in another; `hook` and the schema count over both. */
  async function moved(hook: (times: number) => object | undefined, input: z.ZodType) {
    const [shown, executed, hooked]: [unknown[], unknown[], unknown[]] = [[], [], []];
    await using store = createMemoryStore();
    const open = () => {
      const host = createHost({ store, workers: 1, sealKey: new Uint8Array(32).fill(7) });
      const runtime = createAgentRuntime({ host });
      const run = runtime.prepareAgentRun({
        config: true,
        context: CONTEXT,
        tools: { core: { act: { input, execute: (given: unknown) => (executed.push(given), "done") } } },
        beforeToolCall: (call) => {
          hooked.push(call.input);
          const made = hook(hooked.length);
          return made === undefined ? undefined : { input: made };
        },
        approve: ({ input: given, resolution }) => {
          shown.push(structuredClone(given));
          return resolution === undefined ? { suspend: "may I?" } : "allow";
        },
      });
      return { host, run };
    };
    const first = open();
    const code = 'return await tools.act({ to: "ana" }).catch(({ code }) => code)';
    const { runId } = await waitingOf(first.run.exec({ code }));
    const second = open();
    const { pendingToolCalls = [] } = await waitingOf(second.run.wait({ runId }));
    second.run.resolve({ [pendingToolCalls[0]?.id ?? ""]: { resolution: "yes" } });
    const value = await valueOf(second.run.wait({ runId }));
    await second.host[Symbol.asyncDispose]();
    await first.host[Symbol.asyncDispose]();
    return { value, shown, executed, hooked };
  }

  test("the input that a hook made is executed, and no hook is asked again [exec-wait:51]", async () => {
    const { value, shown, executed, hooked } = await moved(
      (times) => ({ to: `hook ${times}` }),
      z.object({ to: z.string() }),
    );
    expect(value).toBe("done");
    expect(shown).toEqual([{ to: "hook 1" }, { to: "hook 1" }]);
    expect(executed).toEqual([{ to: "hook 1" }]);
    expect(hooked).toHaveLength(1);
  });

  test("a value that the schema makes of the program's input is the same", async () => {
    const { value, executed } = await moved(
      () => undefined,
      z.object({ to: z.string().transform((to) => `${to}!`) }),
    );
    expect(value).toBe("done");
    expect(executed).toEqual([{ to: "ana!" }]);
  });

  test("an input that cannot be made again is not executed [policy:fails-closed]", async () => {
    let made = 0;
    const input = z.object({ to: z.string() }).transform(({ to }) => ({ to, id: ++made }));
    const { value, executed } = await moved(() => undefined, input);
    expect(value).toBe("denied");
    expect(executed).toEqual([]);
  });
});
