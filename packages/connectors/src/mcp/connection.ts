/**
 * Runs on the host. Connection: one connection of the official client to an MCP server, by the transport that the server
 * understands.
 *
 * - It serves until it is closed, from either side. It is never opened again.
 * - The newer protocol is asked for first; a server that does not know it is spoken to in the older one.
 */
import {
  Client,
  type ClientOptions,
  type JSONRPCMessage,
  type JsonSchemaValidatorResult,
  type RequestOptions,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import type { HiddenTexts } from "../backend/hidden-texts.ts";
import type { ChangedList, Facts } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { boundedFetch } from "./bounded-fetch.ts";
import { ProcessEndError } from "./failures.ts";
import { HttpTransport } from "./http-transport.ts";
import { ListBounds, type Listed, type ListName } from "./list-bounds.ts";
import type { OAuth } from "./oauth/oauth.ts";
import type { McpSettings } from "./options.ts";
import { ProcessTransport } from "./process-transport.ts";
import type { Logs } from "./questions/logs.ts";
import type { Questions } from "./questions/questions.ts";

export interface ConnectOptions {
  readonly settings: McpSettings;
  /** Absent: the server is asked with what the configuration has. */
  readonly oauth: OAuth | undefined;
  readonly questions: Questions;
  /** Absent: nobody hears what the server logs. */
  readonly logs: Logs | undefined;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
  /** The server is known to speak the older protocol, or to die when it is asked for the newer one. */
  readonly isOld: boolean;
  /** The server says that a list is no longer what it was. */
  readonly onNotice: (list: ChangedList) => void;
  /** The server ended the connection, and not we. */
  readonly onEnd: () => void;
}

/** What others see of a client's transport. */
type TransportName = "stdio" | "http" | "sse";

/** Time is kept by whoever asks. */
const NO_TIMEOUT_MS = 2_147_483_647;

const MAX_PAGES = 200;

/** How long a server has to begin its notices of changes. Without them lists still end by their age. */
const LISTEN_MS = 2000;

const CLIENT: { readonly name: string; readonly version: string } = {
  name: "codecell-connectors",
  version: "0.1.0",
};

const NOTICES = {
  tools: "notifications/tools/list_changed",
  resources: "notifications/resources/list_changed",
  prompts: "notifications/prompts/list_changed",
} as const;

/** How the client asks: it knows no time-out of its own. */
export function requestOptions(signal: AbortSignal): {
  readonly signal: AbortSignal;
  readonly timeout: number;
} {
  return { signal, timeout: NO_TIMEOUT_MS };
}

export class Connection {
  readonly client: Client;
  readonly transport: TransportName;
  /** Whether the server keeps a session for us, which it may forget. */
  readonly hasSession: boolean;
  readonly #bounds: ListBounds;
  readonly #end: () => Promise<void>;
  #isOpen = true;
  #listening: Promise<void> | undefined;

  constructor(
    client: Client,
    bounds: ListBounds,
    about: {
      readonly transport: TransportName;
      readonly hasSession: boolean;
      readonly end: () => Promise<void>;
      readonly onEnd: () => void;
    },
  ) {
    this.client = client;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client is no event target
    client.onclose = () => {
      if (this.#isOpen) about.onEnd();
      this.#isOpen = false;
    };
    this.#bounds = bounds;
    this.transport = about.transport;
    this.hasSession = about.hasSession;
    this.#end = about.end;
  }

  get isOpen(): boolean {
    return this.#isOpen && this.client.transport !== undefined;
  }

  /** The server speaks the older protocol, where notices come unasked. */
  get isOld(): boolean {
    return this.client.getProtocolEra() !== "modern";
  }

  /** What a program may know of the server that answers. */
  about(hidden: HiddenTexts): Facts {
    const server = this.client.getServerVersion();
    const protocol = this.client.getNegotiatedProtocolVersion();
    return {
      transport: this.transport,
      ...(server === undefined
        ? {}
        : { server: short(server.name, hidden), version: short(server.version, hidden) }),
      ...(protocol === undefined ? {} : { protocol }),
    };
  }

  has(capability: "tools" | "resources" | "prompts" | "completions"): boolean {
    return this.client.getServerCapabilities()?.[capability] !== undefined;
  }

  /** All pages. `ask` is the method of the client that reads them. */
  async list<Page>(
    name: ListName,
    signal: AbortSignal,
    ask: (options: RequestOptions & { readonly cacheMode: "bypass" }) => Promise<Page>,
  ): Promise<Listed<Page>> {
    await this.#listen();
    return this.#bounds.within(name, signal, (bounded) =>
      ask({ ...requestOptions(bounded), cacheMode: "bypass" }),
    );
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#end().catch(() => {});
    await this.client.close().catch(() => {});
  }

  /** In the newer protocol notices are asked for. A server that gives none is not asked again. */
  async #listen(): Promise<void> {
    if (this.isOld) return;
    this.#listening ??= this.#ask();
    await this.#listening;
  }

  async #ask(): Promise<void> {
    const { tools, prompts, resources } = this.client.getServerCapabilities() ?? {};
    const filter = {
      ...(tools?.listChanged === true && { toolsListChanged: true }),
      ...(prompts?.listChanged === true && { promptsListChanged: true }),
      ...(resources?.listChanged === true && { resourcesListChanged: true }),
    };
    if (Object.keys(filter).length === 0) return;
    const subscription = await this.client.listen(filter, { timeout: LISTEN_MS }).catch(() => undefined);
    void subscription?.closed.then(() => {
      this.#listening = undefined;
    });
  }
}

