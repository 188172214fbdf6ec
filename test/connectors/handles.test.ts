/** Handles of real backends, as programs use them. */
import { createHost, type RunResult, type StartOptions } from "codecell";
import {
  type BackendTool,
  type Connector,
  type Context,
  cli,
  createHandles,
  type HandlesOptions,
  http,
  type HttpAction,
  mcp,
} from "@codecell/connectors";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openHttp } from "./mcp/opened.ts";
import { compile } from "../schemas/compile.ts";
import { startWebBackend, type WebBackend } from "./web-backend.ts";

const host = createHost({ workers: 1 });
const COMMAND = { name: "run", description: "Runs", program: process.execPath };
const many = http({
  id: "many",
  card: { name: "Many", description: "An API of many actions", tags: ["bulk"], useWhen: "there is a lot" },
  baseUrl: "http://127.0.0.1:9",
  actions: Array.from({ length: 120 }, (_, at): HttpAction => {
    const isReport = at % 2 === 0;
    return {
      name: `${isReport ? "report" : "thing"}_${String(at).padStart(3, "0")}`,
      description: isReport ? `Writes a quarterly report. ${"More of it. ".repeat(40)}` : "Handles a thing",
      method: "POST",
      path: "/",
      body: "json",
      input: { type: "object", properties: { a: { type: "string" } } },
    };
  }),
});
const down = mcp({
  id: "down",
  card: { name: "Down", description: "A server that is down" },
  url: "http://127.0.0.1:9/mcp",
  startTimeoutMs: 100_000,
});
const closing: AsyncDisposable[] = [host, many, down];
let fixture: Connector;
let web: WebBackend;
let api: Connector;

beforeAll(async () => {
  const opened = await openHttp({ timeoutMs: 100_000, responseBytes: 1_000_000 });
  closing.push(opened);
  fixture = opened.connector;
  web = await startWebBackend(({ url, body }, response) => {
    const status = url.startsWith("/broken") ? 500 : 200;
    response
      .writeHead(status, { "content-type": "application/json" })
      .end(JSON.stringify({ url, got: body.toString() }));
  });
  closing.push(web);
  const echo: HttpAction = {
    name: "echo",
    description: "Echoes",
    method: "POST",
    path: "/echo/{id}",
    body: "json",
    input: {
      type: "object",
      properties: {
        id: { type: "string" },
        limit: { type: ["integer", "null"] },
        sort: { enum: ["up", "down"] },
      },
      required: ["id"],
      additionalProperties: false,
    },
  };
  api = http({
    id: "a-p.i",
    card: { name: "API", description: "An API", avoidWhen: "it rains" },
    baseUrl: web.origin,
    actions: [
      echo,
      { ...echo, name: "broken", path: "/broken/{id}" },
      { ...echo, name: "delete it", description: "Deletes", destructiveHint: true },
    ],
  });
  closing.push(api);
});

afterAll(async () => {
  for (const one of closing.toReversed()) await one[Symbol.asyncDispose]();
});

/** A connector whose tools say that they were called. */
function fakeConnector(id: string, tools: readonly BackendTool[], more: Partial<Connector> = {}): Connector {
  return {
    id,
    kind: "http",
    card: { name: id, description: "A connector" },
    facts: {},
    identity: id,
    isTrusted: false,
    check: async () => ({ tools: tools.length }),
    tools: async () => tools,
    callTool: async (name) => ({ data: `called ${name}` }),
    onChange: () => () => {},
    [Symbol.asyncDispose]: async () => {},
    ...more,
  };
}

interface Given extends HandlesOptions {
  readonly start?: Partial<StartOptions>;
}

async function resultOf(
  connectors: readonly Connector[],
  source: string,
  given: Given = {},
): Promise<RunResult> {
  const { start, ...options } = given;
  const handles = createHandles(connectors, options);
  return host.start({ source, connectors: handles, ...start }).result;
}

async function valueOf(
  connectors: readonly Connector[],
  source: string,
  given: Given = {},
): Promise<unknown> {
  const result = await resultOf(connectors, source, given);
  if (result.status !== "completed") throw new Error(`Not completed: ${JSON.stringify(result)}`);
  return result.value;
}

