/** Connectors to the server of fixture-server.ts, over every transport. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import { type Connector, mcp } from "@codecell/connectors";
import type { ConnectorUnderTest, OpenOptions } from "@codecell/connectors/testing";
import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@modelcontextprotocol/node";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { SOURCE_FLAGS } from "../../../scripts/source-flags.ts";
import { addressOf, closeServer, Control, listen } from "./control.ts";
import { createFixtureServer, type Hooks, TOOL_ERROR } from "./fixture-server.ts";

export const SECRET = "secret-canary-4711";

/** Nothing of these tests is about how fast a process starts on a busy machine. */
export const START_TIMEOUT_MS = 100_000;

const CALLS = {
  succeeds: { tool: "add", input: { a: 40, b: 2 }, data: { sum: 42 } },
  fails: { tool: "fail", input: {}, words: TOOL_ERROR },
  large: { tool: "large", input: { letters: 200_000 } },
  secret: SECRET,
} as const;

/** The server: what happens to a call that hangs, and how the server ends before its connector and after it. */
interface Fixture extends Pick<ConnectorUnderTest["hangs"], "started" | "stopped"> {
  readonly stop: () => Promise<void>;
  readonly close: () => Promise<void>;
}

function opened(connector: Connector, { started, stopped, stop, close }: Fixture): ConnectorUnderTest {
  return {
    ...CALLS,
    connector,
    hangs: { tool: "hang", input: {}, started, stopped },
    stop,
    [Symbol.asyncDispose]: async () => {
      await connector[Symbol.asyncDispose]();
      await close();
    },
  };
}

function stdioServer(control: Control): {
  command: string;
  args: string[];
  env: Record<string, string>;
} {
  const script = fileURLToPath(new URL("stdio-server.fixture.ts", import.meta.url));
  return {
    command: process.execPath,
    args: [...SOURCE_FLAGS, script],
    env: { FIXTURE_CONTROL: control.url, FIXTURE_SECRET: SECRET },
  };
}

export async function openStdio(options: OpenOptions): Promise<ConnectorUnderTest> {
  const control = await Control.open();
  const connector = mcp({
    id: "fixture",
    ...stdioServer(control),
    startTimeoutMs: START_TIMEOUT_MS,
    restartDelayMs: 1,
    ...options,
  });
  return opened(connector, {
    started: () => control.happened("hanging"),
    stopped: () => control.happened("cancelled"),
    stop: () => {
      control.isOpen = false;
      for (const pid of control.pids) process.kill(pid, "SIGKILL");
      return Promise.resolve();
    },
    close: () => control[Symbol.asyncDispose](),
  });
}

type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** The newer protocol, which keeps no session. */
export function openHttp(options: OpenOptions): Promise<ConnectorUnderTest> {
  return openUrl(options, (hooks) => {
    const handle = toNodeHandler(createMcpHandler(() => createFixtureServer(hooks)));
    return (request, response) => {
      const { method = "", url = "" } = request;
      return handle(Object.assign(request, { method, url }), response);
    };
  });
}

/** The older protocol, in sessions. */
export async function openSessions(
  options: OpenOptions,
): Promise<ConnectorUnderTest & { readonly forget: () => void }> {
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>();
  const underTest = await openUrl(options, (hooks) => {
    return async (request, response) => {
      const id = request.headers["mcp-session-id"];
      const known = typeof id === "string" ? sessions.get(id) : undefined;
      if (id !== undefined && known === undefined) {
        response.writeHead(404).end();
        return;
      }
      const transport =
        known ??
        new NodeStreamableHTTPServerTransport({
          sessionIdGenerator: () => crypto.randomUUID(),
          onsessioninitialized: (session) => void sessions.set(session, transport),
        });
      if (known === undefined) await createFixtureServer(hooks).connect(transport);
      await transport.handleRequest(request, response);
    };
  });
  return { ...underTest, forget: () => sessions.clear() };
}

/** Server-sent events, as they were before Streamable HTTP. */
export function openSse(options: OpenOptions): Promise<ConnectorUnderTest> {
  return openUrl(options, (hooks) => {
    const sessions = new Map<string, SSEServerTransport>();
    return async (request, response) => {
      const url = new URL(request.url ?? "", "http://localhost");
      const session = sessions.get(url.searchParams.get("sessionId") ?? "");
      if (request.method === "GET") {
        const transport = new SSEServerTransport("/messages", response);
        sessions.set(transport.sessionId, transport);
        await createFixtureServer(hooks).connect(transport);
      } else if (url.pathname === "/messages" && session !== undefined) {
        await session.handlePostMessage(request, response);
      } else {
        response.writeHead(405).end();
      }
    };
  });
}

async function openUrl(
  options: OpenOptions,
  handlerOf: (hooks: Hooks) => Handle,
): Promise<ConnectorUnderTest> {
  const [hanging, cancelled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const handle = handlerOf({ onHanging: hanging.resolve, onCancelled: cancelled.resolve });
  const server: Server = createServer((request, response) => {
    if (request.headers.authorization !== `Bearer ${SECRET}`) response.writeHead(401).end();
    else void handle(request, response);
  });
  await listen(server);
  const connector = mcp({
    id: "fixture",
    url: `${addressOf(server)}/mcp`,
    headers: { authorization: `Bearer ${SECRET}` },
    startTimeoutMs: START_TIMEOUT_MS,
    ...options,
  });
  return opened(connector, {
    started: () => hanging.promise,
    stopped: () => cancelled.promise,
    stop: () => closeServer(server),
    close: () => closeServer(server),
  });
}
