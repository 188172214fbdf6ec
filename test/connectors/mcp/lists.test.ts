/** What MCP servers list: every page, and nothing that is no entry, of servers that do it right and of some that do not. */
import { createServer, type ServerResponse } from "node:http";
import * as consumers from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { type Connector, type ConnectorError, createHandles, mcp } from "@codecell/connectors";
import { run, unwrap } from "codecell";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { SOURCE_FLAGS } from "../../../scripts/source-flags.ts";
import { addressOf, closeServer, Control, listen } from "./control.ts";
import { START_TIMEOUT_MS } from "./opened.ts";

const nobody = { signal: new AbortController().signal };

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
});

type List = "tools" | "resources" | "resourceTemplates" | "prompts";

const METHODS: Readonly<Record<string, List>> = {
  "tools/list": "tools",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
  "prompts/list": "prompts",
};

type Pages = (list: List, cursor: string | undefined) => object;

interface Served {
  readonly connector: Connector;
  /** How many pages were asked for. */
  readonly asked: () => number;
}

async function serve(pages: Pages): Promise<Served> {
  let asked = 0;
  const answer = (response: ServerResponse, message: object): void => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", ...message }));
  };
  const server = createServer((request, response) => {
    void consumers.text(request).then((body) => {
      const {
        id,
        method = "",
        params,
      } = JSON.parse(body === "" ? "{}" : body) as {
        readonly id?: number;
        readonly method?: string;
        readonly params?: { readonly cursor?: string };
      };
      const list = METHODS[method];
      if (id === undefined) response.writeHead(method === "" ? 405 : 202).end();
      else if (list !== undefined) {
        asked++;
        answer(response, { id, result: pages(list, params?.cursor) });
      } else if (method === "initialize")
        answer(response, {
          id,
          result: {
            protocolVersion: "2025-11-25",
            capabilities: { tools: {}, resources: {}, prompts: {} },
            serverInfo: { name: "lists", version: "0" },
          },
        });
      else answer(response, { id, error: { code: -32_601, message: "Method not found" } });
    });
  });
  await listen(server);
  const connector = mcp({
    id: "lists",
    url: addressOf(server),
    startTimeoutMs: START_TIMEOUT_MS,
    timeoutMs: START_TIMEOUT_MS,
  });
  opened.push(connector, { [Symbol.asyncDispose]: () => closeServer(server) });
  return { connector, asked: () => asked };
}

const ENTRIES: Readonly<Record<List, (name: string) => object>> = {
  tools: (name) => ({ name, inputSchema: { type: "object" } }),
  resources: (name) => ({ uri: name, name }),
  resourceTemplates: (name) => ({ uriTemplate: name, name }),
  prompts: (name) => ({ name }),
};

async function namesIn(connector: Connector, list: List): Promise<string[]> {
  const { context } = connector;
  switch (list) {
    case "tools":
      return (await connector.tools(nobody)).map(({ name }) => name);
    case "resources":
      return ((await context?.resources(nobody)) ?? []).map(({ uri }) => uri);
    case "resourceTemplates":
      return ((await context?.resourceTemplates(nobody)) ?? []).map(({ uriTemplate }) => uriTemplate);
    case "prompts":
      return ((await context?.prompts(nobody)) ?? []).map(({ name }) => name);
    default:
      return list satisfies never;
  }
}

async function errorOf(action: Promise<unknown>): Promise<ConnectorError> {
  return (await action.then(
    () => new Error("It should have failed"),
    (error: unknown) => error,
  )) as ConnectorError;
}

/** One list as it is said, all others empty. */
const only =
  (list: List, pages: (cursor: string | undefined) => object): Pages =>
  (asked, cursor) =>
    asked === list ? pages(cursor) : { [asked]: [] };

const LISTS = Object.keys(ENTRIES) as List[];