/** A server's own words about itself. What is hidden is found before they are cut. */
function short(text: string, hidden: HiddenTexts): string {
  return hidden.hide(text.slice(0, 10_000)).slice(0, 100).toWellFormed();
}

export async function connect(options: ConnectOptions): Promise<Connection> {
  const { address } = options.settings;
  if (address.kind === "process") return connectProcess(options);
  try {
    return await connectUrl(options, "http");
  } catch (error) {
    if (!(error instanceof SdkHttpError) || !isForOlder(error.status)) throw error;
    try {
      return await connectUrl(options, "sse");
    } catch (again) {
      throw again instanceof ConnectorError ? again : error;
    }
  }
}

/** Statuses by which a server says that it does not know Streamable HTTP. */
function isForOlder(status: number): boolean {
  return status >= 400 && status < 500 && status !== 401 && status !== 403;
}

async function connectProcess(options: ConnectOptions): Promise<Connection> {
  const { address, responseBytes } = options.settings;
  if (address.kind !== "process") throw new TypeError("The server is no process");
  const transport = new ProcessTransport(address.server, responseBytes);
  try {
    return await connectWith(options, transport, { transport: "stdio", hasSession: () => false });
  } catch (error) {
    const isGone = transport.pid === null || transport.exit !== undefined || isClosed(error);
    await transport.close();
    throw isGone ? new ProcessEndError(transport.exit, transport.lastWords, error) : error;
  }
}

function isClosed(error: unknown): boolean {
  return (
    error instanceof SdkError &&
    (error.code === SdkErrorCode.ConnectionClosed ||
      error.code === SdkErrorCode.NotConnected ||
      error.code === SdkErrorCode.EraNegotiationFailed)
  );
}

