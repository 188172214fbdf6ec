/**
 * A nested call that waits for a decision is executed with the input that was decided on, whatever its schema or hook
 * would make the next time.
 */
import { type Approve, type BeforeToolCall, createAgentRuntime } from "codecell/surface";
import { expect, test } from "vitest";
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
