/** The order in which hooks are told of calls, also when they take their time. */
import { tool } from "ai";
import {
  type CodeModeInterrupt,
  continueCodeModeInterrupt,
  requestCodeModeInterrupt,
  runCodeMode,
} from "codecell/ai";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { z } from "zod";

const inputSchema = z.object({});
const tools = {
  read: tool({ inputSchema, execute: async () => "read" }),
  ask: tool({
    inputSchema,
    execute: (_input, options) =>
      (options as { codeModeInterrupt?: unknown }).codeModeInterrupt === undefined
        ? requestCodeModeInterrupt({ kind: "ask" })
        : "answered",
  }),
};

/** Longer than a program takes to get on. */
async function slowly(): Promise<void> {
  for (let turn = 0; turn < 500; turn++) await setImmediate();
}

test("a continued run tells of all calls made before, and then of those that it makes", async () => {
  const js = "await tools.read({}); await tools.read({}); return await tools.ask({})";
  const interrupt = (await runCodeMode({ js, tools })) as CodeModeInterrupt;
  const told: string[] = [];
  const options = {
    lifecycle: {
      onNestedToolCall: async ({ toolName }: { toolName: string }) => {
        await slowly();
        told.push(`call ${toolName}`);
      },
      onNestedToolResult: async ({ toolName }: { toolName: string }) => {
        await slowly();
        told.push(`result ${toolName}`);
      },
    },
  };
  expect(await continueCodeModeInterrupt({ interrupt, resolution: {}, tools, options })).toBe("answered");
  const read = ["call read", "result read"];
  expect(told).toEqual([...read, ...read, "call ask", "result ask"]);
});

test("a trace has the times at which a call began and ended, however long hooks take [events:one]", async () => {
  const ended: { completedAtMs: number; startedAtMs: number }[] = [];
  let releasedAtMs = Infinity;
  const options = {
    lifecycle: {
      onNestedToolResult: async (event: { completedAtMs: number; startedAtMs: number }) => {
        ended.push(event);
        if (ended.length > 1) return;
        // The other call ends meanwhile, and hooks hear of that when this one has settled.
        await slowly();
        const clock = Date.now();
        while (Date.now() < clock + 2) await setImmediate();
        releasedAtMs = Date.now();
      },
    },
  };
  const js = "return (await Promise.all([tools.read({}), tools.read({})])).length";
  expect(await runCodeMode({ js, tools, options })).toBe(2);
  expect(ended).toHaveLength(2);
  for (const { startedAtMs, completedAtMs } of ended) {
    expect(startedAtMs).toBeLessThanOrEqual(completedAtMs);
    expect(completedAtMs).toBeLessThan(releasedAtMs);
  }
});

test("calls wait while hooks are yet to be told of much that others gave [host:memory]", async () => {
  const length = 100_000;
  const all = 20;
  let [given, told, mostUntold] = [0, 0, 0];
  const fourth = Promise.withResolvers<void>();
  const give = tool({
    inputSchema,
    execute: () => {
      given++;
      if (given === 4) fourth.resolve();
      mostUntold = Math.max(mostUntold, given - told);
      return "x".repeat(length);
    },
  });
  const options = {
    lifecycle: {
      onNestedToolResult: async () => {
        if (told === 0) {
          await fourth.promise;
          // While another program goes on twenty times, this one would go on too, if it were let.
          const beside = "for (let n = 0; n < 20; n++) await tools.read({}); return 2";
          expect(await runCodeMode({ js: beside, tools })).toBe(2);
        }
        told++;
      },
    },
  };
  const js = `for (let n = 0; n < ${all}; n++) await tools.give({}); return 1`;
  expect(await runCodeMode({ js, tools: { give }, options })).toBe(1);
  expect([given, told]).toEqual([all, all]);
  // Three together are above 256 KiB. A fourth is made, and does not end before the first is told.
  expect(mostUntold).toBeLessThanOrEqual(4);
});
