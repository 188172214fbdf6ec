/**
 * KeptDescription: what a connector made of its description, read when somebody first asks and kept for a time. Runs on
 * the host.
 *
 * - Whoever asks while it is read waits for the same thread.
 * - A description that cannot be read again leaves the one before in place.
 */
import { CachedList } from "../backend/cached-list.ts";
import type { ChangedList } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import type { WebClient } from "../web/web-client.ts";
import type { DescriptionCache } from "./cache/description-cache.ts";
import type { DescribedApi, DocumentSource } from "./messages.ts";

export interface DescriptionOptions {
  /** For how long a description from a file or the web is used before it is read again. One hour if absent. */
  readonly documentTtlMs?: number;
  /** How many bytes all documents of the description may have. 50,000,000 if absent. */
  readonly documentBytes?: number;
  /**
   * Keeps what descriptions from files and the web become, such as `openDescriptionCache({ folder })`. If absent, they
   * are described anew by each process, and nothing is written.
   */
  readonly cache?: DescriptionCache;
}

const DEFAULT_TTL_MS = 3_600_000;
export const DEFAULT_DOCUMENT_BYTES = 50_000_000;

export interface KeptDescriptionOptions<Api> {
  /** The id of the connector. */
  readonly connector: string;
  readonly client: WebClient;
  /** One that was given is never read again. */
  readonly source?: DocumentSource;
  readonly ttlMs: number | undefined;
  readonly load: (signal: AbortSignal) => Promise<Api>;
}

export class KeptDescription<Api extends { readonly described: DescribedApi }> implements Disposable {
  readonly #options: KeptDescriptionOptions<Api>;
  /** A list of one. */
  readonly #apis: CachedList<Api>;
  readonly #listeners = new Set<(list: ChangedList) => void>();
  #last: Api | undefined;

  constructor(options: KeptDescriptionOptions<Api>) {
    this.#options = options;
    const { source, ttlMs = DEFAULT_TTL_MS } = options;
    this.#apis = new CachedList({
      ttlMs: source?.kind === "object" ? Number.POSITIVE_INFINITY : ttlMs,
      load: async (signal) => [await this.#loadOrKeep(signal)],
    });
  }

  /** What was read last; undefined before that. */
  get last(): Api | undefined {
    return this.#last;
  }

  async get(what: string, signal: AbortSignal): Promise<Api> {
    const { client, connector } = this.#options;
    client.refuseEnded(what);
    const either = AbortSignal.any([signal, client.ended]);
    try {
      const [api] = await this.#apis.get({ signal: either });
      return api as Api;
    } catch (error) {
      if (error instanceof ConnectorError) throw error;
      client.refuseEnded(what);
      const message = `Stopped ${what}: nobody waits for it any more`;
      throw new ConnectorError(connector, "CALL_ABORTED", message, { cause: error, hasNoEffect: true });
    }
  }

  onChange(listener: (list: ChangedList) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  [Symbol.dispose](): void {
    this.#listeners.clear();
  }

  async #loadOrKeep(signal: AbortSignal): Promise<Api> {
    const last = this.#last;
    try {
      const api = await this.#options.load(signal);
      this.#last = api;
      if (last !== undefined && last.described.hash !== api.described.hash) {
        for (const listener of this.#listeners) listener("tools");
      }
      return api;
    } catch (error) {
      if (last !== undefined && !signal.aborted) return last;
      throw error;
    }
  }
}
