/**
 * Outcome: what one program came to in one implementation of code mode, as JSON that can be compared.
 *
 * - Everything that differs from run to run (times, nonces, ports, bytes of seals) is left out or named.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** What the contract's package and we have in common, without types: each is given what the other is given. */
export interface CodeMode {
  runCodeMode(input: object): Promise<unknown>;
  createCodeModeTool(tools: object, options?: object): CodeModeTool;
  requestCodeModeInterrupt(payload: object): never;
  continueCodeModeInterrupt(input: object): Promise<unknown>;
  continueCodeModeApproval(input: object): Promise<unknown>;
  getCodeModeApprovalResponse(messages: object[], interrupt: unknown): unknown;
  getCodeModeInterrupt(result: unknown): unknown;
  isCodeModeInterrupt(value: unknown): boolean;
  isCodeModeApprovalInterrupt(value: unknown): boolean;
  replaceCodeModeInterruptResult(messages: object[], interrupt: unknown, output: unknown): object[];
  toCodeModeApprovalMessages(interrupt: unknown): object[];
  unwrapCodeModeResult(result: unknown): { status: string; output?: unknown };
  setMaxWorkers(count: number | undefined): void;
}

interface CodeModeTool {
  description?: string;
  execute(input: { js: string }, options: object): PromiseLike<unknown>;
  toModelOutput?(given: object): unknown;
}

/** What a program is run with. */
export interface Kit {
  readonly mode: CodeMode;
  /** Of a local server, of which programs may fetch. */
  readonly origin: string;
  readonly tools: object;
  /** Given to every invocation: keeps what hooks were told. */
  readonly lifecycle: object;
  /** What tools were called with, in order. */
  readonly executed: unknown[];
  /** With the kit's tools, hooks and ids, unless the given ones are others. */
  readonly run: (
    js: string,
    input?: { options?: object; tools?: object; execution?: object },
  ) => Promise<unknown>;
}

export interface Case {
  readonly name: string;
  /** A program, or what a host does. */
  readonly does: string | ((kit: Kit) => Promise<unknown>);
  readonly options?: object | ((kit: Kit) => object);
  readonly execution?: object;
}

export type Outcome = Readonly<Record<string, unknown>>;

export type ToolsFor = (mode: CodeMode, executed: unknown[]) => object;

export async function outcomeOf(one: Case, mode: CodeMode, toolsFor: ToolsFor): Promise<Outcome> {
  const server = await serve();
  const hooks: string[] = [];
  const traces: unknown[] = [];
  const executed: unknown[] = [];
  const tools = toolsFor(mode, executed);
  const lifecycle = recorder(hooks, traces);
  const kit: Kit = {
    mode,
    origin: server.origin,
    tools,
    lifecycle,
    executed,
    run: (js, { options = {}, tools: own = tools, execution = {} } = {}) =>
      mode.runCodeMode({
        js,
        tools: own,
        options: { lifecycle, ...options },
        toolExecutionOptions: { toolCallId: "call_1", messages: [], ...execution },
      }),
  };
  const { does, options = {}, execution = {} } = one;
  const given = typeof options === "function" ? options(kit) : options;
  let end: object;
  try {
    const value =
      typeof does === "string"
        ? await kit.run(does.replaceAll("ORIGIN", server.origin), { options: given, execution })
        : await does(kit);
    end = { value: toValue(value) };
  } catch (error) {
    end = { error: toNameAndCode(error) };
  } finally {
    await server[Symbol.asyncDispose]();
  }
  const told = {
    ...end,
    executed: executed.map((call) => JSON.stringify(call)).sort(),
    hooks: byCall(hooks),
    traces,
  };
  return JSON.parse(JSON.stringify(told).replaceAll(server.origin, "ORIGIN")) as Outcome;
}

export function toNameAndCode(error: unknown): object {
  const { name, code } = error as { name?: unknown; code?: unknown };
  return { name, code };
}

/** An interrupt without what is opaque in it. */
export function toValue(value: unknown): unknown {
  if (value === undefined) return "(undefined)";
  if (typeof value !== "object" || value === null || !("continuation" in value)) return value;
  const { continuation: _opaque, ...told } = value;
  return told;
}

/** What was told of a call is in order; in which order several calls at once are told of is nobody's to fix. */
function byCall(hooks: readonly string[]): readonly string[] {
  const callOf = (line: string): string => /\S+:tool-\d+|http\S+/u.exec(line)?.[0] ?? "";
  return [...new Set(hooks.map(callOf))]
    .sort()
    .flatMap((call) => hooks.filter((line) => callOf(line) === call));
}

interface Entry {
  readonly kind: string;
  readonly bridgeIndex: number;
  readonly toolName?: string;
  readonly toolCallId?: string;
  readonly url?: string;
  readonly method?: string;
  readonly status?: string;
  readonly replayed: boolean;
}

function lineOf({ toolName, toolCallId, url, method, status, replayed }: Entry): string {
  const what = toolName === undefined ? `${method} ${url}` : `${toolName} ${toolCallId}`;
  return `${what}${status === undefined ? "" : ` ${status}`}${replayed ? " replayed" : ""}`;
}

function recorder(hooks: string[], traces: unknown[]): object {
  const tell = (hook: string) => (event: Entry) => void hooks.push(`${hook} ${lineOf(event)}`);
  return {
    onNestedToolCall: tell("call"),
    onNestedToolResult: tell("result"),
    onFetchRequest: tell("fetch"),
    onFetchResult: tell("fetched"),
    onInterrupt: ({ interrupt }: { interrupt: { interruptId: string } }) =>
      void hooks.push(`interrupt ${interrupt.interruptId}`),
    onTrace: (trace: {
      status: string;
      outerToolCallId: string;
      bridgeRequests: Entry[];
      interruptedBy?: string;
      error?: { code?: string };
    }) => {
      const { status, outerToolCallId, bridgeRequests, interruptedBy, error } = trace;
      // Both tell them in the order they ended, which is nobody's to fix for calls at the same time.
      const entries = bridgeRequests.map(lineOf).sort();
      traces.push({ status, outerToolCallId, entries, interruptedBy, failed: error?.code });
    },
    onHookError: (_error: unknown, { hook }: { hook: string }) => void hooks.push(`hook error ${hook}`),
  };
}

interface Server extends AsyncDisposable {
  readonly origin: string;
}

async function serve(): Promise<Server> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://x");
    if (pathname === "/redirect") response.writeHead(302, { location: "/json" }).end();
    else if (pathname === "/loop") response.writeHead(302, { location: "/loop" }).end();
    else if (pathname === "/away") response.writeHead(302, { location: "http://127.0.0.1:1/" }).end();
    else if (pathname === "/large") response.end("x".repeat(100_000));
    else if (pathname === "/missing") response.writeHead(404).end("none");
    else if (pathname === "/echo") {
      let body = "";
      request.setEncoding("utf8");
      request.on("data", (text: string) => (body += text));
      request.on("end", () =>
        response.end(`${request.method} ${String(request.headers["x-own"] ?? "")} ${body}`),
      );
    } else response.writeHead(200, { "content-type": "application/json", "x-kind": "test" }).end('{"a":1}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
