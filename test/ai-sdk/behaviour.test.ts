/** What the contract leaves open or goes beyond: log lines, hooks, the description, odd options. */
import { jsonSchema, tool, type ToolSet } from "ai";
import {
  type CodeModeInterrupt,
  type CodeModeLifecycle,
  type CodeModeOptions,
  type CodeModeToolSet,
  CodeModeToolError,
  type CodeModeTrace,
  continueCodeModeInterrupt,
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

  test("are not added to an error object of the host's own", async () => {
    const own = new CodeModeToolError("of the host", { row: 1 });
    const fail = tool({
      inputSchema: anything,
      execute: async (): Promise<string> => {
        throw own;
      },
    });
    const js = "console.log('line'); return await tools.fail({})";
    for (let round = 0; round < 2; round++) {
      const failing = createCodeModeTool({ fail }).execute({ js }, OUTER);
      const error = (await failing.catch((reason: unknown) => reason)) as CodeModeToolError;
      expect(error).toBeInstanceOf(CodeModeToolError);
      expect(error).not.toBe(own);
      expect(error.message).toBe("of the host\nThe program had printed:\nline");
      expect(error).toMatchObject({
        name: "CodeModeToolError",
        code: own.code,
        details: { row: 1 },
        cause: own,
      });
    }
    expect(own.message).toBe("of the host");
    expect(own.details).toEqual({ row: 1 });
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

describe("values that are not JSON", () => {
  test("that a nested toModelOutput gives are replaced by the tool's own output", async () => {
    const odd = tool({
      inputSchema: anything,
      execute: async () => "odd",
      toModelOutput: () => ({ type: "json", value: 1n }) as never,
    });
    const made = createCodeModeTool({ odd, echo }, { modelOutput: { includeNestedToolOutputs: true } });
    const input = { js: "await tools.odd({}); await tools.echo({ a: 1 }); return 'kept'" };
    const output = await made.execute(input, OUTER);
    expect(await made.toModelOutput?.({ toolCallId: "call_1", input, output })).toMatchObject({
      value: {
        result: "kept",
        nestedTools: [
          { output: { type: "text", value: "odd" } },
          { output: { type: "json", value: { a: 1 } } },
        ],
      },
    });
  });

  test("of outputs that are too long together the model is shown the beginning", async () => {
    const say = tool({ inputSchema: anything, execute: async ({ text }) => text });
    const made = createCodeModeTool({ echo, say }, { modelOutput: { includeNestedToolOutputs: true } });
    const input = {
      js: `for (const length of [600_000, 500_000, 400_000]) await tools.echo({ text: "x".repeat(length) });
        await tools.say({ text: "y".repeat(60_000) });`,
    };
    const output = await made.execute(input, OUTER);
    const told = await made.toModelOutput?.({ toolCallId: "call_1", input, output });
    const { nestedTools } = (told as unknown as { value: { nestedTools: { output: unknown }[] } }).value;
    expect(nestedTools.map((entry) => entry.output)).toEqual([
      { type: "json", value: { text: "x".repeat(600_000) } },
      { type: "text", value: `{"text":"${"x".repeat(7_991)}…` },
      { type: "json", value: { text: "x".repeat(400_000) } },
      { type: "text", value: `${"y".repeat(8_000)}…` },
    ]);
  });

  test("a tool that cannot say what a model sees of its output fails the model output", async () => {
    const broken = tool({
      inputSchema: anything,
      execute: async () => 1,
      toModelOutput: () => {
        throw new Error("no words");
      },
    });
    const made = createCodeModeTool({ broken }, { modelOutput: { includeNestedToolOutputs: true } });
    const input = { js: "return await tools.broken({})" };
    const output = await made.execute(input, OUTER);
    expect(output).toBe(1);
    await expect(made.toModelOutput?.({ toolCallId: "call_1", input, output })).rejects.toThrow("no words");
  });

  test.each([
    ["a bigint", { kind: "k", id: 1n }],
    ["toJSON that gives nothing", { kind: "k", toJSON: () => null }],
    [
      "toJSON that gives another kind",
      { kind: "k", toJSON: () => ({ kind: "ai-sdk-code-mode/tool-approval" }) },
    ],
  ])("a payload with %s fails the call", async (_name, payload) => {
    const ask = tool({
      inputSchema: anything,
      execute: async (): Promise<string> => requestCodeModeInterrupt(payload),
    });
    const running = runCodeMode({ js: "return await tools.ask({})", tools: { ask } });
    await expect(running).rejects.toMatchObject({
      name: "TypeError",
      message: expect.stringContaining("Cannot interrupt code mode: the payload is not JSON") as string,
    });
  });

  test("a validated input that is not JSON is spelt out", async () => {
    const given: unknown[] = [];
    const remove = tool({
      inputSchema: z.object({ id: z.number().transform(BigInt) }),
      needsApproval: true,
      execute: async (input) => given.push(input),
    });
    const js = "return await tools.remove({ id: 5 })";
    const options = { approval: { mode: "interrupt" } } as const;
    const interrupt = (await runCodeMode({ js, tools: { remove }, options })) as CodeModeInterrupt;
    expect(interrupt.input).toEqual({ id: "5" });
    await continueCodeModeInterrupt({ interrupt, resolution: { approved: true }, tools: { remove } });
    expect(given).toEqual([{ id: 5n }]);
  });
});

describe("an input that a schema refuses", () => {
  const schema = z.object({ path: z.string(), size: z.number() });
  const own = new Error("too large, by 5 bytes");
  test.each<[string, unknown, string]>([
    ["of zod", schema, schema.safeParse({ path: 1 }).error?.message ?? ""],
    [
      "with a validator of its own",
      jsonSchema({}, { validate: () => ({ success: false, error: own }) }),
      own.message,
    ],
    ["without a validator", jsonSchema({ required: ["size"] }), 'input: lacks the property "size"'],
  ])("is told in the schema's own words: a schema %s", async (_, inputSchema, words) => {
    const told: unknown[] = [];
    const lifecycle: CodeModeLifecycle = {
      onNestedToolCall: ({ input }) => void told.push(input),
      onNestedToolResult: (event) =>
        void told.push("error" in event ? (event.error as Error).message : event),
    };
    const save = { inputSchema, execute: async () => "saved" } as ToolSet[string];
    const message = `Invalid input for tool "save": ${words}`;
    const js =
      "return await tools.save({ path: 1 }).catch(({ name, code, message }) => [name, code, message])";
    expect(await runCodeMode({ js, tools: { save }, options: { lifecycle } })).toEqual([
      "CodeModeToolError",
      "CODE_MODE_TOOL_ERROR",
      message,
    ]);
    // Hooks hear of the call with its input as it was given, and why it failed.
    expect(told).toEqual([{ path: 1 }, message]);
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

  test("are told of a tool named like the call behind fetch as of any tool, where there is no fetch", async () => {
    const told: unknown[] = [];
    const traces: CodeModeTrace[] = [];
    const lifecycle: CodeModeLifecycle = {
      onNestedToolCall: ({ toolName }) => void told.push(toolName),
      onNestedToolResult: ({ toolName, status }) => void told.push([toolName, status]),
      onFetchRequest: ({ url }) => void told.push(url),
      onFetchResult: ({ url, status }) => void told.push([url, status]),
      onTrace: (trace) => void traces.push(trace),
    };
    const name = "globalThis.fetch";
    const twice = tool({
      inputSchema: z.object({ url: z.string() }),
      execute: async ({ url }, execution): Promise<string> => {
        const { codeModeInterrupt } = execution as { codeModeInterrupt?: object };
        if (url === "ask" && codeModeInterrupt === undefined) requestCodeModeInterrupt({ kind: "k" });
        return url;
      },
    });
    const js = `return [await tools["${name}"]({ url: "a" }), await tools["${name}"]({ url: "ask" })]`;
    const tools = { [name]: twice };
    const options = { lifecycle };
    const interrupt = (await runCodeMode({ js, tools, options })) as CodeModeInterrupt;
    expect(told.splice(0)).toEqual([name, [name, "fulfilled"], name, [name, "interrupted"]]);
    const resolution = "yes";
    expect(await continueCodeModeInterrupt({ interrupt, resolution, tools, options })).toEqual(["a", "ask"]);
    expect(told).toEqual([name, [name, "fulfilled"], name, [name, "fulfilled"]]);
    for (const { bridgeRequests } of traces) {
      expect(bridgeRequests).toMatchObject(
        Array.from({ length: 2 }, () => ({ kind: "tool", toolName: name })),
      );
    }
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

  test("a tool that is named like the one behind fetch does not serve fetch", async () => {
    const js = "return await tools['globalThis.fetch']({ url: 'http://127.0.0.1' })";
    await expect(runCodeMode({ js, tools: { echo } })).rejects.toMatchObject({ name: "CodeModeToolError" });
    expect(await runCodeMode({ js: "return await tools.fetch({ a: 1 })", tools: { fetch: echo } })).toEqual({
      a: 1,
    });
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
    expect(await run("return 1", { telemetry: { isEnabled: true, tracer: {} } })).toBe(1);
    expect(await run("return await tools.ask({})", { approval: { mode: "interrupt" } })).toMatchObject({
      toolName: "ask",
    });
    expect(await run("return 2")).toBe(2);
  });
});
