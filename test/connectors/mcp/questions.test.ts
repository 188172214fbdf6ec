/** What MCP servers ask of a host, and log: over both generations of the protocol, and from servers of others. */
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Connector,
  type ConnectorError,
  mcp,
  type QuestionOptions,
  type ServerLog,
} from "@codecell/connectors";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { afterEach, describe, expect, test } from "vitest";
import { SOURCE_FLAGS } from "../../../scripts/source-flags.ts";
import { addressOf, closeServer, Control, listen } from "./control.ts";
import { START_TIMEOUT_MS } from "./opened.ts";

const nobody = { signal: new AbortController().signal };
const request = { ...nobody, idempotencyKey: "1" };
const SECRET = "secret-canary-4711";

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
});

interface Asking {
  readonly connector: Connector;
  readonly control: Control;
}

/** The server that asks what its tools are told to. */
async function openAsking(options: QuestionOptions): Promise<Asking> {
  const control = await Control.open();
  const connector = mcp({
    id: "asking",
    command: process.execPath,
    args: [...SOURCE_FLAGS, fileURLToPath(new URL("asking-server.fixture.ts", import.meta.url))],
    env: { ASKING_CONTROL: control.url, API_TOKEN: SECRET },
    startTimeoutMs: START_TIMEOUT_MS,
    timeoutMs: START_TIMEOUT_MS,
    ...options,
  });
  opened.push(connector, control);
  return { connector, control };
}

interface Told {
  readonly capabilities: unknown;
  readonly answers: readonly unknown[];
}

/** What the server was answered. */
async function ask(connector: Connector, method: string, params: object, times = 1): Promise<Told> {
  const { data } = await connector.callTool("ask", { method, params, times }, request);
  return data as Told;
}

const form = (properties: object, required: readonly string[] = []): object => ({
  message: "How shall it be?",
  requestedSchema: { type: "object", properties, required },
});

const ELICIT = "elicitation/create";
const SAMPLE = "sampling/createMessage";
const prompt = { messages: [{ role: "user", content: { type: "text", text: "Hello" } }], maxTokens: 10 };

async function errorOf(action: Promise<unknown>): Promise<ConnectorError> {
  return (await action.then(
    () => new Error("It should have failed"),
    (error: unknown) => error,
  )) as ConnectorError;
}

describe("a server is told that it may ask", () => {
  const onElicit = (): Promise<{ action: "decline" }> => Promise.resolve({ action: "decline" });
  const onSample = (): Promise<never> => Promise.reject(new Error("no"));
  test.each<[what: string, options: QuestionOptions, capabilities: object]>([
    ["nothing", {}, {}],
    ["for forms", { onElicit }, { elicitation: { form: { applyDefaults: true } } }],
    ["for pages", { onElicitUrl: onElicit }, { elicitation: { url: {} } }],
    ["a model", { onSample }, { sampling: {} }],
    ["where it may work", { roots: [] }, { roots: {} }],
  ])("%s, where the host answers that", async (_, options, capabilities) => {
    const { connector } = await openAsking(options);
    const told = await ask(connector, "roots/list", {});
    expect(told.capabilities).toEqual(capabilities);
    expect(told.answers).toEqual(
      options.roots === undefined
        ? [{ error: { code: -32_601, message: "Method not found" } }]
        : [{ roots: [] }],
    );
  });

  test("where it may work, and gets what the host says", async () => {
    const roots = [{ uri: "file:///home/ann/garden", name: "Garden" }, { uri: "file:///tmp" }];
    const { connector } = await openAsking({ roots });
    expect((await ask(connector, "roots/list", {})).answers).toEqual([{ roots }]);
  });
});

