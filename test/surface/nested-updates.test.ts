/** Progress that tools report, and who gets it. */
import { describe, expect, test } from "vitest";
import type { AgentTools } from "codecell/surface";
import { openDesk, until } from "./fixtures.ts";
import { valueOf, waitingOf } from "./results.ts";

describe("updates", () => {
  interface Stream {
    readonly tools: AgentTools;
    readonly push: (update: unknown) => void;
    readonly end: () => void;
    /** How many updates were taken. */
    readonly taken: () => number;
  }

  /** A tool that yields what the test pushes. */
  function streaming(): Stream {
    const queue: unknown[] = [];
    let [wake, taken] = [(): void => {}, 0];
    const over = new AbortController();
    async function* execute(): AsyncGenerator<unknown, void, undefined> {
      for (;;) {
        while (queue.length === 0 && !over.signal.aborted) {
          await new Promise<void>((resolve) => (wake = resolve));
        }
        if (queue.length === 0) return;
        yield queue.shift();
        taken++;
      }
    }
    return {
      tools: { core: { stream: { execute } } },
      push: (update) => {
        queue.push(update);
        wake();
      },
      end: () => {
        over.abort();
        wake();
      },
      taken: () => taken,
    };
  }

  test("reach the callback of exec, and the last one is the output [exec-wait:52]", async () => {
    const stream = streaming();
    await using desk = openDesk({ tools: stream.tools });
    const updates: unknown[] = [];
    stream.push({ done: 1 });
    stream.push({ done: 2 });
    stream.end();
    const result = desk.run.exec(
      { code: "return tools.stream({})" },
      { onUpdate: (update) => updates.push(update) },
    );
    expect(await valueOf(result)).toEqual({ done: 2 });
    const of = { tool: "core:core:stream", callId: expect.any(String) as string };
    expect(updates).toEqual([
      { ...of, update: { done: 1 } },
      { ...of, update: { done: 2 } },
    ]);
  });

  test("reach the wait in which they come, and nobody between two exchanges [exec-wait:52]", async () => {
    const stream = streaming();
    await using desk = openDesk({ tools: stream.tools, config: { enabled: true, timeoutMs: 100 } });
    const seen: string[] = [];
    const first = await waitingOf(
      desk.run.exec(
        { code: "return tools.stream({})" },
        { onUpdate: ({ update }) => seen.push(`exec ${String(update)}`) },
      ),
    );
    stream.push("a");
    await until(() => stream.taken() === 1);
    const second = desk.run.wait(
      { runId: first.runId },
      { onUpdate: ({ update }) => seen.push(`wait ${String(update)}`) },
    );
    stream.push("b");
    await until(() => stream.taken() === 2);
    stream.end();
    expect(await valueOf(second)).toBe("b");
    expect(seen).toEqual(["wait b"]);
  });

  test.each([
    [
      "throws",
      (): void => {
        throw new Error("listener");
      },
    ],
    ["rejects", (): Promise<void> => Promise.reject(new Error("listener"))],
  ])("do not fail a call, or the process, when their callback %s [exec-wait:52]", async (_how, onUpdate) => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown): unknown => unhandled.push(reason);
    process.on("unhandledRejection", onUnhandled);
    const stream = streaming();
    await using desk = openDesk({ tools: stream.tools });
    stream.push(1);
    stream.push(2);
    stream.end();
    expect(await valueOf(desk.run.exec({ code: "return tools.stream({})" }, { onUpdate }))).toBe(2);
    await new Promise(setImmediate);
    process.off("unhandledRejection", onUnhandled);
    expect(unhandled).toEqual([]);
  });
});
