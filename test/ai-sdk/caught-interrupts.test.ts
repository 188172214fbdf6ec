/** Tools that catch what `requestCodeModeInterrupt` throws: what they asked for is asked for all the same. */
import { tool, type ToolSet } from "ai";
import {
  type CodeModeToolExecutionOptions,
  continueCodeModeInterrupt,
  createExecWaitTools,
  isCodeModeInterrupt,
  requestCodeModeInterrupt,
  runCodeMode,
  toAiTools,
} from "codecell/ai";
import { createAgentRuntime } from "codecell/surface";
import { describe, expect, test } from "vitest";
import { z } from "zod";

type Execute = (input: unknown, options: CodeModeToolExecutionOptions) => unknown;

const ask = (): never => requestCodeModeInterrupt({ kind: "login" });

const bodies: readonly [string, () => unknown][] = [
  [
    "gives something else",
    () => {
      try {
        return ask();
      } catch {
        return "anonymous";
      }
    },
  ],
  [
    "throws something else",
    () => {
      try {
        return ask();
      } catch {
        throw new Error("No session");
      }
    },
  ],
  [
    "asks for something else",
    () => {
      try {
        return ask();
      } catch {
        return requestCodeModeInterrupt({ kind: "other" });
      }
    },
  ],
  [
    "had somebody ask whom it did not await",
    async () => {
      const asking = Promise.resolve().then(ask);
      asking.catch(() => {});
      await new Promise(setImmediate);
      return "anonymous";
    },
  ],
  [
    "streams",
    async function* stream() {
      try {
        await Promise.resolve();
        ask();
      } catch {
        // The usual mistake.
      }
      yield "anonymous";
    },
  ],
];

function open(body: () => unknown): ToolSet {
  const execute: Execute = (_input, { codeModeInterrupt }) =>
    codeModeInterrupt === undefined ? body() : codeModeInterrupt.resolution;
  return { login: tool({ inputSchema: z.object({}), execute: execute as never }) };
}

describe("a tool that asked waits for the answer, though it", () => {
  test.each(bodies)("%s [suspend:caught]", async (_name, body) => {
    const tools = open(body);
    const interrupt = await runCodeMode({ js: "return await tools.login({})", tools });
    if (!isCodeModeInterrupt(interrupt)) throw new Error(JSON.stringify(interrupt));
    expect(interrupt.payload).toEqual({ kind: "login" });
    expect(await continueCodeModeInterrupt({ interrupt, resolution: "ana", tools })).toBe("ana");
  });

  test.each(bodies)("%s, under exec and wait [suspend:caught]", async (_name, body) => {
    await using runtime = createAgentRuntime();
    const context = { agentId: "a", runId: "r", sessionId: "s", sessionKey: "k" };
    await using codeMode = createExecWaitTools(open(body), { runtime, context });
    expect(await codeMode.run.exec({ code: "return await tools.login({})" })).toMatchObject({
      status: "waiting",
      pendingToolCalls: [{ asks: { kind: "login" } }],
    });
  });
});

test("calls that execute at the same time do not hear of each other's questions", async () => {
  const gate = Promise.withResolvers<void>();
  const plain = tool({
    inputSchema: z.object({}),
    execute: async () => {
      await gate.promise;
      return "done";
    },
  });
  const asking = open(async () => {
    await Promise.resolve();
    gate.resolve();
    return ask();
  });
  const js = "const [a] = await Promise.all([tools.plain({}), tools.login({})]); return a";
  const tools = { plain, ...asking };
  const interrupt = await runCodeMode({ js, tools });
  if (!isCodeModeInterrupt(interrupt)) throw new Error(JSON.stringify(interrupt));
  expect(interrupt.continuation.pending.map(({ toolName }) => toolName)).toEqual(["login"]);
  expect(await continueCodeModeInterrupt({ interrupt, resolution: "ana", tools })).toBe("done");
});

test("a tool that the model calls by itself fails when it asks, though it catches that [suspend:caught]", async () => {
  const pay = {
    directOnly: true,
    execute: (_input: unknown, { suspend }: { suspend: (payload: string) => never }) => {
      try {
        return suspend("May I?");
      } catch {
        return "paid";
      }
    },
  };
  const { execute } = toAiTools([{ name: "pay", tool: pay }])["pay"] as { execute: Execute };
  await expect(execute({}, { toolCallId: "1", messages: [] })).rejects.toThrow("cannot ask for a decision");
});