describe("a form", () => {
  test("is shown to the host, and what the person said to the server", async () => {
    const seen: unknown[] = [];
    const { connector } = await openAsking({
      onElicit: ({ connector: id, message, requestedSchema }) => {
        seen.push({ id, message, requestedSchema });
        return Promise.resolve({ action: "accept", content: { color: "red" } });
      },
    });
    const asked = form({
      color: { type: "string", enum: ["red", "blue"] },
      size: { type: "integer", default: 3 },
    });
    const { answers } = await ask(connector, ELICIT, asked);
    // What the person left out has its default.
    expect(answers).toEqual([{ action: "accept", content: { color: "red", size: 3 } }]);
    expect(seen).toMatchObject([{ id: "asking", ...asked }]);
  });

  test.each(["decline", "cancel"] as const)("may be refused: %s", async (action) => {
    const { connector } = await openAsking({ onElicit: () => Promise.resolve({ action }) });
    expect((await ask(connector, ELICIT, form({}))).answers).toEqual([{ action }]);
  });

  const failure = { error: { code: -32_603, message: "The host could not answer" } };
  test.each<[what: string, onElicit: () => Promise<unknown>]>([
    ["throws", () => Promise.reject(new Error("no screen at /home/ann"))],
    ["answers what does not fit", () => Promise.resolve({ action: "accept", content: { size: "big" } })],
    ["answers what nobody asked", () => Promise.resolve({ action: "accept", content: { password: "x" } })],
    ["answers nonsense", () => Promise.resolve({ action: "maybe" })],
  ])("that the host %s is an error without the host's words", async (_, onElicit) => {
    const { connector } = await openAsking({ onElicit: onElicit as never });
    const asked = form({ size: { type: "integer" } });
    expect((await ask(connector, ELICIT, asked)).answers).toEqual([failure]);
  });

  test("that nobody fills in in time is cancelled, and the call's own time stands still", async () => {
    let isAborted = false;
    const { connector } = await openAsking({
      questionTimeoutMs: 20,
      onElicit: ({ signal }) => {
        signal.addEventListener("abort", () => {
          isAborted = true;
        });
        return new Promise(() => {});
      },
    });
    expect((await ask(connector, ELICIT, form({}))).answers).toEqual([{ action: "cancel" }]);
    expect(isAborted).toBe(true);
  });

  test("ends with the call in which it was asked", async () => {
    const asked = Promise.withResolvers<AbortSignal>();
    const { connector } = await openAsking({
      onElicit: ({ signal }) => {
        asked.resolve(signal);
        return new Promise(() => {});
      },
    });
    const caller = new AbortController();
    const input = { method: ELICIT, params: form({}) };
    const call = errorOf(connector.callTool("ask", input, { ...request, signal: caller.signal }));
    const signal = await asked.promise;
    caller.abort();
    expect(await call).toMatchObject({ code: "CALL_ABORTED" });
    expect(signal.aborted).toBe(true);
  });

  test("out of nowhere is shown to nobody", async () => {
    let isAsked = false;
    const { connector, control } = await openAsking({
      onElicit: () => {
        isAsked = true;
        return Promise.resolve({ action: "accept", content: {} });
      },
    });
    control.isOpen = false;
    await connector.callTool("ask-later", { method: ELICIT, params: form({}) }, request);
    control.isOpen = true;
    await control.happened("answered");
    expect((await connector.callTool("later", {}, request)).data).toEqual({
      later: { error: { code: -32_600, message: "Nobody has asked the server anything" } },
    });
    expect(isAsked).toBe(false);
  });

  test("shows no secret of the connector", async () => {
    const seen: string[] = [];
    const { connector } = await openAsking({
      onElicit: (question) => {
        seen.push(JSON.stringify(question));
        return Promise.resolve({ action: "cancel" });
      },
    });
    const hex = Buffer.from(SECRET).toString("hex");
    await ask(connector, ELICIT, {
      message: `Is ${SECRET} yours?`,
      requestedSchema: { type: "object", properties: { a: { type: "string", description: hex } } },
    });
    expect(seen[0]).toContain("Is [hidden] yours?");
    expect(seen[0]).not.toContain(SECRET);
    expect(seen[0]).not.toContain(hex);
  });

  test("that is too large, or one of too many, is refused, and the connector works on", async () => {
    let isAsked = 0;
    const { connector } = await openAsking({
      onElicit: () => {
        isAsked++;
        return Promise.resolve({ action: "decline" });
      },
    });
    const large = { ...form({}), message: "x".repeat(1_000_000) };
    expect((await ask(connector, ELICIT, large)).answers).toEqual([
      { error: { code: -32_600, message: "The question is too large" } },
    ]);
    const { answers } = await ask(connector, ELICIT, form({}), 100);
    expect(isAsked).toBeGreaterThan(0);
    expect(isAsked).toBeLessThanOrEqual(30);
    expect(answers.filter((one) => JSON.stringify(one).includes("too many questions"))).toHaveLength(
      100 - isAsked,
    );
    expect((await ask(connector, "ping", {})).answers).toEqual([{}]);
  });
});

