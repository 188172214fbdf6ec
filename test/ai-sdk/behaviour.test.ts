/** What the contract leaves open or goes beyond: log lines, progress, hooks, the description, odd options. */
import { generateText, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import {
  type CodeModeLifecycle,
  type CodeModeOptions,
  type CodeModeProgress,
  type CodeModeToolSet,
  type CodeModeTrace,
  createCodeModeTool,
  requestCodeModeInterrupt,
  runCodeMode,
  setMaxWorkers,
} from "codecell/ai";
import { encode } from "gpt-tokenizer";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";

const OUTER = { toolCallId: "call_1", messages: [] };
const anything = z.looseObject({});
const echo = tool({ inputSchema: anything, execute: async (input) => input });

afterEach(() => setMaxWorkers(undefined));

async function shownOf(js: string, options: CodeModeOptions = {}): Promise<unknown> {
  const made = createCodeModeTool({ echo }, options);
  const input = { js };
  const output = await made.execute(input, OUTER);
  return made.toModelOutput?.({ toolCallId: "call_1", input, output });
}

describe("log lines", () => {
  test("are shown to the model with the result, and not to the host's code", async () => {
    const js = "console.log('found', 2); console.warn('slow'); return { a: 1 }";
    expect(await createCodeModeTool({}).execute({ js }, OUTER)).toEqual({ a: 1 });
    expect(await shownOf(js)).toEqual({
      type: "json",
      value: { result: { a: 1 }, console: ["found 2", "[warn] slow"] },
    });
    expect(await shownOf("return 'plain'")).toEqual({ type: "text", value: "plain" });
  });

  test("are shown with a failure", async () => {
    const js = "console.log('so far'); throw new Error('then this')";
    const failing = createCodeModeTool({}).execute({ js }, OUTER);
    await expect(failing).rejects.toThrow(/then this[^]*The program had printed:\nso far$/u);
  });

  test("are bounded in what is shown, and counted", async () => {
    const js = "for (let i = 0; i < 5000; i++) console.log('line', i, 'x'.repeat(50)); return 1";
    const { value } = (await shownOf(js)) as { value: { console: string[] } };
    expect(JSON.stringify(value).length).toBeLessThan(20_000);
    expect(value.console.at(-1)).toMatch(/^… \d+ more lines$/u);
    const failing = createCodeModeTool({}).execute(
      { js: `${js.replace("return 1", "")} throw new Error('x')` },
      OUTER,
    );
    const { message } = (await failing.catch((error: unknown) => error)) as Error;
    expect(message.length).toBeLessThan(20_000);
  });

  test("a line that is too long is shown as far as it fits", async () => {
    const js = "console.log('first'); console.log('x'.repeat(20000)); console.log('last'); return 1";
    const { value } = (await shownOf(js)) as { value: { console: string[] } };
    expect(value.console).toEqual(["first", expect.stringMatching(/^x{5000,8000}…$/u), "… 1 more line"]);
  });

  test("never reach the host's own output, and are told to onConsole in order", async () => {
    const lines: string[] = [];
    const lifecycle: CodeModeLifecycle = {
      onConsole: ({ level, text }) => void lines.push(`${level} ${text}`),
    };
    await runCodeMode({ js: "console.log('a'); console.error('b')", tools: {}, options: { lifecycle } });
    expect(lines).toEqual(["log a", "error b"]);
  });
});

describe("the description", () => {
  const tools = {
    search: tool({
      description: "Search indexed documents.",
      inputSchema: z.object({ query: z.string(), limit: z.number().int().optional() }),
      outputSchema: z.object({ results: z.array(z.object({ id: z.string(), title: z.string() })) }),
      execute: async () => ({ results: [] }),
    }),
    "odd-name": tool({ inputSchema: z.object({}), execute: async () => 1 }),
    bare: { inputSchema: z.object({}) },
  } as CodeModeToolSet;

  test("is short, and the same every time", () => {
    const { description } = createCodeModeTool(tools);
    expect(createCodeModeTool({ ...tools }).description).toBe(description);
    expect(encode(description).length).toBeLessThan(300);
    expect(encode(createCodeModeTool({}).description).length).toBeLessThan(100);
  });

  test("names only what a program can call, as it can be called", () => {
    const { description } = createCodeModeTool(tools);
    expect(description).toContain('tools["odd-name"](input)');
    expect(description).not.toContain("bare");
  });
});

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

  test("of wrong arguments rejects, and does not throw", async () => {
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

describe("hooks", () => {
  const throwing = (): never => {
    throw new Error("of the hook");
  };

  test("that throw or reject change nothing, and are told to onHookError", async () => {
    const told: string[] = [];
    const lifecycle: CodeModeLifecycle = {
      onNestedToolCall: throwing,
      onNestedToolResult: async () => Promise.reject(new Error("of the hook")),
      onConsole: throwing,
      onTrace: throwing,
      onHookError: (error, { hook }) => {
        told.push(`${hook}: ${(error as Error).message}`);
        throw new Error("of the last one");
      },
    };
    const js = "console.log(1); return await tools.echo({ a: 1 })";
    expect(await runCodeMode({ js, tools: { echo }, options: { lifecycle } })).toEqual({ a: 1 });
    expect(told.sort()).toEqual(
      ["onConsole", "onNestedToolCall", "onNestedToolResult", "onTrace"].map(
        (hook) => `${hook}: of the hook`,
      ),
    );
  });

  test("cannot change what a program gets by changing what they are told", async () => {
    const lifecycle: CodeModeLifecycle = {
      onNestedToolResult: (event) => {
        if (event.status === "fulfilled") (event.output as { a: number }).a = 99;
      },
    };
    const js = "return await tools.echo({ a: 1 })";
    expect(await runCodeMode({ js, tools: { echo }, options: { lifecycle } })).toEqual({ a: 1 });
  });

  test("are told of an interrupt before the trace that ends with it", async () => {
    const told: string[] = [];
    const ask = tool({
      inputSchema: anything,
      execute: async (): Promise<string> => requestCodeModeInterrupt({ kind: "k" }),
    });
    const lifecycle: CodeModeLifecycle = {
      onNestedToolResult: ({ status }) => void told.push(status),
      onInterrupt: ({ interrupt }) => void told.push(interrupt.payload.kind),
      onTrace: ({ status, interruptedBy }) => void told.push(`${status} ${interruptedBy}`),
    };
    await runCodeMode({ js: "return await tools.ask({})", tools: { ask }, options: { lifecycle } });
    expect(told).toEqual(["interrupted", "k", "interrupted code-mode-interrupt"]);
  });

  test("a call that was stopped with its program has its end in hooks and trace", async () => {
    const told: string[] = [];
    const traces: CodeModeTrace[] = [];
    const hang = tool({
      inputSchema: anything,
      execute: async (_input, { abortSignal }) =>
        new Promise<string>((_resolve, reject) =>
          abortSignal?.addEventListener("abort", () => reject(new Error("stopped"))),
        ),
    });
    const lifecycle: CodeModeLifecycle = {
      onNestedToolResult: ({ status }) => void told.push(status),
      onTrace: (trace) => void traces.push(trace),
    };
    const options = { lifecycle, executionPolicy: { timeoutMs: 200 } };
    const running = runCodeMode({ js: "return await tools.hang({})", tools: { hang }, options });
    await expect(running).rejects.toMatchObject({ name: "CodeModeTimeoutError" });
    expect(told).toEqual(["rejected"]);
    expect(traces[0]?.bridgeRequests).toMatchObject([{ toolName: "hang", status: "rejected" }]);
  });
});

describe("odd options and tools [P27]", () => {
  test("a time limit beyond what timers take does not end a program at once", async () => {
    const options = { executionPolicy: { timeoutMs: 2 ** 31 } };
    expect(await runCodeMode({ js: "return await tools.echo({ a: 1 })", tools: { echo }, options })).toEqual({
      a: 1,
    });
  });

  test("reserved and empty kinds of interrupts are refused", () => {
    expect(() => requestCodeModeInterrupt({ kind: "ai-sdk-code-mode/tool-approval" })).toThrow(/reserved/u);
    for (const payload of [{ kind: "" }, {}, null, "text", []]) {
      expect(() => requestCodeModeInterrupt(payload as never)).toThrow(/must be an object with a kind/u);
    }
  });

  test("tools are own properties: neither the prototype's nor inherited ones can be called", async () => {
    const inherited = Object.create({ hidden: echo }) as { echo: typeof echo };
    inherited.echo = echo;
    const call = async (name: string): Promise<unknown> =>
      runCodeMode({ js: `return await tools[${JSON.stringify(name)}]({})`, tools: inherited });
    expect(await call("echo")).toEqual({});
    for (const name of ["hidden", "toString", "constructor", "__proto__", "hasOwnProperty"]) {
      await expect(call(name)).rejects.toMatchObject({
        code: expect.stringMatching(/^CODE_MODE_/u) as string,
      });
    }
  });

  test("stripping types does not change what a program means", async () => {
    const js = "const b = (x) => 'called ' + x; const a = b\ntype A = string\n;(1)\nreturn typeof a";
    expect(await runCodeMode({ js, tools: {} })).toBe("function");
  });

  test.each([0, -1, 1.5, Number.NaN, "5", null])("setMaxWorkers(%o) is refused", (count) => {
    expect(() => setMaxWorkers(count as never)).toThrow(/^Cannot set maxWorkers/u);
  });

  test("places are given back by programs that complete, fail, wait, or cannot begin", async () => {
    setMaxWorkers(1);
    const ask = tool({ inputSchema: anything, needsApproval: true, execute: async () => 1 });
    const run = async (js: string, options: CodeModeOptions = {}): Promise<unknown> =>
      runCodeMode({ js, tools: { echo, ask }, options }).catch((error: unknown) => (error as Error).name);
    expect(await run("return 1")).toBe(1);
    expect(await run("throw new TypeError('x')")).toBe("TypeError");
    expect(await run("return (")).toBe("SyntaxError");
    expect(await run("return 1", { executionPolicy: { timeoutMs: 0 } })).toBe("TypeError");
    expect(await run("return 1", { telemetry: { isEnabled: true, tracer: {} } })).toBe("TypeError");
    expect(await run("return await tools.ask({})", { approval: { mode: "interrupt" } })).toMatchObject({
      toolName: "ask",
    });
    expect(await run("return 2")).toBe(2);
  });
});
