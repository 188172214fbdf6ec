/** MCP servers behind URLs that do something wrong: each has a clear error, which names no URL and no header. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import * as consumers from "node:stream/consumers";
import { type Connector, type ConnectorError, mcp } from "@codecell/connectors";
import { afterEach, describe, expect, test } from "vitest";
import { addressOf, closeServer, listen } from "./control.ts";
import { openSessions, START_TIMEOUT_MS } from "./opened.ts";

const nobody = { signal: new AbortController().signal };
const request = { ...nobody, idempotencyKey: "1" };

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
});

type Handle = (request: IncomingMessage, response: ServerResponse, message: Message) => void;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly name?: string };
}

async function serve(handle: Handle): Promise<Server> {
  const server = createServer((incoming, response) => {
    void consumers.text(incoming).then((body) => {
      handle(incoming, response, body === "" ? {} : (JSON.parse(body) as Message));
    });
  });
  await listen(server);
  opened.push({ [Symbol.asyncDispose]: () => closeServer(server) });
  return server;
}

function connect(server: Server, options: object = {}): Connector {
  const connector = mcp({
    id: "web",
    url: `${addressOf(server)}/secret-path`,
    startTimeoutMs: START_TIMEOUT_MS,
    timeoutMs: START_TIMEOUT_MS,
    ...options,
  });
  opened.unshift(connector);
  return connector;
}

/** A server that does all right but its calls. */
async function calls(handle: Handle, options: object = {}): Promise<Connector> {
  const server = await serve((incoming, response, message) => {
    if (message.method === "tools/call") handle(incoming, response, message);
    else answer(response, message);
  });
  return connect(server, options);
}

function answer(response: ServerResponse, { id, method }: Message): void {
  const results: Readonly<Record<string, unknown>> = {
    initialize: {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "web", version: "0" },
    },
    "tools/list": { tools: [{ name: "buy", inputSchema: { type: "object" } }] },
  };
  if (method === undefined) response.writeHead(405).end();
  else if (id === undefined) response.writeHead(202).end();
  else if (method in results) json(response, { id, result: results[method] });
  else json(response, { id, error: { code: -32_601, message: "Method not found" } });
}

function json(response: ServerResponse, message: object): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", ...message }));
}

function events(response: ServerResponse, ...texts: readonly string[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const text of texts) response.write(text);
}

const resultOf = (id: number | undefined, text: string): string =>
  JSON.stringify({ result: { content: [{ type: "text", text }] }, jsonrpc: "2.0", id });

const buy = (connector: Connector): Promise<unknown> =>
  connector.callTool("buy", {}, request).then(({ data }) => data);

async function errorOf(action: Promise<unknown>): Promise<ConnectorError> {
  const error = (await action.then(
    () => new Error("It should have failed"),
    (thrown: unknown) => thrown,
  )) as ConnectorError;
  expect(error.message).not.toMatch(/secret|127\.0\.0\.1|http:/u);
  return error;
}

