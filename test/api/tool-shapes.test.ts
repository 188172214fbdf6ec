/** Tools and schemas in unknown shapes: every entry point refuses them before anything runs. */
import { dynamicTool, jsonSchema, tool } from "ai";
import { createHost, type Ledger, run, type ToolSet } from "codecell";
import { createMemoryStore } from "codecell/store";
import { createCatalog } from "codecell/catalog";
import { renderDeclarations, renderSignature } from "codecell/declare";
import { type AgentTools, prepareAgentRun } from "codecell/surface";
import { afterAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { host } from "./harness.ts";

const execute = vi.fn<() => number>(() => 1);
const add = { input: z.object({ a: z.number() }), execute };
const context = { agentId: "a", runId: "r", sessionId: "s", sessionKey: "k" };
const stored = createHost({ workers: 1, store: createMemoryStore() });
afterAll(() => stored[Symbol.asyncDispose]());

const ledger: Ledger = await (async () => {
  const handle = host.start({ source: "return await tools.add({ a: 1 })", tools: { add } });
  await handle.result;
  return handle.ledger();
})();

const doors: readonly [string, (tools: ToolSet) => unknown][] = [
  ["run", (tools) => run({ source: "return await tools.add({})", tools })],
  ["host.start", (tools) => host.start({ source: "return await tools.add({})", tools })],
  ["host.resume by token", (tools) => host.resume({ token: "any", tools })],
  ["host.resume by id", (tools) => stored.resume({ id: "any", tools })],
  ["host.fork", (tools) => host.fork(ledger, { atCall: 0, tools })],
  ["renderDeclarations", (tools) => renderDeclarations(tools)],
  ["createCatalog", (tools) => createCatalog([{ kind: "core", owner: "core", tools }])],
  ["prepareAgentRun", (tools) => prepareAgentRun({ config: true, context, tools: { core: tools } })],
  ["prepareAgentRun, off", (tools) => prepareAgentRun({ config: false, context, tools: { core: tools } })],
  [
    "prepareAgentRun, mcp",
    (tools) => prepareAgentRun({ config: true, context, tools: { mcp: { x: tools } } }),
  ],
];

class WithState {
  readonly calls: unknown[] = [];
  readonly name = "add";
  execute(): number {
    return this.calls.push(0);
  }
}

class WithApproval extends WithState {
  readonly needsApproval = true;
}

describe.each(doors)("%s", (_name, give) => {
  test.each<[string, unknown, string]>([
    ["null", null, "it is null"],
    ["a list", [add], "it is an array"],
    ["a Map", new Map([["add", add]]), "it is a collection, use Object.fromEntries"],
    ["a promise", Promise.resolve({ add }), "it is a promise, await it"],
    ["a text", "add", "it is a string"],
    ["a function", () => ({ add }), "it is a function"],
  ])("refuses %s as a set of tools [tools:shapes]", (_what, tools, problem) => {
    expect(() => give(tools as ToolSet)).toThrow(TypeError);
    expect(() => give(tools as ToolSet)).toThrow(
      `tools must be an object of tools by their names, ${problem}`,
    );
  });

  test.each<[string, unknown, string]>([
    ["null", null, "is null, give an object with an execute function"],
    ["a list", [], "is an array"],
    ["a bare function", execute, "is a function, give { execute }"],
    ["a tool without execute", { description: "Adds" }, "has no execute function"],
    ["a tool whose execute is not a function", { execute: "add" }, "has no execute function"],
    ["a tool with a handler", { input: {}, handler: execute }, 'name it so instead of "handler"'],
    [
      "a tool of the AI SDK that needs approval",
      tool({ inputSchema: z.object({ a: z.number() }), needsApproval: true, execute }),
      'has "needsApproval", which Codecell does not read',
    ],
    [
      "a tool of the AI SDK",
      tool({ inputSchema: z.object({ a: z.number() }), execute }),
      'has "inputSchema", give the schema as "input" and what calls the tool as "execute" (tools of the AI SDK go to codecell/ai)',
    ],
    [
      "a dynamic tool of the AI SDK",
      dynamicTool({ inputSchema: jsonSchema({ type: "object" }), execute: async () => 1 }),
      "codecell/ai",
    ],
    ["a tool of an MCP server", { name: "add", inputSchema: { type: "object" } }, 'has "inputSchema"'],
    ["a tool with parameters", { parameters: { type: "object" }, execute }, 'give the schema as "input"'],
    ["a tool with an outputSchema", { outputSchema: z.number(), execute }, 'give the schema as "output"'],
    ["a tool with a mistyped key", { inptu: z.object({}), execute }, 'has "inptu", which no tool has'],
    ["a tool with a key of its own", { execute, run: execute }, 'has "run", which no tool has'],
    ["an object of a class that needs approval", new WithApproval(), 'has "needsApproval"'],
    ["a tool whose input is fields", { input: { a: z.number() }, execute }, "give z.object({ a: … })"],
    [
      "a tool whose output is fields",
      { output: { a: z.number() }, execute },
      "has an output that is an object",
    ],
    ["a tool whose input is a text", { input: "{}", execute }, "has an input that is a string"],
    ["a tool whose input is null", { input: null, execute }, "has an input that is null"],
    ["a tool whose output is a list", { output: [], execute }, "has an output that is an array"],
  ])("refuses %s [tools:shapes]", (_what, wrong, problem) => {
    execute.mockClear();
    const tools = { fine: { execute }, add: wrong } as ToolSet;
    expect(() => give(tools)).toThrow(TypeError);
    expect(() => give(tools)).toThrow(/^Cannot [a-z ]+: tool "(?:core:core:|mcp:x:)?add" /u);
    expect(() => give(tools)).toThrow(problem);
    expect(execute).not.toHaveBeenCalled();
  });

  test("takes tools, also instances of classes with state", () => {
    const tools = {
      add,
      // oxlint-disable-next-line unicorn/no-thenable
      then: { execute },
      stateful: new WithState(),
      full: {
        description: "Adds",
        label: "Add",
        tags: ["sum"],
        examples: [{ input: { a: 1 } }],
        input: { type: "object" },
        output: true,
        readOnly: true,
        idempotent: true,
        execute,
      },
      absent: { input: undefined, inputSchema: undefined, needsApproval: undefined, execute },
    } as ToolSet;
    const given = give(tools) as { result?: Promise<unknown> } | Promise<unknown>;
    // Resumes of nothing fail later, each in its own way.
    if (given instanceof Promise) return given;
    return given.result?.catch(() => {});
  });
});

test("a signature of a value that is not a tool is refused [tools:shapes]", () => {
  const wrong = { inputSchema: z.object({ a: z.number() }), execute } as never;
  expect(() => renderSignature("add", wrong)).toThrow(
    'Cannot render a signature: tool "add" has "inputSchema"',
  );
});

test("tools of agents can be declared", () => {
  const tools = { add: { ...add, directOnly: true, sequential: true } } as ToolSet;
  expect(renderDeclarations(tools)).toContain("add(");
});

describe("tools of agents", () => {
  const prepare = (tools: unknown): unknown =>
    prepareAgentRun({ config: true, context, tools: tools as AgentTools, policy: { deny: ["wrong"] } });

  test("may be direct-only and sequential, and no others may [tools:shapes]", () => {
    const agent = { execute, directOnly: true, sequential: true };
    expect(() => prepare({ core: { agent } })).not.toThrow();
    expect(() => host.start({ source: "", tools: { agent } as ToolSet })).toThrow('has "directOnly"');
  });

  test.each<[string, unknown, string]>([
    ["without kinds", { add }, "give { core: { add: … } }"],
    ["of an unknown kind", { core: {}, openapi: { x: { add } } }, 'no kind "openapi"'],
    ["without owners", { mcp: { add } }, "{ mcp: { server: { add: … } } }"],
    ["of an owner that is null", { mcp: { x: null } }, "it is null"],
    ["that are a list", { core: [add] }, "it is an array"],
    [
      "that are direct-only but no tools",
      { core: { add: { directOnly: true, inputSchema: {}, execute } } },
      "inputSchema",
    ],
  ])("%s are refused [tools:shapes]", (_what, tools, problem) => {
    expect(() => prepare(tools)).toThrow(TypeError);
    expect(() => prepare(tools)).toThrow(problem);
  });

  test("may be anything if the policy denies them", () => {
    expect(() => prepare({ core: { wrong: null, add } })).not.toThrow();
  });
});
