/** The contract's README in order, up to its interrupts: each of its blocks runs, and does what it is there for. */
import { MockLanguageModelV3 } from "ai/test";
import { tool } from "ai";
import * as codeMode from "codecell/ai";
import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { blockOf, BLOCKS, runBlock } from "./contract/readme.ts";

type Made = codeMode.CodeModeTool;

const OUTER = { toolCallId: "call_1", messages: [] };
const SDK = 'import { tool } from "ai"; import { z } from "zod";';
const CREATE = 'import { createCodeModeTool } from "experimental-ai-sdk-code-mode";';

const DOCUMENTS = [
  { id: "1", title: "QuickJS", body: "small" },
  { id: "2", title: "Workers", body: "many" },
];

const search = tool({
  inputSchema: z.object({ query: z.string(), limit: z.number().optional() }),
  execute: async () => ({ results: DOCUMENTS.map(({ id, title }) => ({ id, title })) }),
});

const add = tool({
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ a, b }) => ({ sum: a + b }),
});

function usage(): never {
  const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0, text: 1, reasoning: 0 };
  return { inputTokens: tokens, outputTokens: tokens } as never;
}

/** A model that runs a program, and says what came of it. */
function modelFor(js: string): MockLanguageModelV3 {
  return new MockLanguageModelV3({
    doGenerate: async () => ({
      content: [
        { type: "tool-call", toolCallId: "call_1", toolName: "codeMode", input: JSON.stringify({ js }) },
      ],
      finishReason: { unified: "tool-calls", raw: undefined },
      usage: usage(),
      warnings: [],
    }),
  });
}

afterEach(() => {
  codeMode.setMaxWorkers(undefined);
  codeMode.setCodeModeContinuationSigningKey();
});