describe.each(LISTS)("a list of %s", (list) => {
  const entry = ENTRIES[list];

  test("has every page, and leaves out what is no entry, wherever it is", async () => {
    const bad = fc.constantFrom<unknown>(
      null,
      5,
      "a",
      {},
      [],
      { name: 5 },
      { name: "", uri: "", uriTemplate: "" },
    );
    const item = fc.oneof(
      fc.integer({ min: 0, max: 30 }).map((number) => ({ name: `entry:${number}` })),
      bad.map((entryOf) => ({ entryOf })),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(item, { maxLength: 6 }), { minLength: 1, maxLength: 6 }),
        async (given) => {
          const pages = given.map((page) =>
            page.map((one) => ("name" in one ? entry(one.name) : one.entryOf)),
          );
          const { connector, asked } = await serve(
            only(list, (cursor) => {
              const at = Number(cursor ?? 0);
              return { [list]: pages[at], ...(at + 1 < pages.length && { nextCursor: String(at + 1) }) };
            }),
          );
          const right = given.flat().flatMap((one) => ("name" in one ? [one.name] : []));
          expect(await namesIn(connector, list)).toEqual([...new Set(right)].sort());
          expect(asked()).toBe(pages.length);
          const { about } = await connector.check(nobody);
          const wrong = given.flat().length - new Set(right).size;
          expect(about?.["leftOut"] !== undefined).toBe(wrong > 0);
        },
      ),
      { numRuns: 15 },
    );
  });

  test("says in check what is left out, and why", async () => {
    const { connector } = await serve(
      only(list, () => ({
        [list]: [entry("a:1"), {}, entry("a:1"), ...Array.from({ length: 10 }, () => 5)],
      })),
    );
    const { about } = await connector.check(nobody);
    const key = { tools: "name", resources: "uri", resourceTemplates: "uriTemplate", prompts: "name" }[list];
    expect(about?.["leftOut"]).toBe(
      `${list}: entry 2 has no ${key}; entry 4 is no object; entry 5 is no object; entry 6 is no object; entry 7 is no object; and 7 more`,
    );
  });

  test("whose pages go in a circle is refused soon", async () => {
    const next: Readonly<Record<string, string>> = { a: "b", b: "c", c: "a" };
    const { connector, asked } = await serve(
      only(list, (cursor = "c") => ({ [list]: [entry(`x:${cursor}`)], nextCursor: next[cursor] })),
    );
    expect(await errorOf(namesIn(connector, list))).toMatchObject({
      code: "DOWNSTREAM_PROTOCOL_ERROR",
      connector: "lists",
      message: expect.stringContaining('the list of "lists" has no end') as unknown,
    });
    expect(asked()).toBeLessThan(6);
  });

  test("whose server gives its only page again and again has that page", async () => {
    const { connector } = await serve(only(list, () => ({ [list]: [entry("x:1")], nextCursor: "more" })));
    expect(await namesIn(connector, list)).toEqual(["x:1"]);
  });

  test("may be read several times at once, page by page", async () => {
    const { connector } = await serve(
      only(list, (cursor = "0") => ({
        [list]: [entry(`x:${cursor}`)],
        ...(cursor !== "3" && { nextCursor: String(Number(cursor) + 1) }),
      })),
    );
    await connector.check(nobody);
    const readings = Array.from({ length: 4 }, () => connector.check(nobody));
    expect((await Promise.all(readings)).map(({ about }) => about?.["leftOut"])).toEqual(
      Array.from({ length: 4 }, () => undefined),
    );
    expect(await namesIn(connector, list)).toHaveLength(4);
  });

  test("whose pages are too large together is refused", async () => {
    const text = "x".repeat(4_000_000);
    const { connector, asked } = await serve(
      only(list, (cursor = "0") => ({
        [list]: [{ ...entry(`x:${cursor}`), description: text }],
        nextCursor: String(Number(cursor) + 1),
      })),
    );
    expect(await errorOf(namesIn(connector, list))).toMatchObject({ code: "RESPONSE_TOO_LARGE" });
    expect(asked()).toBeLessThan(5);
  });

  test("with an entry that is nested too deep has the others", async () => {
    let deep: object = {};
    for (let at = 0; at < 1500; at++) deep = { properties: { a: deep } };
    const { connector } = await serve(
      only(list, () => ({
        [list]: [
          entry("x:1"),
          { ...entry("x:2"), inputSchema: { type: "object", ...deep }, annotations: deep, _meta: deep },
        ],
      })),
    );
    expect(await namesIn(connector, list)).toEqual(["x:1"]);
    expect((await connector.check(nobody)).about?.["leftOut"]).toContain("entry 2");
  });

  test("that has no end is refused", async () => {
    const { connector, asked } = await serve(
      only(list, (cursor = "0") => ({ [list]: [], nextCursor: String(Number(cursor) + 1) })),
    );
    expect(await errorOf(namesIn(connector, list))).toMatchObject({ code: "DOWNSTREAM_PROTOCOL_ERROR" });
    expect(asked()).toBeLessThanOrEqual(200);
  });

  test("that has too many entries is refused", async () => {
    const { connector } = await serve(
      only(list, (cursor = "0") => ({
        [list]: Array.from({ length: 8000 }, (_, at) => entry(`x:${cursor}-${at}`)),
        nextCursor: String(Number(cursor) + 1),
      })),
    );
    expect(await errorOf(namesIn(connector, list))).toMatchObject({ code: "DOWNSTREAM_PROTOCOL_ERROR" });
  });

  test.each<[what: string, page: object]>([
    ["none", {}],
    ["a text", { [list]: "none" }],
    ["a list with a cursor that is none", { [list]: [], nextCursor: 5 }],
  ])("that is %s is refused", async (_, page) => {
    const { connector } = await serve(only(list, () => page));
    expect(await errorOf(namesIn(connector, list))).toMatchObject({
      code: "DOWNSTREAM_PROTOCOL_ERROR",
      message: expect.stringContaining(
        '"lists" answered something that the protocol does not allow',
      ) as unknown,
    });
  });
});

test("a program sees that the tools changed while it runs, and what is gone is said to be", async () => {
  const control = await Control.open();
  const connector = mcp({
    id: "scripted",
    command: process.execPath,
    args: [...SOURCE_FLAGS, fileURLToPath(new URL("scripted-server.fixture.ts", import.meta.url))],
    env: { SCRIPTED_FAULT: "change", SCRIPTED_CONTROL: control.url },
    startTimeoutMs: START_TIMEOUT_MS,
    timeoutMs: START_TIMEOUT_MS,
    listTtlMs: 1_000_000,
  });
  opened.push(connector, control);
  const source = `
    const server = connectors.scripted;
    const names = async () => (await server.tools()).items.map(({ name }) => name);
    const before = await names();
    const old = await server.callTool("tool-0", {});
    await server.callTool("fault", {});
    const after = await names();
    const [gone, new_] = [await server.callTool("tool-0", {}), await server.callTool("tool-1", {})];
    return { before, old: old.data, after, gone: gone.error.code, new: new_.data };
  `;
  const outcome = await run({
    source,
    connectors: createHandles([connector]),
    limits: { wallTimeMs: START_TIMEOUT_MS },
  });
  expect(unwrap(outcome)).toEqual({
    before: ["echo", "fault", "tool-0"],
    old: "tool-0",
    after: ["echo", "fault", "tool-1"],
    gone: "TOOL_NOT_FOUND",
    new: "tool-1",
  });
});