describe("a page", () => {
  const asked = { mode: "url", message: "Pay", url: "https://pay.example/1", elicitationId: "1" };

  test("is opened by whoever the host asks", async () => {
    const seen: unknown[] = [];
    const { connector } = await openAsking({
      onElicitUrl: ({ url, message }) => {
        seen.push({ url: url.href, message });
        return Promise.resolve({ action: "accept" });
      },
    });
    expect((await ask(connector, ELICIT, asked)).answers).toEqual([{ action: "accept" }]);
    expect(seen).toEqual([{ url: asked.url, message: "Pay" }]);
    const evil = await ask(connector, ELICIT, { ...asked, url: "javascript:alert(1)" });
    expect(evil.answers).toMatchObject([{ error: {} }]);
    expect(seen).toHaveLength(1);
  });

  test("that the host answers with nothing that it may is an error without the host's words", async () => {
    const { connector } = await openAsking({ onElicitUrl: () => Promise.resolve(null as never) });
    expect((await ask(connector, ELICIT, asked)).answers).toEqual([
      { error: { code: -32_603, message: "The host could not answer" } },
    ]);
  });

  test("is shown to no host that fills in forms alone", async () => {
    const { connector } = await openAsking({ onElicit: () => Promise.resolve({ action: "accept" }) });
    expect((await ask(connector, ELICIT, asked)).answers).toMatchObject([{ error: { code: -32_602 } }]);
  });
});

describe("a question to a model", () => {
  test("goes to the host, and the answer to the server", async () => {
    const seen: unknown[] = [];
    const { connector } = await openAsking({
      onSample: (question) => {
        seen.push(question);
        return Promise.resolve({
          model: "small",
          content: { type: "text", text: "Hi" },
          stopReason: "endTurn",
        });
      },
    });
    const asked = { ...prompt, systemPrompt: "Be short", temperature: 0.5, stopSequences: ["."] };
    expect((await ask(connector, SAMPLE, asked)).answers).toEqual([
      { role: "assistant", model: "small", content: { type: "text", text: "Hi" }, stopReason: "endTurn" },
    ]);
    expect(seen).toEqual([{ connector: "asking", signal: expect.any(AbortSignal) as unknown, ...asked }]);
  });

  test.each<[what: string, onSample: () => Promise<unknown>]>([
    ["throws", () => Promise.reject(new Error("key sk-123 is over"))],
    ["answers nonsense", () => Promise.resolve({ model: 5 })],
    ["answers nothing", () => Promise.resolve(undefined)],
    ["answers null", () => Promise.resolve(null)],
  ])("that the host %s is an error without the host's words", async (_, onSample) => {
    const { connector } = await openAsking({ onSample: onSample as never });
    expect((await ask(connector, SAMPLE, prompt)).answers).toEqual([
      { error: { code: -32_603, message: "The host could not answer" } },
    ]);
  });

  test("with tools, which was not offered, is refused", async () => {
    const { connector } = await openAsking({ onSample: () => Promise.reject(new Error("not asked")) });
    const tools = [{ name: "a", inputSchema: { type: "object" } }];
    expect((await ask(connector, SAMPLE, { ...prompt, tools })).answers).toMatchObject([
      { error: { code: -32_600 } },
    ]);
  });
});

describe("the newer protocol", () => {
  async function openNewer(options: QuestionOptions, rounds = 1): Promise<Connector> {
    const handle = toNodeHandler(
      createMcpHandler(() => {
        const server = new McpServer({ name: "newer", version: "1" }, { capabilities: { logging: {} } });
        server.registerTool("book", { description: "Books" }, (ctx) => {
          const round = Number(ctx.mcpReq.requestState() ?? 0);
          if (round < rounds)
            return inputRequired({
              inputRequests: {
                seat: inputRequired.elicit({
                  message: "Which seat?",
                  requestedSchema: { type: "object", properties: { row: { type: "integer" } } },
                }),
              },
              requestState: String(round + 1),
            });
          return { content: [], structuredContent: { said: ctx.mcpReq.inputResponses ?? null } };
        });
        return server;
      }),
    );
    const server = createServer((incoming, response) => {
      const { method = "", url = "" } = incoming;
      void handle(Object.assign(incoming, { method, url }), response);
    });
    await listen(server);
    const connector = mcp({
      id: "newer",
      url: `${addressOf(server)}/mcp`,
      startTimeoutMs: START_TIMEOUT_MS,
      timeoutMs: START_TIMEOUT_MS,
      ...options,
    });
    opened.push(connector, { [Symbol.asyncDispose]: () => closeServer(server) });
    return connector;
  }

  test("asks in the answer to a call, which goes on with what the person said", async () => {
    const connector = await openNewer({
      onElicit: () => Promise.resolve({ action: "accept", content: { row: 7 } }),
    });
    expect((await connector.callTool("book", {}, request)).data).toEqual({
      said: { seat: { action: "accept", content: { row: 7 } } },
    });
  });

  test("asks no host that does not answer", async () => {
    const connector = await openNewer({});
    expect(await errorOf(connector.callTool("book", {}, request))).toMatchObject({
      code: "DOWNSTREAM_TOOL_ERROR",
      connector: "newer",
    });
  });

  test("asks no host for what it does not answer, though it answers something", async () => {
    const connector = await openNewer({ roots: [] });
    expect(await errorOf(connector.callTool("book", {}, request))).toHaveProperty("code");
  });

  test("asks no more often than anybody would", async () => {
    let asked = 0;
    const connector = await openNewer(
      {
        onElicit: () => {
          asked++;
          return Promise.resolve({ action: "accept", content: {} });
        },
      },
      1000,
    );
    expect(await errorOf(connector.callTool("book", {}, request))).toMatchObject({
      code: "DOWNSTREAM_PROTOCOL_ERROR",
      message: 'Stopped calling "book": "newer" asks without end',
    });
    expect(asked).toBe(10);
  });

  test("does not tell of an error of the host's", async () => {
    const connector = await openNewer({
      onElicit: () => Promise.reject(new Error("no screen at /home/ann")),
    });
    const error = await errorOf(connector.callTool("book", {}, request));
    expect(error.message).toContain("The host could not answer");
    expect(error.message).not.toContain("/home/ann");
  });
});

