/** MCP servers that others made. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { Bytes, type Connector, mcp } from "@codecell/connectors";
import { afterEach, describe, expect, test } from "vitest";
import { listen } from "./control.ts";
import { START_TIMEOUT_MS } from "./opened.ts";

const nobody = { signal: new AbortController().signal };
const request = { ...nobody, idempotencyKey: "1" };

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).toReversed()) await end();
});

function programOf(name: string): string {
  const { resolve } = createRequire(import.meta.url);
  return `${dirname(resolve(`@modelcontextprotocol/${name}/package.json`))}/dist/index.js`;
}

function open(name: string, args: readonly string[] = [], env: Record<string, string> = {}): Connector {
  const connector = mcp({
    id: name,
    command: process.execPath,
    args: [programOf(name), ...args],
    env,
    startTimeoutMs: START_TIMEOUT_MS,
    timeoutMs: START_TIMEOUT_MS,
  });
  endings.push(() => connector[Symbol.asyncDispose]());
  return connector;
}

/** server-everything over HTTP listens at a port that it is given. */
async function serveEverything(transport: "sse" | "streamableHttp"): Promise<string> {
  const probe = createServer();
  await listen(probe as never);
  const { port } = probe.address() as { readonly port: number };
  probe.close();
  await once(probe, "close");
  const child: ChildProcess = spawn(process.execPath, [programOf("server-everything"), transport], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  endings.push(() => child.kill());
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`The server ended with ${code}`)));
    for (const output of [child.stdout, child.stderr])
      output?.on("data", (text) => {
        if (String(text).includes(String(port))) resolve();
      });
  });
  return `http://127.0.0.1:${port}/${transport === "sse" ? "sse" : "mcp"}`;
}

async function dataOf(connector: Connector, tool: string, input = {}): Promise<unknown> {
  return (await connector.callTool(tool, input, request)).data;
}

async function tryEverything(connector: Connector, transport: string): Promise<void> {
  const readiness = await connector.check(nobody);
  expect(readiness.about).toMatchObject({ transport, protocol: "2025-11-25" });
  expect(readiness.tools).toBeGreaterThan(9);
  expect(await dataOf(connector, "echo", { message: "hello" })).toBe("Echo: hello");
  expect(await dataOf(connector, "get-structured-content", { location: "Chicago" })).toEqual({
    temperature: 36,
    conditions: "Light rain / drizzle",
    humidity: 82,
  });
  expect(await dataOf(connector, "get-tiny-image")).toMatchObject({
    content: [{ type: "text" }, { type: "image", data: expect.any(Bytes) as unknown }, { type: "text" }],
  });
  const heard = Promise.withResolvers<unknown>();
  const input = { duration: 0.01, steps: 1 };
  await connector.callTool("trigger-long-running-operation", input, {
    ...request,
    onProgress: heard.resolve,
  });
  expect(await heard.promise).toEqual({ progress: 1, total: 1 });
  await expect(connector.callTool("get-sum", { a: "one" }, request)).rejects.toMatchObject({
    code: "DOWNSTREAM_TOOL_ERROR",
  });
  const { context } = connector;
  expect(await context?.resources(nobody)).not.toEqual([]);
  expect((await context?.resourceTemplates(nobody))?.map(({ uriTemplate }) => uriTemplate)).toEqual([
    "demo://resource/dynamic/blob/{resourceId}",
    "demo://resource/dynamic/text/{resourceId}",
  ]);
  expect(await context?.readResource("demo://resource/dynamic/blob/1", nobody)).toMatchObject({
    data: { contents: [{ blob: expect.any(Bytes) as unknown }] },
  });
  const completion = {
    ref: { type: "prompt", name: "completable-prompt" },
    argument: { name: "name", value: "E" },
    context: { arguments: { department: "Sales" } },
  } as const;
  expect(await context?.complete(completion, nobody)).toMatchObject({ values: ["Eve"] });
}

describe("@modelcontextprotocol/server-everything", () => {
  test("over standard input and output", async () => {
    await tryEverything(open("server-everything"), "stdio");
  });

  test.each([
    ["streamableHttp", "http"],
    ["sse", "sse"],
  ] as const)("over %s", async (transport, shown) => {
    const url = await serveEverything(transport);
    const connector = mcp({ id: "everything", url, startTimeoutMs: START_TIMEOUT_MS });
    endings.push(() => connector[Symbol.asyncDispose]());
    await tryEverything(connector, shown);
  });
});

test("@modelcontextprotocol/server-memory keeps what it is told", async () => {
  const folder = await mkdtemp(`${tmpdir()}/codecell-memory-`);
  endings.push(() => rm(folder, { recursive: true }));
  const connector = open("server-memory", [], { MEMORY_FILE_PATH: `${folder}/memory.jsonl` });
  const entities = [{ name: "Ann", entityType: "person", observations: ["likes plants"] }];
  expect(await dataOf(connector, "create_entities", { entities })).toEqual({ entities });
  expect(await dataOf(connector, "search_nodes", { query: "plants" })).toEqual({ entities, relations: [] });
});

test("@modelcontextprotocol/server-filesystem reads its folder and no other", async () => {
  const folder = await realpath(await mkdtemp(`${tmpdir()}/codecell-files-`));
  endings.push(() => rm(folder, { recursive: true }));
  await writeFile(`${folder}/note.txt`, "Water the plants");
  const connector = open("server-filesystem", [folder]);
  expect(await dataOf(connector, "read_text_file", { path: `${folder}/note.txt` })).toEqual({
    content: "Water the plants",
  });
  await expect(connector.callTool("read_text_file", { path: "/etc/passwd" }, request)).rejects.toMatchObject({
    code: "DOWNSTREAM_TOOL_ERROR",
    message: expect.stringContaining("Access denied") as unknown,
  });
  const tools = await connector.tools(nobody);
  expect(tools.find(({ name }) => name === "read_text_file")).toMatchObject({ readOnlyHint: true });
});
