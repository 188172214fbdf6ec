/**
 * Connector: the contract of a backend that was configured: an MCP server, an HTTP API, a command line. Used on the
 * host.
 *
 * - Making a connector asks its backend for nothing. It connects when somebody first asks.
 * - Whatever a backend gives is bounded before it becomes a value. Whatever fails is a `ConnectorError`.
 * - A program may see the card, the facts and every error: none of them has a secret, a command, a URL or a header.
 */
import type { Json, JsonSchema } from "codecell";

/** In the order in which documents list them. */
export const CONNECTOR_KINDS = ["mcp", "openapi", "graphql", "http", "cli", "discovery", "set"] as const;

export type ConnectorKind = (typeof CONNECTOR_KINDS)[number];

/** What a person says of a backend, for the model that chooses among backends. */
export interface Card {
  readonly name: string;
  readonly description: string;
  readonly useWhen?: string;
  readonly avoidWhen?: string;
  readonly tags?: readonly string[];
}

/** What a program may know of how a backend is reached: its transport, its time-outs. */
export type Facts = Readonly<Record<string, string | number | boolean>>;

/** Every question to a backend has a signal: when it is aborted, the backend is told to stop. */
export interface BackendRequest {
  readonly signal: AbortSignal;
}

export interface ToolRequest extends BackendRequest {
  /** The same for every attempt at this call. Sent to backends that take one. */
  readonly idempotencyKey: string;
  /** Is told of progress that the backend reports. */
  readonly onProgress?: (progress: Json) => void;
}

/** A tool as its backend describes it. What it says of itself are claims. */
export interface BackendTool {
  /** The exact name by which it is called. */
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** Absent: the tool takes anything. */
  readonly inputSchema?: JsonSchema;
  /** Of `data` as `callTool` gives it; absent if nothing is known. */
  readonly outputSchema?: JsonSchema;
  readonly useWhen?: string;
  readonly avoidWhen?: string;
  readonly tags?: readonly string[];
  /** Absent unless the backend declares it. */
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
}

/** What a call gave. */
export interface BackendOutput {
  /** JSON, but for `Bytes` at any place. */
  readonly data: unknown;
  /** What else is known of the answer, such as the status of a response. */
  readonly meta?: Readonly<Record<string, Json>>;
}

/** Bytes that a backend gave or takes: a file, an image, the body of a response. */
export class Bytes {
  readonly bytes: Uint8Array;
  readonly mediaType: string | undefined;
  readonly filename: string | undefined;

  constructor(bytes: Uint8Array, about: { readonly mediaType?: string; readonly filename?: string } = {}) {
    this.bytes = bytes;
    this.mediaType = about.mediaType;
    this.filename = about.filename;
  }
}

/** What a healthy backend says of itself. An unhealthy one makes `check` reject. */
export interface Readiness {
  readonly tools: number;
  readonly resources?: number;
  readonly resourceTemplates?: number;
  readonly prompts?: number;
  /** Such as the names and versions of the server and its protocol. */
  readonly about?: Facts;
}

export interface BackendResource {
  readonly uri: string;
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

export interface BackendResourceTemplate {
  readonly uriTemplate: string;
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

export interface BackendPrompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
}

export interface Completion {
  readonly ref:
    | { readonly type: "prompt"; readonly name: string }
    | { readonly type: "resourceTemplate"; readonly uri: string };
  readonly argument: { readonly name: string; readonly value: string };
  readonly context?: { readonly arguments?: Readonly<Record<string, string>> };
}

export interface Completed {
  readonly values: readonly string[];
  readonly total?: number;
  readonly hasMore?: boolean;
}

/** What only some kinds have. A list that a backend does not offer is empty; what cannot be read is refused. */
export interface Context {
  resources(request: BackendRequest): Promise<readonly BackendResource[]>;
  resourceTemplates(request: BackendRequest): Promise<readonly BackendResourceTemplate[]>;
  readResource(uri: string, request: BackendRequest): Promise<BackendOutput>;
  prompts(request: BackendRequest): Promise<readonly BackendPrompt[]>;
  getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    request: BackendRequest,
  ): Promise<BackendOutput>;
  complete(completion: Completion, request: BackendRequest): Promise<Completed>;
}

/** Which of a connector's lists is no longer what it was. */
export type ChangedList = "tools" | "resources" | "prompts";

export interface Connector extends AsyncDisposable {
  /** The name by which programs know the backend. */
  readonly id: string;
  readonly kind: ConnectorKind;
  readonly card: Card;
  readonly facts: Facts;
  /** Equal as long as the same service is behind the id. What is learnt of outputs belongs to it. */
  readonly identity: string;
  /** Whether the operator trusts what the backend says of its tools. */
  readonly isTrusted: boolean;
  /** Asks the backend whether it is there, and whether it lets us in. Rejects with what is wrong and what to do. */
  check(request: BackendRequest): Promise<Readiness>;
  /** All tools, in a stable order. */
  tools(request: BackendRequest): Promise<readonly BackendTool[]>;
  /** The input was validated against the tool's schema. */
  callTool(
    name: string,
    input: Readonly<Record<string, unknown>>,
    request: ToolRequest,
  ): Promise<BackendOutput>;
  /** Absent: the kind has neither resources nor prompts. */
  readonly context?: Context;
  /** Gives a function that ends the listening. */
  onChange(listener: (list: ChangedList) => void): () => void;
}
