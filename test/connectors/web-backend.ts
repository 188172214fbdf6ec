/**
 * A real HTTP server on loopback that remembers what it received. For tests.
 *
 * - It answers as the test says. A request that the test never answers tells when its caller has left.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { BackendTool, Connector } from "@codecell/connectors";
import type { ConnectorUnderTest } from "@codecell/connectors/testing";
import { expect } from "vitest";

export interface Received {
  readonly method: string;
  /** Path and query, as they were on the wire. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values as they were on the wire. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export type Answer = (received: Received, response: ServerResponse) => void;

export interface WebBackend extends AsyncDisposable {
  readonly origin: string;
  readonly received: readonly Received[];
  /** Resolves when a caller whose request was not answered has left. */
  readonly left: () => Promise<void>;
  /** Resolves when a request has arrived. */
  readonly arrived: () => Promise<Received>;
  readonly stop: () => Promise<void>;
}

export async function startWebBackend(answer: Answer): Promise<WebBackend> {
  const received: Received[] = [];
  const left = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<Received>();
  const server = createServer((request, response) => {
    response.on("close", () => {
      if (!response.writableFinished) left.resolve();
    });
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => {});
    request.on("end", () => {
      const { method = "", url = "", headers, rawHeaders } = request;
      const one = { method, url, headers, rawHeaders, body: Buffer.concat(chunks) };
      received.push(one);
      arrived.resolve(one);
      answer(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const stop = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  };
  return {
    origin: `http://127.0.0.1:${port}`,
    received,
    left: () => left.promise,
    arrived: () => arrived.promise,
    stop,
    [Symbol.asyncDispose]: async () => (server.listening ? stop() : undefined),
  };
}

/** A connector, and the backend that it calls. */
export interface OpenedWeb extends AsyncDisposable {
  readonly backend: WebBackend;
  readonly connector: Connector;
  readonly tool: (name: string) => Promise<BackendTool>;
  readonly call: (name: string, input?: Readonly<Record<string, unknown>>) => Promise<unknown>;
}

export async function openWeb(answer: Answer, connect: (baseUrl: string) => Connector): Promise<OpenedWeb> {
  const backend = await startWebBackend(answer);
  const connector = connect(backend.origin);
  return {
    backend,
    connector,
    tool: async (name) => {
      const tools = await connector.tools({ signal: nobody });
      return tools.find((tool) => tool.name === name) ?? expect.fail(`there is no ${name}`);
    },
    call: async (name, input = {}) => (await connector.callTool(name, input, requestOf())).data,
    [Symbol.asyncDispose]: async () => {
      await connector[Symbol.asyncDispose]();
      await backend[Symbol.asyncDispose]();
    },
  };
}

/** A shop, opened for `testConnector`. The tool `getItem` takes an `id`; `hang` and `large` take nothing. */
export async function openShop(
  { getItem, secret }: { readonly getItem: string; readonly secret: string },
  connect: (baseUrl: string) => Connector,
): Promise<ConnectorUnderTest> {
  const opened = await openWeb(({ url }, response) => {
    if (url === "/items/1") json(response, 200, { id: 1, tags: ["a"] });
    else if (url === "/items/2") json(response, 404, { message: "There is no item 2" });
    else if (url === "/large") json(response, 200, { text: "x".repeat(200_000) });
    else if (url !== "/hang") json(response, 200, null);
  }, connect);
  const { arrived, left, stop } = opened.backend;
  return {
    connector: opened.connector,
    succeeds: { tool: getItem, input: { id: "1" }, data: { id: 1, tags: ["a"] } },
    fails: { tool: getItem, input: { id: "2" }, words: "There is no item 2" },
    hangs: { tool: "hang", input: {}, started: async () => void (await arrived()), stopped: left },
    large: { tool: "large", input: {} },
    secret,
    stop,
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

/** Answers with JSON. */
export function json(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
}

export const nobody: AbortSignal = new AbortController().signal;

export function requestOf(signal: AbortSignal = nobody): {
  readonly signal: AbortSignal;
  readonly idempotencyKey: string;
} {
  return { signal, idempotencyKey: "key-1" };
}