describe("the root object", () => {
  test("[handles:2] has a handle for each backend, also for ids that are no identifiers", async () => {
    const source = `return [Object.keys(caplets), caplets["a-p.i"].id, caplets.many.id === "many", "none" in caplets, caplets.none]`;
    expect(await valueOf([many, api], source, { root: "caplets" })).toEqual([
      ["a-p.i", "many"],
      "a-p.i",
      true,
      false,
      null,
    ]);
  });

  test("cannot be changed, and its handles neither", async () => {
    const tried = [
      "connectors.many = 1",
      "connectors.other = {}",
      "delete connectors.many",
      "Object.defineProperty(connectors, 'many', { value: 1 })",
      "connectors = {}",
      "(() => { 'use strict'; connectors.many.callTool = () => 1 })()",
    ];
    const source = `"use strict"; const said = [];
      ${tried.map((one) => `try { ${one}; said.push(0) } catch { said.push(1) }`).join("\n")}
      return [said, typeof connectors.many.callTool, connectors.many === connectors.many]`;
    expect(await valueOf([many], source)).toEqual([tried.map(() => 1), "function", true]);
  });

  test("[handles:104] leads to nothing behind the handles", async () => {
    const source = `const h = connectors.many;
      return [Object.getOwnPropertyNames(h), Object.getPrototypeOf(h), Object.getPrototypeOf(connectors), Object.getOwnPropertyNames(globalThis).filter((name) => /host|bridge|core/i.test(name)), typeof tools["connectors.tools"]]`;
    expect(await valueOf([many], source)).toEqual([
      [
        "id",
        "inspect",
        "check",
        "tools",
        "searchTools",
        "describeTool",
        "callTool",
        "resources",
        "searchResources",
        "resourceTemplates",
        "readResource",
        "prompts",
        "searchPrompts",
        "getPrompt",
        "complete",
      ],
      null,
      null,
      [],
      "function",
    ]);
    const reached = await resultOf([many], `return await tools["connectors.tools"]({ connector: "many" })`);
    expect(reached).toMatchObject({
      status: "failed",
      failure: { code: "guest_error", message: expect.stringContaining("it is a method of handles") },
    });
  });

  test("is refused under names that a program could not use", () => {
    expect(() => createHandles([many], { polcy: { deny: ["*"] } } as never)).toThrow(
      'no such option "polcy"',
    );
    for (const root of ["", "a b", "tools", "ALL_TOOLS", "URL", "await", "9a", "x".repeat(100)])
      expect(() => createHandles([many], { root })).toThrow(TypeError);
    expect(() => createHandles([many, many])).toThrow('two connectors have the id "many"');
    expect(() => host.start({ source: "", connectors: {} as never })).toThrow("connectors must be handles");
    const tools = { "connectors.tools": { execute: () => 1 } };
    expect(() => host.start({ source: "", connectors: createHandles([many]), tools })).toThrow(
      'no tool can be named "connectors.tools"',
    );
  });
});

describe("a backend that describes some of its tools badly", () => {
  const wide = {
    type: "object",
    properties: Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`p${at}`, {}])),
  };
  const odd: Record<string, unknown> = { list: [], nothing: null, text: "object", wide };
  const tools = [
    ...Object.entries(odd).map(
      ([name, inputSchema]) => ({ name, description: "Odd", inputSchema }) as BackendTool,
    ),
    { name: "out", description: "Odd", outputSchema: 5 } as unknown as BackendTool,
    { name: "sound", description: "Sound", inputSchema: { type: "object" } },
    { name: "x".repeat(1000) },
    { name: "" },
  ];

  test("has all others, and says of these what is wrong [handles:16] [handles:24] [handles:32]", async () => {
    const source = `const h = connectors.strange; const said = [];
      for (const name of ${JSON.stringify([...Object.keys(odd), "out"])}) {
        const [called, described] = [await h.callTool(name, {}), await h.describeTool(name)];
        said.push([called.error.code, called.error.message === described.error.message, called.error.message]);
      }
      return { names: (await h.tools()).items.map(({ name }) => name), found: (await h.searchTools("odd")).items.length, data: (await h.callTool("sound", {})).data, said }`;
    const value = (await valueOf([fakeConnector("strange", tools)], source)) as {
      said: [string, boolean, string][];
    };
    expect(value).toMatchObject({
      names: [...Object.keys(odd), "out", "sound"],
      found: 5,
      data: "called sound",
    });
    for (const [code, isSame] of value.said)
      expect([code, isSame]).toEqual(["DOWNSTREAM_PROTOCOL_ERROR", true]);
    const [, , , [, , ofWide] = [], [, , ofOut] = []] = value.said;
    expect(ofWide).toBe(
      `Cannot use tool "wide" of "strange": its inputSchema has more than 10000 parts, tell its operator`,
    );
    expect(ofOut).toContain("its outputSchema is no JSON Schema");
  });

  test("may have long texts, of which the beginning is searched", async () => {
    const resources = ["a", "b"].map((uri) => ({
      uri,
      description: `${uri === "a" ? "needle" : ""}${" ".repeat(50_000)}needle`,
    }));
    const context = { resources: async () => resources } as unknown as Context;
    const source = `return (await connectors.strange.searchResources("NEEDLE")).items.map(({ uri }) => uri)`;
    expect(await valueOf([fakeConnector("strange", [], { context })], source)).toEqual(["a"]);
  });
});

test("the same policy gives the same handles", () => {
  const handles = createHandles([many]);
  expect(handles.withPolicy({})).toBe(handles);
  expect(handles.withPolicy({ deny: [] })).toBe(handles);
  const one = handles.withPolicy({ deny: ["http:*:report_*"] });
  expect(one).not.toBe(handles);
  expect(handles.withPolicy({ deny: ["http:*:report_*"] })).toBe(one);
  expect(handles.withPolicy({ allow: ["http:*:report_*"] })).not.toBe(one);
});

