/**
 * What the suite of connectors needs of a kind: a connector to a real backend, and calls of that backend whose outcome is
 * known. For tests.
 */
import type { Connector } from "../contract/connector.ts";

export interface KnownCall {
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface ConnectorUnderTest extends AsyncDisposable {
  readonly connector: Connector;
  /** A call that succeeds, with what it gives. */
  readonly succeeds: KnownCall & { readonly data: unknown };
  /** A call that the backend refuses in its own words, and a part of these words. */
  readonly fails: KnownCall & { readonly words: string };
  /** A call that the backend never answers. */
  readonly hangs: KnownCall & {
    /** Resolves when the backend has begun the call. */
    readonly started: () => Promise<void>;
    /** Resolves when the backend has been told to stop, or has lost its caller. */
    readonly stopped: () => Promise<void>;
  };
  /** A call whose answer is larger than the connector takes; see `OpenOptions`. */
  readonly large: KnownCall;
  /** A text that is in the connector's credentials, or in its environment. */
  readonly secret: string;
  /** Makes the backend go away. */
  readonly stop: () => Promise<void>;
}

export interface OpenOptions {
  /** How long the connector waits for an answer. */
  readonly timeoutMs: number;
  /** How large an answer the connector takes. */
  readonly responseBytes: number;
}

export type OpenConnector = (options: OpenOptions) => Promise<ConnectorUnderTest>;