describe("a call", () => {
  test("whose stream of events ends without an answer fails at once", async () => {
    const connector = await calls((_, response) => {
      events(response, ": nothing\n\n");
      response.end();
    });
    const error = await errorOf(buy(connector));
    expect(error).toMatchObject({ code: "SERVER_UNAVAILABLE", hasNoEffect: false });
    expect(error.message).toBe('Stopped calling "buy": "web" ended the connection before it answered');
  });

  test.each(["before", "in"])("whose connection breaks %s the response fails at once", async (when) => {
    const connector = await calls((_, response) => {
      if (when === "before") response.destroy();
      else {
        events(response, 'data: {"jsonrpc":');
        setImmediate(() => response.destroy());
      }
    });
    expect(await errorOf(buy(connector))).toMatchObject({ code: "SERVER_UNAVAILABLE", hasNoEffect: false });
  });

  test("answered with a body of 50 MB fails", async () => {
    const connector = await calls((_, response, { id }) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.on("error", () => {});
      response.end(resultOf(id, "x".repeat(50_000_000)));
    });
    const error = await errorOf(buy(connector));
    expect(error.code).toBe("RESPONSE_TOO_LARGE");
    expect(error.message).toContain("10000000");
  });

  test("answered with an event of 50 MB fails", async () => {
    const connector = await calls((_, response, { id }) => {
      events(response, "event: message\n", `data: ${resultOf(id, "x".repeat(50_000_000))}\n\n`);
    });
    expect(await errorOf(buy(connector))).toMatchObject({ code: "RESPONSE_TOO_LARGE" });
  });

  test("comes after an event of 50 MB that answers nothing", async () => {
    const connector = await calls((_, response, { id }) => {
      const notice = { jsonrpc: "2.0", method: "notifications/message", id, params: "x".repeat(50_000_000) };
      events(response, `data: ${JSON.stringify(notice)}\n\n`, `data: ${resultOf(id, "bought")}\r\n\r\n`);
      response.end();
    });
    expect(await buy(connector)).toBe("bought");
  });

  test.each([
    ["a page", 200, "text/html", "<html>", "DOWNSTREAM_PROTOCOL_ERROR"],
    ["no JSON", 200, "application/json", "{", "DOWNSTREAM_PROTOCOL_ERROR"],
    ["no message", 200, "application/json", '{"a":1}', "DOWNSTREAM_PROTOCOL_ERROR"],
    ["a fault of its own", 500, "text/plain", "http://127.0.0.1/secret", "SERVER_UNAVAILABLE"],
    ["too many requests", 429, "text/plain", "", "SERVER_UNAVAILABLE"],
    ["what is wrong with the request", 418, "text/plain", "secret", "DOWNSTREAM_PROTOCOL_ERROR"],
    ["that credentials are missing", 401, "text/plain", "", "AUTH_REQUIRED"],
    ["that it is forbidden", 403, "text/plain", "", "AUTH_FAILED"],
  ])("answered with %s fails", async (_, status, type, body, code) => {
    const connector = await calls((__, response) => {
      response.writeHead(status, { "content-type": type }).end(body);
    });
    expect(await errorOf(buy(connector))).toMatchObject({ code });
  });

  test("that is cancelled leaves its connection, though the server ignores that", async () => {
    const [asked, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const connector = await calls((_, response) => {
      events(response, ": wait\n\n");
      response.once("close", left.resolve);
      asked.resolve();
    });
    const caller = new AbortController();
    const call = errorOf(connector.callTool("buy", {}, { ...request, signal: caller.signal }));
    await asked.promise;
    caller.abort();
    expect(await call).toMatchObject({ code: "CALL_ABORTED" });
    await left.promise;
  });
});

describe("a server", () => {
  test("that is not there is said to be so", async () => {
    const server = await serve(() => {});
    const connector = connect(server);
    await closeServer(server);
    const error = await errorOf(connector.check(nobody));
    expect(error).toMatchObject({ code: "SERVER_UNAVAILABLE", hasNoEffect: true });
    expect(error.message).toBe(
      'Cannot reach "web": nothing listens at its url. Start the server, or correct the url',
    );
  });

  test("that is no MCP server is said to be so", async () => {
    const server = await serve((_, response) => void response.writeHead(404).end());
    const error = await errorOf(connect(server).check(nobody));
    expect(error.message).toBe(
      'Stopped connecting: no MCP server answers where "web" is configured (HTTP 404): correct its url',
    );
  });

  test("that wants credentials is said to want them, or to refuse them", async () => {
    const server = await serve((_, response) => void response.writeHead(401).end());
    expect(await errorOf(connect(server).check(nobody))).toMatchObject({
      code: "AUTH_REQUIRED",
      message: '"web" wants credentials (HTTP 401): configure its headers, or oauth',
    });
    const headers = { authorization: "Bearer secret" };
    expect(await errorOf(connect(server, { headers }).check(nobody))).toMatchObject({ code: "AUTH_FAILED" });
  });

  test("that says nothing is given up in time", async () => {
    const connector = connect(await serve(() => {}), { startTimeoutMs: 500 });
    expect(await errorOf(connector.check(nobody))).toMatchObject({ code: "SERVER_START_TIMEOUT" });
  });

  test("cannot send us elsewhere", async () => {
    let isAsked = false;
    const other = await serve((_, response, message) => {
      isAsked = true;
      answer(response, message);
    });
    const server = await serve((_, response) => {
      response.writeHead(307, { location: `${addressOf(other)}/secret` }).end();
    });
    await errorOf(connect(server).check(nobody));
    expect(isAsked).toBe(false);
  });

  test("that forgot our session gets a new one, and the call is made again", async () => {
    const options = { timeoutMs: START_TIMEOUT_MS, responseBytes: 1_000_000 };
    const { connector, forget, ...rest } = await openSessions(options);
    opened.push(rest);
    const add = (): Promise<unknown> =>
      connector.callTool("add", { a: 1, b: 2 }, request).then(({ data }) => data);
    expect(await add()).toEqual({ sum: 3 });
    forget();
    expect(await add()).toEqual({ sum: 3 });
  });
});