describe("the contract's README", () => {
  test("has the blocks that are run here, and no others", () => {
    const sections = Object.entries(Object.groupBy(BLOCKS, ({ section }) => section));
    expect(Object.fromEntries(sections.map(([section, list]) => [section, list?.length]))).toEqual({
      "Quick Start": 1,
      "What The Model Sees": 2,
      API: 4,
      Options: 2,
      "Bundled Worker Assets": 1,
      Concurrency: 1,
      "Tool Semantics": 1,
      Observability: 4,
      "Host Interrupts": 1,
      "Callback Approval": 2,
      "AI SDK Approval Flow": 2,
      "Continuation Replay": 1,
      Fetch: 1,
      Errors: 1,
    });
  });

  test("Quick Start: a model's program searches, reads, and answers", async () => {
    const model = modelFor(blockOf("What The Model Sees", 1));
    const asked: unknown[] = [];
    const { result } = await runBlock(blockOf("Quick Start"), {
      free: {
        model,
        searchDocuments: async (...args: unknown[]) => {
          asked.push(args);
          return DOCUMENTS;
        },
        readDocumentById: async (id: string) => DOCUMENTS.find((one) => one.id === id),
      },
      gives: ["result", "codeMode"],
    });
    expect(asked).toEqual([["QuickJS", 5]]);
    const { toolResults } = result as { toolResults: { output: unknown }[] };
    expect(toolResults.map(({ output }) => output)).toEqual([{ count: 2, titles: ["QuickJS", "Workers"] }]);
    const [sent] = model.doGenerateCalls[0]?.tools ?? [];
    expect(sent).toMatchObject({ name: "codeMode", type: "function" });
  });

  test("What The Model Sees: rules, whether there is fetch, signatures with return types, examples", async () => {
    const made = await runBlock(blockOf("Quick Start"), {
      free: { model: modelFor("return 1"), searchDocuments: () => [], readDocumentById: () => ({}) },
      gives: ["codeMode"],
    });
    const { description } = made["codeMode"] as Made;
    const flat = (text: string): string => text.replaceAll(/\s+|;(?=\s*\})|\/\*\*.*?\*\//gu, "");
    const types = (text: string): string =>
      flat(text)
        .replaceAll(/Array<(\{[^{}]*\})>/gu, "$1[]")
        .replaceAll(";", ",");
    // What our declarations are written like is ours; what they say is the contract's.
    for (const [, name, input, output] of flat(blockOf("What The Model Sees")).matchAll(
      /(\w+):\(input:(\{.*?\})\)=>Promise<(.*?)>(?=;?\w+:\(|;?\};?$)/gu,
    )) {
      expect(types(description)).toContain(name);
      expect(types(description)).toContain(types(input ?? "none"));
      expect(types(description)).toContain(types(output ?? "none"));
    }
    expect(description).toContain("Search indexed documents");
    expect(description).toContain("Read a document by id");
    expect(description).toMatch(/No import, require, eval, files or network/u);
    expect(description).toContain("For example");
    const fetchPolicy = { allowedOrigins: ["https://api.example.com"], allowedMethods: ["GET"] };
    const fetching = codeMode.createCodeModeTool({ search }, { fetchPolicy }).description;
    expect(fetching).toMatch(/fetch\(url, init\) works for https:\/\/api\.example\.com; methods GET;/u);
  });

  test("API: the input of the tool, and its program with await and return at the top", async () => {
    expect(blockOf("API")).toContain("createCodeModeTool(tools, options?)");
    expect(blockOf("API", 1).replaceAll(/\s/gu, "")).toBe("{js:string;}");
    const made = codeMode.createCodeModeTool({ search });
    const schema = made.inputSchema as unknown as { jsonSchema: { properties: object; required: string[] } };
    expect(Object.keys(schema.jsonSchema.properties)).toEqual(["js"]);
    expect(schema.jsonSchema.required).toEqual(["js"]);
    const output = await made.execute({ js: blockOf("API", 2) }, OUTER);
    expect(output).toEqual({ first: { results: DOCUMENTS.map(({ id, title }) => ({ id, title })) } });
  });

  test("API: the runner beneath it", async () => {
    const { output } = await runBlock(blockOf("API", 3), { imports: SDK, gives: ["output"] });
    expect(output).toEqual({ sum: 3 });
  });

  test("Options: setMaxWorkers, and back to the default", async () => {
    await runBlock(blockOf("Options", 1));
    const wait = Promise.withResolvers<void>();
    const tools = {
      wait: tool({ inputSchema: z.object({}), execute: async () => wait.promise.then(() => 1) }),
    };
    const runs = Array.from({ length: 12 }, async () =>
      codeMode.runCodeMode({ js: "return await tools.wait({})", tools }),
    );
    wait.resolve();
    expect(await Promise.all(runs)).toEqual(Array.from({ length: 12 }, () => 1));
    // The block without its last line.
    await runBlock(blockOf("Options", 1).split("\n").slice(0, 3).join("\n"));
    const later = Promise.withResolvers<void>();
    const slow = { wait: tool({ inputSchema: z.object({}), execute: async () => later.promise }) };
    const eight = Array.from({ length: 8 }, async () =>
      codeMode.runCodeMode({ js: "return await tools.wait({})", tools: slow }),
    );
    await expect(codeMode.runCodeMode({ js: "return 1", tools: {} })).rejects.toThrow(
      codeMode.CodeModeConcurrencyError,
    );
    later.resolve();
    await Promise.all(eight);
  });

  test("Bundled Worker Assets: nothing has to be set, and a worker of one's own may be", async () => {
    expect(await codeMode.runCodeMode({ js: "return 1", tools: {} })).toBe(1);
    await runBlock(blockOf("Bundled Worker Assets"));
    expect(codeMode.getCodeModeWorkerUrl().href).toMatch(/\/code-mode-worker\.mjs$/u);
    codeMode.setCodeModeWorkerUrl(undefined);
    expect(await codeMode.runCodeMode({ js: "return 1", tools: {} })).toBe(1);
  });

  test("Concurrency: calls of one program run at the same time", async () => {
    let running = 0;
    const all = Promise.withResolvers<void>();
    const meeting = (value: object): codeMode.CodeModeToolSet[string] =>
      tool({
        inputSchema: z.object({ userId: z.string() }),
        execute: async ({ userId }: { userId: string }) => {
          // Each waits for the others: none would end if they came one after the other.
          if (++running === 3) all.resolve();
          await all.promise;
          return { ...value, userId };
        },
      });
    const tools = {
      getProfile: meeting({ name: "Ana" }),
      listInvoices: meeting({ invoices: [] }),
      listTickets: meeting({ tickets: [] }),
    };
    const js = `const userId = "u1";\n${blockOf("Concurrency")}`;
    expect(await codeMode.runCodeMode({ js, tools })).toEqual({
      profile: { name: "Ana", userId: "u1" },
      invoices: { invoices: [], userId: "u1" },
      tickets: { tickets: [], userId: "u1" },
    });
  });

  test("Tool Semantics: tools are called by their top-level names", async () => {
    const js = `${blockOf("Tool Semantics")}\nreturn "called"`;
    expect(await codeMode.runCodeMode({ js, tools: { search } })).toBe("called");
  });

  test("Observability: hooks of calls and of the trace", async () => {
    const printed: unknown[] = [];
    const made = await runBlock(blockOf("Observability"), {
      imports: CREATE,
      free: { tools: { add }, console: { log: (...args: unknown[]) => printed.push(args) } },
      gives: ["codeMode"],
    });
    await (made["codeMode"] as Made).execute({ js: "return await tools.add({ a: 1, b: 2 })" }, OUTER);
    expect(printed).toEqual([
      ["add", "call_1:tool-1"],
      ["completed", 1],
    ]);
  });

  test("Observability: spans through a tracer", async () => {
    const spans: { name: string; attributes: Record<string, unknown> }[] = [];
    const tracer = {
      startSpan: (name: string, { attributes }: { attributes: Record<string, unknown> }) => {
        const span = { name, attributes: { ...attributes } };
        spans.push(span);
        return {
          setAttributes: (more: object) => void Object.assign(span.attributes, more),
          end: () => void Object.assign(span.attributes, { ended: true }),
        };
      },
    };
    const made = await runBlock(blockOf("Observability", 1), {
      imports: CREATE,
      free: { tools: { add }, tracer },
      gives: ["codeMode"],
    });
    await (made["codeMode"] as Made).execute(
      { js: "return (await tools.add({ a: 987_654, b: 1 })).sum" },
      OUTER,
    );
    expect(spans.map(({ name }) => name)).toEqual(["ai.code_mode.execute", "ai.code_mode.nested_tool"]);
    const [outer] = spans;
    expect(outer?.attributes).toMatchObject({
      "ai.telemetry.functionId": "agent.code_mode",
      "ai.telemetry.metadata.runtime": "ash",
    });
    for (const { attributes } of spans) expect(attributes["ended"]).toBe(true);
    // Neither source nor inputs nor outputs.
    expect(JSON.stringify(spans)).not.toMatch(/tools\.add|987654|987655/u);
  });

  test("Observability: what the model is shown of calls", async () => {
    const bar = { id: "b1", secret: "s" };
    const tools = {
      getFoo: tool({ inputSchema: z.object({}), execute: async () => "foo" }),
      getBar: tool({
        inputSchema: z.object({ hidden: z.string() }),
        execute: async () => bar,
        toModelOutput: () => ({ type: "json", value: { id: bar.id } }),
      }),
    };
    const made = await runBlock(blockOf("Observability", 2), {
      imports: CREATE,
      free: { tools },
      gives: ["codeMode"],
    });
    const input = {
      js: 'const bar = await tools.getBar({ hidden: "input" }); const foo = await tools.getFoo({}); return { foo, barId: { id: bar.id } }',
    };
    const execution = (made["codeMode"] as Made).execute(input, OUTER);
    const output = await execution;
    expect(output).toEqual({ foo: "foo", barId: { id: "b1" } });
    const shown = await (made["codeMode"] as Made).toModelOutput?.({ toolCallId: "call_1", input, output });
    // The contract's own text of what is shown, with the names that are free in it.
    const text = `const wanted = (${blockOf("Observability", 3)});`;
    const free = { foo: "foo", bar };
    const wanted = (await runBlock(text, { free, gives: ["wanted"] }))["wanted"] as { nestedTools: object[] };
    const own = {
      kind: "tool",
      toolName: "getFoo",
      toolCallId: "call_1:tool-2",
      status: "fulfilled",
      replayed: false,
    };
    wanted.nestedTools.push({ ...own, output: { type: "text", value: "foo" } });
    expect(shown).toEqual({ type: "json", value: wanted });
    expect(JSON.stringify(shown)).not.toContain("hidden");
  });
});
