/** Real HTTP servers on this machine, for tests of fetch. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface WebServer extends AsyncDisposable {
  readonly origin: string;
  /** The requests, in order. */
  readonly seen: SeenRequest[];
}

export type Answer = (response: ServerResponse, request: SeenRequest) => unknown;

/** Answers by path. Other paths are not found. */
export async function startServer(answers: Readonly<Record<string, Answer>>): Promise<WebServer> {
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    void take(request).then((taken) => {
      seen.push(taken);
      const answer = answers[taken.url.split("?")[0] ?? ""];
      if (answer === undefined) response.writeHead(404).end("nothing here");
      else answer(response, taken);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function take(request: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { method = "", url = "", headers } = request;
  return { method, url, headers, body: Buffer.concat(chunks).toString("latin1") };
}

export function redirect(location: string, status = 302): Answer {
  return (response) => response.writeHead(status, { location }).end("moved");
}