describe("declarations", () => {
  test("[handles:5] name the methods and types of the contract, as the root is called", () => {
    const { declarations } = createHandles([many, api], { root: "caplets" });
    for (const part of [
      "declare const caplets: {",
      '"a-p.i": CapletHandle<"a-p.i">;',
      "callTool(name: string, args?: unknown): Promise<CapletsResult<unknown>>;",
      "tools(input?: PageInput): Promise<Page<ToolSummary>>;",
      "type CapletCard<Id extends string> =",
      "context?: { arguments?: Record<string, string> }",
    ])
      expect(declarations).toContain(part);
    for (const method of ["inspect", "check", "describeTool", "readResource", "getPrompt", "complete"])
      expect(declarations).toMatch(new RegExp(`\\b${method}\\(.*\\): Promise<Caplet`, "u"));
    expect(createHandles([many]).declarations).toContain("ConnectorHandle<");
  });

  test("[handles:6] keep the text of a card short and inside its comment", () => {
    const evil = cli({
      id: "evil",
      card: { name: "E*/", description: `*/ }; declare const x: 1; /* \n${"long ".repeat(100)}*/` },
      commands: [COMMAND],
    });
    const [, line = ""] = createHandles([evil]).declarations.split("\n");
    const { hint = "" } = /^ {2}\/\*\* (?<hint>.*?) \*\/ "evil"/u.exec(line)?.groups ?? {};
    expect(hint).toMatch(/^E/u);
    expect(hint).not.toContain("*/");
    expect(hint.length).toBeLessThanOrEqual(240);
  });

  test("[handles:7] are equal for equal backends in any order, and their hash says so", () => {
    const [one, other] = [createHandles([many, api]), createHandles([api, many])];
    expect(one.declarations).toBe(other.declarations);
    expect(one.declarationHash).toMatch(/^[\da-f]{64}$/u);
    expect(one.declarationHash).toBe(other.declarationHash);
    expect(createHandles([many]).declarationHash).not.toBe(one.declarationHash);
  });

  test("[handles:110] take less of a prompt than the product of the contract does", () => {
    const handles = Array.from({ length: 16 }, (_, at) =>
      cli({
        id: `backend-${at}`,
        card: { name: `Backend ${at}`, description: `Does what backend ${at} does. ${"More. ".repeat(50)}` },
        commands: [COMMAND],
      }),
    );
    expect(Buffer.byteLength(createHandles(handles).declarations)).toBeLessThan(9934);
  });
});

