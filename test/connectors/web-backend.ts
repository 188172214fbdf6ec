/**
 * A real HTTP server on loopback that remembers what it received. For tests.
 *
 * - It answers as the test says. A request that the test never answers tells when its caller has left.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

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
