/** MCP servers that would have us go, with our credentials, where nobody configured it. */
import { type Connector, ConnectorError, mcp } from "@codecell/connectors";
import { afterEach, describe, expect, test } from "vitest";
import { type Answer, nobody, requestOf, startWebBackend, type WebBackend } from "../web-backend.ts";
import { openHttp, START_TIMEOUT_MS } from "./opened.ts";

const SECRET = "canary-secret-4711";

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
});

async function serve(answer: Answer): Promise<WebBackend> {
  const backend = await startWebBackend(answer);
  opened.push(backend);
  return backend;
}

function connect(url: string): Connector {
  const headers = { authorization: `Bearer ${SECRET}` };
  const connector = mcp({ id: "web", url, headers, startTimeoutMs: START_TIMEOUT_MS });
  opened.unshift(connector);
  return connector;
}

describe("a server cannot lead us to another origin [handles:41]", () => {
  test.each([301, 302, 303, 307, 308])("by a redirect with %i", async (status) => {
    const other = await serve((_, response) => response.end());
    const places = [`${other.origin}/mcp`, other.origin.slice("http:".length)];
    for (const location of places) {
      const server = await serve((_, response) => response.writeHead(status, { location }).end());
      const error: unknown = await connect(`${server.origin}/mcp`)
        .check({ signal: nobody })
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ConnectorError);
      expect(server.received.length).toBeGreaterThan(0);
    }
    expect(other.received).toEqual([]);
  });

  test("by the address for messages of the older events", async () => {
    const other = await serve((_, response) => response.end());
    const asked = Promise.withResolvers<void>();
    const server = await serve(({ method }, response) => {
      if (method !== "GET") {
        response.writeHead(405).end();
        return;
      }
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`event: endpoint\ndata: ${other.origin}/messages\n\n`);
      asked.resolve();
    });
    await expect(connect(`${server.origin}/sse`).check({ signal: nobody })).rejects.toThrow(ConnectorError);
    await asked.promise;
    expect(other.received).toEqual([]);
  });
});

test("what a program names goes into no header of its own", async () => {
  const underTest = await openHttp({ timeoutMs: START_TIMEOUT_MS, responseBytes: 1_000_000 });
  opened.push(underTest);
  const { context } = underTest.connector;
  const evil = "note://1\r\nX-Evil: 1\r\n\r\nGET /admin HTTP/1.1";
  for (const asked of [
    context?.readResource(evil, { signal: nobody }),
    context?.getPrompt(evil, {}, { signal: nobody }),
    underTest.connector.callTool(evil, {}, requestOf()),
  ])
    await expect(asked).rejects.toThrow(ConnectorError);
  // The server has understood all of it as one request each.
  const { data } = await underTest.connector.callTool("add", { a: 1, b: 2 }, requestOf());
  expect(data).toEqual({ sum: 3 });
});