describe("discovery", () => {
  test("[handles:10] inspect gives the card and safe facts", async () => {
    expect(await valueOf([many], "return await connectors.many.inspect()")).toEqual({
      id: "many",
      name: "Many",
      description: "An API of many actions",
      useWhen: "there is a lot",
      tags: ["bulk"],
      backend: {
        kind: "http",
        transport: "http",
        timeoutMs: expect.any(Number),
        responseBytes: expect.any(Number),
      },
    });
  });

  test("[handles:11] check says that a backend is ready, or what is wrong with it", async () => {
    const source = `return [await connectors["a-p.i"].check(), await connectors.down.check()]`;
    expect(await valueOf([api, down], source)).toEqual([
      {
        ok: true,
        data: { id: "a-p.i", status: "available", toolCount: 3, elapsedMs: expect.any(Number) },
        meta: { connectorId: "a-p.i", durationMs: expect.any(Number) },
      },
      {
        ok: false,
        error: {
          code: "backend_not_ready",
          message: expect.stringMatching(/^"down" is unavailable: ./u),
          details: {
            id: "down",
            status: "unavailable",
            code: "SERVER_UNAVAILABLE",
            elapsedMs: expect.any(Number),
          },
        },
        meta: { connectorId: "down", durationMs: expect.any(Number) },
      },
    ]);
  });

  test("[handles:12] pages visit every tool once, in a stable order, without schemas", async () => {
    const source = `const seen = []; const pages = []; let cursor;
      do {
        const page = await connectors.many.tools({ limit: 25, cursor });
        pages.push([page.items.length, page.nextCursor ?? null, page.truncated ?? false]);
        seen.push(...page.items.map(({ name }) => name));
        cursor = page.nextCursor;
      } while (cursor);
      const [first] = (await connectors.many.tools({ limit: 1 })).items;
      return { seen, pages, first }`;
    const value = (await valueOf([many], source)) as { seen: string[]; pages: unknown; first: object };
    expect(new Set(value.seen).size).toBe(120);
    expect(value.pages).toEqual([
      [25, "25", true],
      [25, "50", true],
      [25, "75", true],
      [25, "100", true],
      [20, null, false],
    ]);
    expect(Object.keys(value.first)).toEqual(["name", "description"]);
  });

  test("[handles:13] [handles:14] limits and cursors are read with good will", async () => {
    const source = `const h = connectors.many; const sizes = [];
      for (const page of [undefined, { limit: 1e99 }, { cursor: "garbage" }, { cursor: "119" }, { cursor: "120" }, { cursor: 5 }]) {
        const { items, nextCursor = null } = await h.tools(page); sizes.push([items.length, nextCursor]);
      }
      sizes.push((await h.searchTools("report")).items.length);
      return sizes`;
    expect(await valueOf([many], source)).toEqual([
      [50, "50"],
      [50, "50"],
      [50, "50"],
      [1, null],
      [0, null],
      [50, "50"],
      20,
    ]);
  });

  test("[handles:15] lists shorten descriptions, and describeTool does not", async () => {
    const source = `const { items: [tool] } = await connectors.many.tools();
      return [tool.description, (await connectors.many.describeTool(tool.name)).data.tool.description.length]`;
    const [short, whole] = (await valueOf([many], source)) as [string, number];
    expect(short.length).toBeLessThanOrEqual(160);
    expect(short).toMatch(/\.$/u);
    expect(whole).toBeGreaterThan(400);
  });

  test("[handles:16] [handles:17] searches give what matches, and cursors reach all of it", async () => {
    const source = `const h = connectors.many; const found = new Set(); let cursor;
      do {
        const page = await h.searchTools("quarterly report", { limit: 25, cursor });
        for (const { name } of page.items) found.add(name);
        if ((page.nextCursor !== undefined) !== (page.truncated === true)) throw new Error("not honest");
        cursor = page.nextCursor;
      } while (cursor);
      const none = await h.searchTools("xyzzy plugh");
      return [found.size, [...found].every((name) => name.startsWith("report")), none.items[0] ?? "none"]`;
    expect(await valueOf([many], source)).toEqual([60, true, "none"]);
  });

  test("[handles:18] an exact name comes first", async () => {
    const source = `return (await connectors.many.searchTools("thing_061", { limit: 3 })).items[0].name`;
    expect(await valueOf([many], source)).toBe("thing_061");
  });

  test("[handles:19] hints are there only where a tool declares them", async () => {
    const source = `return Object.fromEntries((await connectors.fixture.tools()).items.map((tool) => [tool.name, [tool.readOnlyHint, tool.destructiveHint]]))`;
    const hints = (await valueOf([fixture], source)) as Record<string, unknown>;
    expect(hints).toMatchObject({ add: [true, null], fail: [null, null] });
  });

  test("[handles:20] a list that cannot be read is not an empty one", async () => {
    const source = `const said = [];
      for (const ask of [() => connectors.down.tools(), () => connectors.down.searchTools("x"), () => connectors.down.resources(), () => connectors.many.tools({ limit: 0 }), () => connectors.many.tools({ limit: 1.5 }), () => connectors.many.tools("all"), () => connectors.many.resources({ limit: -1 })]) {
        try { said.push(await ask()) } catch (error) { said.push([error.toolCode, error.message]) }
      }
      return said`;
    expect(await valueOf([many, down], source)).toEqual([
      ["SERVER_UNAVAILABLE", expect.stringContaining("down")],
      ["SERVER_UNAVAILABLE", expect.stringContaining("down")],
      ["SERVER_UNAVAILABLE", expect.stringContaining("down")],
      ["REQUEST_INVALID", expect.stringContaining("limit is 0")],
      ["REQUEST_INVALID", expect.stringContaining("limit is 1.5")],
      ["REQUEST_INVALID", expect.stringContaining("give { limit, cursor }")],
      ["REQUEST_INVALID", expect.stringContaining("limit is -1")],
    ]);
  });

  test("[handles:22] backends without resources and prompts have empty lists", async () => {
    const source = `const h = connectors.many;
      return await Promise.all([h.resources(), h.searchResources("a"), h.resourceTemplates(), h.prompts(), h.searchPrompts("a")])`;
    expect(await valueOf([many], source)).toEqual(Array.from({ length: 5 }, () => ({ items: [] })));
  });

  test("[handles:23] resources, templates and prompts have their names, and are found by them", async () => {
    const source = `const h = connectors.fixture;
      return {
        resources: (await h.resources()).items.map(({ uri }) => uri),
        templates: (await h.resourceTemplates()).items.map(({ uriTemplate }) => uriTemplate),
        prompts: (await h.prompts()).items.map(({ name }) => name),
        found: [(await h.searchResources("PIXEL")).items.length, (await h.searchPrompts("WHO")).items.length, (await h.searchPrompts("nobody")).items.length],
      }`;
    expect(await valueOf([fixture], source)).toEqual({
      resources: ["file:///a/pixel.png", "note://1"],
      templates: ["note://{owner}/{number}"],
      prompts: ["greet"],
      found: [1, 1, 0],
    });
  });

  test("[handles:45] a search without words is refused", async () => {
    const source = `const said = [];
      for (const query of ["", "  ", undefined, 5]) {
        try { await connectors.many.searchTools(query); said.push("found") } catch (error) { said.push(error.toolCode) }
      }
      const long = await connectors.fixture.searchPrompts("x".repeat(201)).catch((error) => error.message);
      if (!long.includes("200 are the most")) said.push(long);
      const named = await connectors.many.callTool("", {});
      return [...said, named.error.code, (await connectors.many.describeTool("")).error.code]`;
    expect(await valueOf([many, fixture], source)).toEqual([
      ...Array.from({ length: 4 }, () => "REQUEST_INVALID"),
      "TOOL_NOT_FOUND",
      "REQUEST_INVALID",
    ]);
  });
});