async function connectUrl(options: ConnectOptions, kind: "http" | "sse"): Promise<Connection> {
  const { address, responseBytes } = options.settings;
  if (address.kind !== "url") throw new TypeError("The server has no url");
  const plain = boundedFetch(responseBytes);
  const sent = options.oauth?.through(plain) ?? plain;
  // Of what a fetch throws the client of the older events tells only the words.
  let refusal: ConnectorError | undefined;
  const init = {
    fetch: async (url: string | URL, request?: RequestInit) => {
      try {
        return await sent(url, request);
      } catch (error) {
        if (error instanceof ConnectorError) refusal = error;
        throw error;
      }
    },
    requestInit: { headers: { ...address.headers } },
  };
  if (kind === "sse") {
    const transport = new SSEClientTransport(address.url, init);
    const way = { transport: "sse", hasSession: () => false } as const;
    return connectWith(options, transport, way).catch((error: unknown) => {
      throw refusal ?? error;
    });
  }
  const transport = new HttpTransport(address.url, init);
  return connectWith(options, transport, {
    transport: "http",
    hasSession: () => transport.sessionId !== undefined,
    settled: (message) => transport.settled(message),
    end: () => endSession(transport),
  });
}

/** A server that keeps sessions may forget ours. It has little time for that. */
async function endSession(transport: HttpTransport): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, 1000);
  const ended = transport.terminateSession().catch(() => {});
  await Promise.race([ended, late.promise]);
  clearTimeout(timer);
}

interface Way {
  readonly transport: TransportName;
  readonly hasSession: () => boolean;
  readonly settled?: (message: JSONRPCMessage) => void;
  readonly end?: () => Promise<void>;
}

async function connectWith(
  { settings, questions, logs, signal, isOld, onNotice, onEnd }: ConnectOptions,
  transport: Transport,
  way: Way,
): Promise<Connection> {
  const client = new Client(CLIENT, clientOptions(settings, questions));
  const bounds = new ListBounds(() => {
    const isModern = client.getProtocolEra() === "modern";
    return { isOld: !isModern, hasHeaders: isModern && way.transport !== "stdio" };
  }, settings.responseBytes);
  const send = transport.send.bind(transport);
  transport.send = (message, sendOptions) => {
    bounds.sent(message);
    return send(message, sendOptions);
  };
  // The client calls what it finds here before it reads a message itself.
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport is no event target
  transport.onmessage = (message: JSONRPCMessage) => {
    way.settled?.(message);
    bounds.see(message);
  };
  questions.attach(client);
  logs?.attach(client);
  for (const list of ["tools", "resources", "prompts"] as const)
    client.setNotificationHandler(NOTICES[list], () => onNotice(list));
  const stop = (): void => void transport.close().catch(() => {});
  signal.addEventListener("abort", stop, { once: true });
  try {
    signal.throwIfAborted();
    await client.connect(transport, {
      ...requestOptions(signal),
      ...(isOld && { prior: { kind: "legacy" } }),
    });
  } catch (error) {
    void transport.close().catch(() => {});
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
  // In the newer protocol each request says what it wants to hear.
  if (logs !== undefined && client.getProtocolEra() !== "modern" && client.getServerCapabilities()?.logging)
    await client.setLoggingLevel(logs.level, requestOptions(signal)).catch(() => {});
  return new Connection(client, bounds, {
    transport: way.transport,
    hasSession: way.hasSession(),
    end: way.end ?? (() => Promise.resolve()),
    onEnd,
  });
}

function clientOptions({ address, startTimeoutMs }: McpSettings, questions: Questions): ClientOptions {
  // A process that says nothing to the newer protocol's question has as much time left for the older one.
  const timeoutMs = address.kind === "process" ? startTimeoutMs / 2 : NO_TIMEOUT_MS;
  return {
    capabilities: questions.capabilities,
    inputRequired: { autoFulfill: questions.areAnswered },
    listMaxPages: MAX_PAGES,
    // Outputs are validated where calls are made, in a bounded number of steps, and schemas are never compiled.
    jsonSchemaValidator: { getValidator: () => accept },
    versionNegotiation: { mode: "auto", probe: { timeoutMs } },
  };
}

function accept<T>(value: unknown): JsonSchemaValidatorResult<T> {
  return { valid: true, data: value as T, errorMessage: undefined };
}
