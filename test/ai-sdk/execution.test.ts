/** An execution of the tool: awaited, iterated, by several, and by the AI SDK itself. */
import { generateText, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { type CodeModeProgress, createCodeModeTool, runCodeMode } from "codecell/ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const OUTER = { toolCallId: "call_1", messages: [] };
const anything = z.looseObject({});
const echo = tool({ inputSchema: anything, execute: async (input) => input });

describe("an execution", () => {
  const gated = (gate: Promise<void>): typeof echo =>
    tool({
      inputSchema: anything,
      execute: async (input) => {
        await gate;
        return input;
      },
    });

  test("can be awaited, and iterated for progress while it runs; the output comes last", async () => {
    const gate = Promise.withResolvers<void>();
    const made = createCodeModeTool({ echo, slow: gated(gate.promise) });
    const js = "const a = await tools.echo({ a: 1 }); await tools.slow({}); return a";
    const seen: unknown[] = [];
    for await (const part of made.execute({ js }, OUTER)) {
      seen.push(part);
      const { calls = [] } = part as Partial<CodeModeProgress>;
      if (calls.some(({ toolName }) => toolName === "slow")) gate.resolve();
    }
    expect(seen.at(-1)).toEqual({ a: 1 });
    expect(seen.at(-2)).toMatchObject({
      type: "code-mode-progress",
      total: 2,
      calls: [{ toolName: "echo", toolCallId: "call_1:tool-1", status: "completed" }, { toolName: "slow" }],
    });
  });

  test("can be read by several at once, and each gets to the end", async () => {
    const gate = Promise.withResolvers<void>();
    const execution = createCodeModeTool({ slow: gated(gate.promise) }).execute(
      { js: "await tools.slow({}); return await tools.slow({ a: 1 })" },
      OUTER,
    );
    const readers = [1, 2, 3].map(async () => Array.fromAsync(execution));
    // One that stops reading stops nobody else.
    for await (const part of execution) {
      expect(part).toMatchObject({ type: "code-mode-progress" });
      break;
    }
    gate.resolve();
    for (const parts of await Promise.all(readers)) expect(parts.at(-1)).toEqual({ a: 1 });
    expect(await Array.fromAsync(execution)).toEqual([{ a: 1 }]);
  });

  test("lists the last calls only", async () => {
    const made = createCodeModeTool({ echo });
    const js = "for (let i = 0; i < 100; i++) await tools.echo({ i }); return 1";
    for await (const part of made.execute({ js }, OUTER)) {
      const { calls = [] } = part as Partial<CodeModeProgress>;
      expect(calls.length).toBeLessThanOrEqual(32);
    }
  });

  test("that fails and that nobody looks at does not end the process", async () => {
    const unhandled: unknown[] = [];
    const listener = (reason: unknown): unknown => unhandled.push(reason);
    process.on("unhandledRejection", listener);
    try {
      const made = createCodeModeTool({});
      void made.execute({ js: "throw new Error('unseen')" }, OUTER);
      const iterated = made.execute({ js: "throw new Error('seen')" }, OUTER);
      await expect(Array.fromAsync(iterated)).rejects.toThrow("seen");
      await expect(made.execute({ js: "return 1" }, OUTER)).resolves.toBe(1);
      expect(unhandled).toEqual([]);
    } finally {
      process.off("unhandledRejection", listener);
    }
  });

  test("with wrong arguments rejects, and does not throw", async () => {
    const made = createCodeModeTool({});
    await expect(made.execute({ js: 5 as never }, OUTER)).rejects.toThrow(/^Cannot run code mode: js/u);
    await expect(runCodeMode({ js: "return 1", tools: null as never })).rejects.toThrow(/tools must be/u);
  });

  test("in generateText gives the SDK its output, and the model what is shown of it", async () => {
    const prompts: unknown[] = [];
    const call = { type: "tool-call", toolCallId: "call_1", toolName: "codeMode" } as const;
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } } as never;
    const model = new MockLanguageModelV3({
      doGenerate: async ({ prompt }) => {
        prompts.push(prompt);
        const input = JSON.stringify({ js: "console.log('seen'); return await tools.echo({ a: 1 })" });
        return prompts.length === 1
          ? {
              content: [{ ...call, input }],
              finishReason: { unified: "tool-calls", raw: undefined },
              usage,
              warnings: [],
            }
          : {
              content: [{ type: "text", text: "done" }],
              finishReason: { unified: "stop", raw: undefined },
              usage,
              warnings: [],
            };
      },
    });
    const result = await generateText({
      model,
      tools: { codeMode: createCodeModeTool({ echo }) },
      stopWhen: ({ steps }) => steps.length === 2,
      prompt: "go",
    });
    expect(result.steps[0]?.toolResults[0]?.output).toEqual({ a: 1 });
    expect(JSON.stringify(prompts[1])).toContain('{"result":{"a":1},"console":["seen"]}');
    expect(result.text).toBe("done");
  });
});