describe("describeTool", () => {
  test("[handles:24] [handles:25] [handles:29] gives schemas, a signature and types", async () => {
    const source = `return [await connectors["a-p.i"].describeTool("echo"), await connectors.fixture.describeTool("add")]`;
    const [echo, add] = (await valueOf([api, fixture], source, { root: "connectors" })) as [
      { ok: boolean; data: Record<string, unknown> },
      { data: Record<string, unknown> },
    ];
    expect(echo).toMatchObject({
      ok: true,
      data: {
        id: "a-p.i",
        inputSchema: { required: ["id"] },
        callSignature: 'callTool(name: "echo", args: EchoInput): Promise<ConnectorsResult<EchoOutput>>',
        outputTypeScript: "type EchoOutput = unknown",
        examples: [],
      },
    });
    expect(echo.data["inputTypeScript"]).toMatch(/^type EchoInput = /u);
    expect(echo.data["inputTypeScript"]).toMatch(/limit\?:number\|null/u);
    expect(echo.data["inputTypeScript"]).toMatch(/sort\?:"up"\|"down"/u);
    expect(echo.data["outputSchema"]).toBeUndefined();
    expect(add.data).toMatchObject({
      outputSchema: { properties: { sum: { type: "number" } } },
      outputTypeScript: expect.stringMatching(/^type AddOutput = \{sum:number/u),
    });
  });

  test("[handles:26] prints references, unions and lists of unions so that they compile", async () => {
    const node = {
      type: "object",
      properties: { next: { $ref: "#/$defs/node" }, "odd-key": { type: "string" } },
    };
    const inputs = [
      { type: "object", $defs: { node }, properties: { root: { $ref: "#/$defs/node" } }, required: ["root"] },
      {
        type: "object",
        properties: { kind: { type: "string" } },
        oneOf: [
          { properties: { kind: { const: "a" }, a: { type: "number" } }, required: ["kind", "a"] },
          { properties: { kind: { const: "b" }, b: { type: "number" } }, required: ["kind"] },
        ],
      },
      { type: "object", properties: { list: { type: "array", items: { type: ["string", "null"] } } } },
    ];
    await using hard = http({
      id: "hard",
      card: { name: "Hard", description: "Hard schemas" },
      baseUrl: web.origin,
      actions: inputs.map((input, at): HttpAction => ({
        name: `${at}-tool.of-%`,
        description: "Takes much",
        method: "POST",
        path: "/",
        body: "json",
        input: at === 1 ? { ...input, properties: { kind: { type: "string" }, a: {}, b: {} } } : input,
      })),
    });
    const source = `const h = connectors.hard; const printed = [];
      for (const { name } of (await h.tools()).items) {
        const { data } = await h.describeTool(name);
        printed.push([data.inputTypeScript, data.outputTypeScript, data.callSignature].join("\\n"));
      }
      return printed`;
    const printed = (await valueOf([hard], source)) as string[];
    expect(printed[2]).toMatch(/list\?:\(string\|null\)\[\]/u);
    const programs = printed.map(
      (text) => `type ConnectorsResult<T> = T;\n${text.replace(/^callTool/mu, "declare function callTool")}`,
    );
    expect(await compile(programs)).toEqual(programs.map(() => new Map()));
  });

  test("[handles:28] says of outputs what callTool gives", async () => {
    const output = { type: "object", properties: { url: { type: "string" } }, required: ["url"] };
    await using one = http({
      id: "one",
      card: { name: "One", description: "One" },
      baseUrl: web.origin,
      actions: [{ name: "get", description: "Gets", method: "GET", path: "/x", output }],
    });
    await using desk = cli({
      id: "desk",
      card: { name: "Desk", description: "Desk" },
      commands: [{ ...COMMAND, args: ["--eval", "console.log('a\\nb')"], output: "lines" }],
    });
    const source = `const of = async (h, name) => [(await h.describeTool(name)).data.outputTypeScript, (await h.callTool(name)).data];
      return [await of(connectors.one, "get"), await of(connectors.desk, "run")]`;
    expect(await valueOf([one, desk], source)).toEqual([
      [expect.stringMatching(/^type GetOutput = \{url:string/u), { url: "/x", got: "" }],
      ["type RunOutput = string[]", ["a", "b"]],
    ]);
  });

  test("[handles:27] says which tool may be meant", async () => {
    const source = `return await connectors.fixture.describeTool("ad")`;
    expect(await valueOf([fixture], source)).toMatchObject({
      ok: false,
      error: { code: "TOOL_NOT_FOUND", details: { suggestions: ["add"] } },
    });
  });
});

describe("callTool", () => {
  test("[handles:30] [handles:35] [handles:36] failures are results, in the words of handles", async () => {
    const source = `const h = connectors;
      return [
        await h.fixture.callTool("add", { a: 1, b: 2 }),
        await h.fixture.callTool("fail"),
        await h["a-p.i"].callTool("broken", { id: "x" }),
        await h.down.callTool("anything"),
        await h.fixture.callTool("ad", {}),
      ]`;
    const [added, failed, broken, unavailable, unknown] = (await valueOf(
      [fixture, api, down],
      source,
    )) as unknown[];
    expect(added).toEqual({
      ok: true,
      data: { sum: 3 },
      meta: { connectorId: "fixture", tool: "add", durationMs: expect.any(Number) },
    });
    expect(failed).toMatchObject({
      ok: false,
      error: { code: "DOWNSTREAM_TOOL_ERROR", message: expect.stringContaining("fuse") },
    });
    expect(broken).toMatchObject({ ok: false, error: { code: "DOWNSTREAM_TOOL_ERROR" } });
    expect(unavailable).toMatchObject({ ok: false, error: { code: "SERVER_UNAVAILABLE" } });
    expect(unknown).toMatchObject({
      ok: false,
      error: { code: "TOOL_NOT_FOUND", details: { suggestions: ["add"] } },
    });
    const words = JSON.stringify([failed, broken, unavailable, unknown]);
    expect(words).not.toMatch(/describe_tool|call_tool|127\.0\.0\.1|\bstack\b/u);
  });

  test("[handles:31] arguments that are left out are none", async () => {
    expect(await valueOf([fixture], `return (await connectors.fixture.callTool("json_text")).data`)).toEqual({
      ok: [1, 2],
    });
  });

  test("[handles:32] arguments that do not fit never reach the backend, and the error says how to mend them", async () => {
    const before = web.received.length;
    const source = `const h = connectors["a-p.i"];
      return [await h.callTool("echo", { limit: "x", colour: 1 }), await h.callTool("echo", 5), await h.callTool("echo", ["a"]), await h.callTool("echo", null)]`;
    const [wrong, ...others] = (await valueOf([api], source)) as {
      error: { code: string; details: object };
    }[];
    expect(wrong?.error).toMatchObject({
      code: "REQUEST_INVALID",
      details: {
        tool: "echo",
        requiredArgs: ["id"],
        acceptedArgs: ["id", "limit", "sort"],
        missingArgs: ["id"],
        unexpectedArgs: ["colour"],
        minimalArgsTemplate: { id: "" },
        callSignature: expect.stringContaining("EchoInput"),
        inputTypeScript: expect.stringContaining("type EchoInput = "),
      },
    });
    const { details } = wrong?.error ?? {};
    const { schemaErrors } = details as { schemaErrors: { path: string; rule: string }[] };
    expect(schemaErrors).toContainEqual({ path: "limit", rule: expect.stringContaining("integer") });
    expect(schemaErrors.map(({ rule }) => rule).join()).toMatch(/"id".*"colour"|"colour".*"id"/u);
    for (const { error } of others) expect(error.code).toBe("REQUEST_INVALID");
    expect(web.received.length).toBe(before);
  });

  test("[handles:33] [handles:34] data is unwrapped, and nothing of it is lost", async () => {
    const source = `const h = connectors.fixture; const of = async (name, args) => (await h.callTool(name, args)).data;
      return [await of("json_text"), await of("number_text"), (await of("large", { letters: 5000 })).length, (await of("two_texts")).content.map(({ text }) => text), (await of("mixed")).content.map(({ type }) => type)]`;
    expect(await valueOf([fixture], source)).toEqual([
      { ok: [1, 2] },
      "0012",
      5000,
      ['{"a":1}', '{"b":2}'],
      ["text", "image", "resource", "resource_link"],
    ]);
  });

  test("[handles:37] a call that takes too long says so", async () => {
    const opened = await openHttp({ timeoutMs: 50, responseBytes: 1_000_000 });
    await using _ = opened;
    const source = `return await connectors.fixture.callTool("hang")`;
    expect(await valueOf([opened.connector], source)).toMatchObject({
      ok: false,
      error: { code: "TOOL_CALL_TIMEOUT" },
    });
  });

  test("[handles:38] calls overlap", async () => {
    let open = 0;
    const all = Promise.withResolvers<void>();
    await using backend = await startWebBackend((_, response) => {
      if (++open === 3) all.resolve();
      void all.promise.then(() => response.writeHead(200, { "content-type": "application/json" }).end("1"));
    });
    await using one = http({
      id: "one",
      card: { name: "One", description: "One" },
      baseUrl: backend.origin,
      actions: [{ name: "get", description: "Gets", method: "GET", path: "/" }],
    });
    const source = `return await Promise.all([1, 2, 3].map(async () => (await connectors.one.callTool("get")).data))`;
    expect(await valueOf([one], source)).toEqual([1, 1, 1]);
  });

  test("[handles:39] bytes that cannot cross are refused with their place", async () => {
    const source = `return await connectors["a-p.i"].callTool("echo", { id: new Uint8Array([1, 2]) })`;
    expect(await valueOf([api], source)).toMatchObject({
      ok: false,
      error: { code: "REQUEST_INVALID", message: expect.stringContaining("input.id") },
    });
  });

  test("[handles:40] bytes of a backend are told of by a reference", async () => {
    const handles = createHandles([fixture]);
    const source = `return (await connectors.fixture.callTool("picture")).data`;
    const result = await host.start({ source, connectors: handles }).result;
    const { uri = "", byteLength } = (result.status === "completed" ? result.value : {}) as {
      uri?: string;
      byteLength?: number;
    };
    expect(result).toMatchObject({
      value: { uri: expect.stringMatching(/^artifact:/u), sha256: expect.any(String) },
    });
    expect(handles.artifacts.read(uri)?.byteLength).toBe(byteLength);
  });

  test("is a call of the tool itself: a policy sees its id and the validated input", async () => {
    const seen: unknown[] = [];
    const start: Partial<StartOptions> = {
      authorize: ({ tool, input }) => {
        seen.push([tool, input]);
        return tool === "mcp:fixture:add" ? { deny: "not today" } : "allow";
      },
    };
    const source = `return [await connectors.fixture.callTool("add", { a: 1, b: 2 }), (await connectors.fixture.tools({ limit: 1 })).items.length]`;
    expect(await valueOf([fixture], source, { start })).toEqual([
      {
        ok: false,
        error: { code: "CALL_DENIED", message: expect.stringContaining("not today") },
        meta: expect.any(Object),
      },
      1,
    ]);
    expect(seen).toEqual([
      ["mcp:fixture:add", { a: 1, b: 2 }],
      ["connectors.tools", { connector: "fixture", page: { limit: 1 } }],
    ]);
  });

  test("knows no tool that the policy of the handles denies, under any name", async () => {
    const source = `const h = connectors.fixture;
      return [(await h.callTool("add", { a: 1, b: 2 })).error.code, (await h.describeTool("add")).error.code, (await h.tools()).items.some(({ name }) => name === "add"), (await h.searchTools("add numbers")).items.some(({ name }) => name === "add"), (await h.callTool("json_text")).ok]`;
    expect(await valueOf([fixture], source, { policy: { deny: ["mcp:*:add"] } })).toEqual([
      "TOOL_NOT_FOUND",
      "TOOL_NOT_FOUND",
      false,
      false,
      true,
    ]);
  });

  test("of a tool that destroys asks first; the run suspends, and goes on elsewhere", async () => {
    const before = web.received.length;
    const source = `return await connectors["a-p.i"].callTool("delete it", { id: "x" })`;
    const suspended = await resultOf([api], source);
    if (suspended.status !== "suspended") throw new Error(JSON.stringify(suspended));
    const { token, pending } = suspended.suspension;
    expect(pending).toMatchObject([{ tool: "http:a-p.i:delete%20it", payload: { tool: "delete it" } }]);
    expect(web.received.length).toBe(before);
    const callId = pending[0]?.callId ?? "";
    const resolutions = { [callId]: { resolution: true } };
    const without = await host.resume({ token, resolutions }).result;
    expect(without).toMatchObject({ status: "failed", failure: { code: "tool_missing" } });
    const resumed = await host.resume({ token, resolutions, connectors: createHandles([api]) }).result;
    expect(resumed).toMatchObject({ status: "completed", value: { ok: true, data: { url: "/echo/x" } } });
    expect(web.received.length).toBe(before + 1);
  });

  test("is replayed without a backend", async () => {
    const source = `const { data } = await connectors.fixture.callTool("add", { a: 1, b: 2 }); return [data.sum, (await connectors.fixture.check()).ok]`;
    const run = host.start({ source, connectors: createHandles([fixture]) });
    expect(await run.result).toMatchObject({ value: [3, true] });
    const again = host.replay(run.ledger());
    expect(await again.result).toMatchObject({ status: "completed", value: [3, true] });
  });
});

describe("resources, prompts and completion", () => {
  test("[handles:42] resources are read, and what cannot be read says so", async () => {
    const source = `const h = connectors;
      return [await h.fixture.readResource("note://1"), await h.fixture.readResource("file:///a/pixel.png"), (await h.fixture.readResource("nope://x")).error.code, (await h.many.readResource("note://1")).error.code, (await h.fixture.readResource(5)).error.code]`;
    expect(await valueOf([fixture, many], source)).toMatchObject([
      { ok: true, data: { contents: [{ text: "Water the plants" }] } },
      { ok: true, data: { contents: [{ blob: { uri: expect.stringMatching(/^artifact:/u) } }] } },
      "DOWNSTREAM_RESOURCE_ERROR",
      "UNSUPPORTED_OPERATION",
      "REQUEST_INVALID",
    ]);
  });

  test("[handles:43] prompts are made, and unknown ones say so", async () => {
    const source = `const h = connectors.fixture;
      return [await h.getPrompt("greet", { who: "Ann" }), (await h.getPrompt("insult", {})).error.code, (await h.getPrompt("greet", "Ann")).error.code]`;
    expect(await valueOf([fixture], source)).toMatchObject([
      { ok: true, data: { messages: [{ content: { text: "Greet Ann" } }, {}] } },
      "PROMPT_NOT_FOUND",
      "REQUEST_INVALID",
    ]);
  });

  test("[handles:44] arguments are completed, with what is known of the others", async () => {
    const source = `const h = connectors.fixture;
      const uri = "note://{owner}/{number}";
      return [
        (await h.complete({ ref: { type: "prompt", name: "greet" }, argument: { name: "who", value: "An" } })).data.values,
        (await h.complete({ ref: { type: "resourceTemplate", uri }, argument: { name: "number", value: "1" }, context: { arguments: { owner: "ann" } } })).data.values,
        (await connectors.many.complete({ ref: { type: "prompt", name: "x" }, argument: { name: "a", value: "" } })).error.code,
        (await h.complete({ ref: "greet" })).error.code,
      ]`;
    expect(await valueOf([fixture, many], source)).toEqual([
      ["Ann", "Anton"],
      ["ann-10", "ann-11"],
      "UNSUPPORTED_OPERATION",
      "REQUEST_INVALID",
    ]);
  });
});

describe("observed shapes", () => {
  test("[handles:93] [handles:94] [handles:95] [handles:96] tell what outputs were like, without their values", async () => {
    const bodies = ['{"a":1,"b":2}', '{"a":"secret","c":[]}'];
    await using backend = await startWebBackend((_, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(bodies.shift());
    });
    await using one = http({
      id: "one",
      card: { name: "One", description: "One" },
      baseUrl: backend.origin,
      actions: [{ name: "get", description: "Gets", method: "GET", path: "/" }],
    });
    const source = `const h = connectors.one; const shapes = [];
      for (let at = 0; at < 3; at++) {
        shapes.push((await h.describeTool("get")).data.observedOutputShape ?? null);
        if (at < 2) await h.callTool("get");
      }
      return shapes`;
    const [none, first, second] = (await valueOf([one], source)) as Record<string, unknown>[];
    expect(none).toBeNull();
    expect(first).toEqual({
      version: 1,
      source: "observed",
      observedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/u),
      sampleCount: 1,
      typeScript: expect.any(String),
      jsonShape: {
        kind: "object",
        fields: {
          a: { optional: false, shape: { kind: "number" } },
          b: { optional: false, shape: { kind: "number" } },
        },
      },
      truncated: false,
    });
    expect(second).toMatchObject({ sampleCount: 2 });
    expect(String(second?.["typeScript"]).replaceAll(/\s/gu, "")).toMatch(
      /^\{a:(number\|string|string\|number);b\?:number;c\?:unknown\[\];?\}$/u,
    );
    expect(JSON.stringify(second)).not.toContain("secret");
  });
});

describe("[handles:111] recipes", () => {
  test("guard against a backend that is not ready", async () => {
    const source = `const h = caplets.down;
      const ready = await h.check();
      if (!ready.ok) { return { ok: false, reason: ready.error.message }; }
      return { ok: true };`;
    expect(await valueOf([down], source, { root: "caplets" })).toEqual({
      ok: false,
      reason: expect.stringContaining("down"),
    });
  });

  test("discover, describe, call", async () => {
    const source = `const h = caplets.fixture;
      const tools = await h.searchTools("adds two numbers", { limit: 5 });
      const tool = tools.items[0];
      if (!tool) return { ok: false, reason: "No matching tool" };
      const details = await h.describeTool(tool.name);
      const result = await h.callTool(tool.name, { a: 1, b: 2 });
      return { tool: tool.name, callOk: result.ok, evidence: result.ok ? result.data : result.error.message, schemaKnown: details.ok };`;
    expect(await valueOf([fixture], source, { root: "caplets" })).toEqual({
      tool: "add",
      callOk: true,
      evidence: { sum: 3 },
      schemaKnown: true,
    });
  });

  test("page through what is large", async () => {
    const source = `const h = caplets.many;
      const repos = [];
      let cursor: string | undefined;
      do {
        const page = await h.tools({ limit: 25, cursor });
        repos.push(...page.items.map((item) => item.name));
        cursor = page.nextCursor;
      } while (cursor && repos.length < 100);
      return { count: repos.length, repos };`;
    expect(await valueOf([many], source, { root: "caplets" })).toMatchObject({ count: 100 });
  });

  test("use resources and prompts", async () => {
    const source = `const h = caplets.fixture;
      const resources = await h.searchResources("first", { limit: 3 });
      const first = resources.items[0];
      const content = first?.uri ? await h.readResource(first.uri) : undefined;
      const prompts = await h.searchPrompts("greet", { limit: 3 });
      return { resources: resources.items.map((item) => item.uri), firstResourceOk: content?.ok ?? false, prompts: prompts.items.map((item) => item.name) };`;
    expect(await valueOf([fixture], source, { root: "caplets" })).toEqual({
      resources: ["note://1"],
      firstResourceOk: true,
      prompts: ["greet"],
    });
  });
});