describe("what a server logs", () => {
  test("is heard by the host, without secrets, from the level on that it wants", async () => {
    const heard: ServerLog[] = [];
    const { connector } = await openAsking({ onLog: (log) => heard.push(log), logLevel: "notice" });
    const log = (params: object): Promise<unknown> => connector.callTool("log", { params }, request);
    await log({ level: "info", data: "not heard" });
    await log({ level: "error", logger: `db ${SECRET}`, data: { said: [SECRET, 5] } });
    expect(heard).toEqual([
      { connector: "asking", level: "error", logger: "db [hidden]", data: { said: ["[hidden]", 5] } },
    ]);
  });

  test("is bounded in size and number, and what throws is no harm", async () => {
    const heard: ServerLog[] = [];
    const { connector } = await openAsking({
      onLog: (log) => {
        heard.push(log);
        throw new Error("no disk");
      },
    });
    await connector.callTool("log", { params: { level: "error", data: "x".repeat(50_000) } }, request);
    // Its end may have been a part of a secret.
    expect(heard[0]?.data).toMatch(/^x{9000,9999}…$/u);
    await connector.callTool("log", { times: 20_000, params: { level: "info", data: "more" } }, request);
    expect(heard.filter(({ isNotice }) => isNotice === true)).toHaveLength(1);
    expect(heard.length).toBeLessThan(20_000);
  });
});

describe("@modelcontextprotocol/server-everything", () => {
  test("asks, samples, and sees its roots", async () => {
    const { resolve } = createRequire(import.meta.url);
    const folder = dirname(resolve("@modelcontextprotocol/server-everything/package.json"));
    const connector = mcp({
      id: "everything",
      command: process.execPath,
      args: [`${folder}/dist/index.js`],
      startTimeoutMs: START_TIMEOUT_MS,
      timeoutMs: START_TIMEOUT_MS,
      onElicit: () => Promise.resolve({ action: "accept", content: { name: "Ann", check: true } }),
      onSample: () => Promise.resolve({ model: "small", content: { type: "text", text: "It is sunny" } }),
      roots: [{ uri: "file:///home/ann/garden", name: "Garden" }],
    });
    opened.push(connector);
    const said = async (tool: string, input = {}): Promise<string> =>
      JSON.stringify((await connector.callTool(tool, input, request)).data);
    expect(await said("trigger-elicitation-request")).toContain("Ann");
    expect(await said("trigger-sampling-request", { prompt: "Weather?", maxTokens: 10 })).toContain("sunny");
    expect(await said("get-roots-list")).toContain("file:///home/ann/garden");
  });
});

test.each<[what: RegExp, options: object]>([
  [/"onElicit" has to be a function/u, { onElicit: true }],
  [/"roots" has to be a list/u, { roots: [{ uri: "https://example.com" }] }],
  [/"roots" has to be a list/u, { roots: "file:///" }],
  [/"questionTimeoutMs" has to be a number/u, { questionTimeoutMs: -1 }],
  [/"logLevel" has to be one of/u, { logLevel: "loud" }],
])("a configuration that cannot work is refused: %s", (what, options) => {
  expect(() => mcp({ id: "a", command: "a", ...options })).toThrow(what);
});
