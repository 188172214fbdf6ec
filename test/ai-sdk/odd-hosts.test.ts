/** What hosts give and do that nobody meant: it is told clearly, and holds nothing for ever. */
import { tool, type ToolSet } from "ai";
import {
  type CodeModeInterrupt,
  CodeModeToolError,
  continueCodeModeInterrupt,
  createCodeModeTool,
  requestCodeModeInterrupt,
  runCodeMode,
} from "codecell/ai";
import { afterEach, expect, test, vi } from "vitest";
import { z } from "zod";

afterEach(() => {
  vi.useRealTimers();
});

const inputSchema = z.object({});

test("a hook or its error listener that never settles is not waited for without end", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const called = Promise.withResolvers<void>();
  const never = new Promise<never>(() => {});
  const onHookError = async (): Promise<void> => {
    called.resolve();
    return never;
  };
  const lifecycle = { onTrace: () => Promise.reject(new Error("Full disk")), onHookError };
  const result = runCodeMode({ js: "return 1", tools: {}, options: { lifecycle } });
  await called.promise;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await result).toBe(1);
});

test("an error whose fields throw fails its call only, and the host hears of it", async () => {
  const bomb = Object.defineProperty(new Error("Hidden"), "name", {
    get: () => {
      throw new Error("No name");
    },
  });
  const fail = tool({
    inputSchema,
    execute: async (): Promise<unknown> => {
      throw bomb;
    },
  });
  const onTrace = vi.fn();
  const js = "try { await tools.fail({}) } catch { return 1 }";
  expect(await runCodeMode({ js, tools: { fail }, options: { lifecycle: { onTrace } } })).toBe(1);
  expect(onTrace.mock.calls).toMatchObject([
    [{ bridgeRequests: [{ status: "rejected", error: { name: "Error" } }] }],
  ]);
});

test("an error that a tool throws twice stays unchanged, and is told each time", async () => {
  const kept = Object.freeze(new CodeModeToolError("No quota", { left: 0 }));
  const fail = tool({
    inputSchema,
    execute: async (): Promise<unknown> => {
      throw kept;
    },
  });
  const codeMode = createCodeModeTool({ fail });
  for (const toolCallId of ["1", "2"]) {
    const js = `console.log("Before"); await tools.fail({})`;
    const error: unknown = await codeMode
      .execute({ js }, { toolCallId, messages: [] })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CodeModeToolError);
    expect(error).toMatchObject({
      name: "CodeModeToolError",
      message: "No quota\nThe program had printed:\nBefore",
      details: { left: 0, failure: "tool_failed" },
    });
  }
  expect(kept.message).toBe("No quota");
});

test("an execution can be iterated by several at once", async () => {
  const gate = Promise.withResolvers<number>();
  const slow = tool({ inputSchema, execute: () => gate.promise });
  const execution = createCodeModeTool({ slow }).execute(
    { js: "return await tools.slow({})" },
    { toolCallId: "1", messages: [] },
  );
  const read = async (): Promise<unknown[]> => {
    const items: unknown[] = [];
    for await (const item of execution) {
      items.push(item);
      if (items.length === 1) started--;
      if (started === 0) gate.resolve(5);
    }
    return items;
  };
  let started = 2;
  const progress = expect.objectContaining({ type: "code-mode-progress", total: 1 }) as unknown;
  for (const items of await Promise.all([read(), read()])) {
    expect([items[0], items.at(-1)]).toEqual([progress, 5]);
  }
});

test("the message about a value that is not a tool names it", async () => {
  const wrong = { search: undefined } as unknown as ToolSet;
  const problem = 'Cannot run code mode: tool "search" is not a tool: leave it out';
  expect(() => createCodeModeTool(wrong)).toThrow(problem);
  await expect(runCodeMode({ js: "return 1", tools: wrong })).rejects.toThrow(problem);
  const ask = tool({
    inputSchema,
    execute: async (): Promise<unknown> => requestCodeModeInterrupt({ kind: "login" }),
  });
  const interrupt = await runCodeMode({ js: "return await tools.ask({})", tools: { ask } });
  const given = { interrupt: interrupt as CodeModeInterrupt, resolution: 1 };
  await expect(
    continueCodeModeInterrupt({ ...given, tools: undefined as unknown as ToolSet }),
  ).rejects.toThrow("Cannot run code mode: tools must be an object of tools by their names, it is undefined");
});

test("an invalid input is refused with a message", async () => {
  const codeMode = createCodeModeTool({});
  for (const input of [null, "return 1"]) {
    await expect(
      codeMode.execute(input as unknown as { js: string }, { toolCallId: "1", messages: [] }),
    ).rejects.toThrow("Cannot run code mode: its input must be an object with js");
  }
});
