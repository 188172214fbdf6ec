/** Backends in agent runs: in the catalog by their ids, and as handles, under one policy. */
import { createHost } from "codecell";
import { connectTools, createHandles, type Connector } from "@codecell/connectors";
import { type AgentRunOptions, type AgentScope, type AgentTool, createAgentRuntime } from "codecell/surface";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fakeConnector } from "./fake-connector.ts";
import { openHttp } from "./mcp/opened.ts";

const CONTEXT: AgentScope = { agentId: "a", runId: "r", sessionId: "s", sessionKey: "k" };
const host = createHost({ workers: 1 });
const runtime = createAgentRuntime({ host });
const closing: AsyncDisposable[] = [host, runtime];
let fixture: Connector;

beforeAll(async () => {
  const opened = await openHttp({ timeoutMs: 100_000, responseBytes: 1_000_000 });
  closing.push(opened);
  fixture = opened.connector;
});

afterAll(async () => {
  for (const one of closing.toReversed()) await one[Symbol.asyncDispose]();
});

async function prepared(
  given: Partial<AgentRunOptions> = {},
  isCatalogued = true,
): Promise<ReturnType<typeof runtime.prepareAgentRun>> {
  const { sources } = await connectTools([fixture]);
  return runtime.prepareAgentRun({
    config: true,
    tools: isCatalogued ? { sources } : {},
    connectors: createHandles([fixture]),
    context: CONTEXT,
    ...given,
  });
}

async function valueOf(run: Awaited<ReturnType<typeof prepared>>, code: string): Promise<unknown> {
  const result = await run.exec({ code });
  if (result.status !== "completed") throw new Error(JSON.stringify(result));
  return result.value;
}

test("a backend is in the catalog and a handle; both call the same tool", async () => {
  await using run = await prepared();
  expect(run.catalog?.get("mcp:fixture:add")).toBeDefined();
  const code = `const input = { a: 1, b: 2 };
    const [found] = await tools.search("adds two numbers");
    const missing = await connectors.fixture.callTool("add", {});
    return [found.id, await tools.call("mcp:fixture:add", input), (await connectors.fixture.callTool("add", input)).data, missing.error.details.missingArgs]`;
  expect(await valueOf(run, code)).toEqual(["mcp:fixture:add", { sum: 3 }, { sum: 3 }, ["a", "b"]]);
});

test("exec gives programs with handles the web's globals, also after a wait, and no others [handles:103]", async () => {
  await using run = await prepared();
  const kinds = "[typeof Blob, typeof ReadableStream, typeof Buffer]";
  expect(await valueOf(run, `return ${kinds}`)).toEqual(["function", "function", "function"]);
  const code = `const blob = new Blob(["x"]); await yield_control(); return [await blob.text(), ...${kinds}]`;
  const waiting = await run.exec({ code });
  if (waiting.status !== "waiting") throw new Error(JSON.stringify(waiting));
  expect(await run.wait({ runId: waiting.runId })).toMatchObject({
    status: "completed",
    value: ["x", "function", "function", "function"],
  });
  const { sources } = await connectTools([fixture]);
  await using plain = runtime.prepareAgentRun({ config: true, tools: { sources }, context: CONTEXT });
  expect(await valueOf(plain, `return ${kinds}`)).toEqual(["undefined", "undefined", "undefined"]);
});

test("a model is told of the handles, and only where there are some", async () => {
  await using run = await prepared();
  const [exec] = run.visibleTools;
  expect(exec?.tool.description).toContain('"fixture": ConnectorHandle<"fixture">');
  const { sources } = await connectTools([fixture]);
  await using plain = runtime.prepareAgentRun({ config: true, tools: { sources }, context: CONTEXT });
  expect(plain.visibleTools[0]?.tool.description).not.toContain("connectors");
});

test("the policy of the run holds for handles, whether a tool is catalogued or not", async () => {
  const code = `const h = connectors.fixture;
    return [(await h.callTool("add", { a: 1, b: 2 })).error.code, (await h.tools()).items.some(({ name }) => name === "add"), (await h.callTool("json_text")).ok]`;
  for (const isCatalogued of [true, false]) {
    await using run = await prepared({ policy: { deny: ["mcp:*:add"] } }, isCatalogued);
    expect(await valueOf(run, code)).toEqual(["TOOL_NOT_FOUND", false, true]);
  }
});

test("hooks and approvals are asked about what handles call, whether it is catalogued or not", async () => {
  for (const isCatalogued of [true, false]) {
    const hooked: unknown[] = [];
    const approved: unknown[] = [];
    const given: Partial<AgentRunOptions> = {
      beforeToolCall: ({ tool, input }) => {
        hooked.push([tool, input]);
        return tool === "mcp:fixture:fail" ? { block: "not today" } : undefined;
      },
      approve: ({ tool }) => (approved.push(tool), "allow"),
    };
    await using run = await prepared(given, isCatalogued);
    const code = `const h = connectors.fixture;
      return [(await h.callTool("add", { a: 1, b: 2 })).data, (await h.callTool("fail")).error.code, (await h.readResource("note://1")).ok]`;
    expect(await valueOf(run, code)).toEqual([{ sum: 3 }, "CALL_DENIED", true]);
    expect(hooked).toEqual([
      ["mcp:fixture:add", { a: 1, b: 2 }],
      ["mcp:fixture:fail", {}],
      ["connectors.readResource", { connector: "fixture", uri: "note://1" }],
    ]);
    expect(approved).toEqual(["mcp:fixture:add", "connectors.readResource"]);
  }
});

test("a tool that the host has wrapped is the one that handles call", async () => {
  const { sources } = await connectTools([fixture]);
  const calls: unknown[] = [];
  const [source] = sources;
  const own = source?.tools["add"] as AgentTool;
  const add: AgentTool = {
    ...own,
    execute: (input, call) => {
      calls.push(input);
      return own.execute(input, call);
    },
  };
  const extra: AgentTool = { description: "Only in the catalog", execute: () => "extra" };
  const wrapped = sources.map((one) => Object.assign({}, one, { tools: { ...one.tools, add, extra } }));
  await using run = await prepared({ tools: { sources: wrapped } });
  const code = `const h = connectors.fixture; const input = { a: 1, b: 2 };
    const missing = await h.callTool("add", {});
    return [(await h.callTool("add", input)).data, await tools.call("mcp:fixture:add", input), missing.error.details.missingArgs, (await h.callTool("extra")).data]`;
  expect(await valueOf(run, code)).toEqual([{ sum: 3 }, { sum: 3 }, ["a", "b"], "extra"]);
  expect(calls).toEqual([
    { a: 1, b: 2 },
    { a: 1, b: 2 },
  ]);
});

test("hooks see names as their backends write them, catalogued or not", async () => {
  const odd = fakeConnector("sho:p", [{ name: "a: b*%" }]);
  for (const sources of [[], (await connectTools([odd])).sources]) {
    const hooked: unknown[] = [];
    await using run = await prepared({
      tools: { sources },
      connectors: createHandles([odd]),
      beforeToolCall: ({ tool, name }) => void hooked.push([tool, name]),
    });
    expect(await valueOf(run, `return (await connectors["sho:p"].callTool("a: b*%")).data`)).toBe(
      "called a: b*%",
    );
    expect(hooked).toEqual([["http:sho%3Ap:a%3A%20b%2A%25", "a: b*%"]]);
  }
});

test("what are no handles is refused", async () => {
  await expect(prepared({ connectors: {} as never })).rejects.toThrow("connectors must be handles");
  await expect(prepared({ tools: { sources: {} as never } })).rejects.toThrow("sources must be a list");
});
