/**
 * Runs on the host. UnreadyConnector: a connector that cannot be made, because a secret of its configuration is missing.
 *
 * - Whoever asks it learns why. Nothing else is affected.
 * - It becomes the connector that was meant as soon as it can be made: it tries when it is asked, once in a while.
 */
import type {
  BackendOutput,
  BackendRequest,
  BackendTool,
  Card,
  ChangedList,
  Connector,
  ConnectorKind,
  Context,
  Facts,
  Readiness,
  ToolRequest,
} from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";

/** However often programs ask, trying takes a twentieth of the time. */
const REST = 20;

export interface UnreadyOptions {
  readonly id: string;
  readonly kind: ConnectorKind;
  readonly card: Partial<Card> | undefined;
  /** Why it could not be made. */
  readonly error: ConnectorError;
  /** Throws a `ConnectorError` if it still cannot be made. */
  readonly make: () => Connector;
}

export class UnreadyConnector implements Connector {
  readonly id: string;
  readonly kind: ConnectorKind;
  readonly #options: UnreadyOptions;
  readonly #listeners = new Map<(list: ChangedList) => void, (() => void) | undefined>();
  #connector: Connector | undefined;
  #error: ConnectorError;
  #retryAt = 0;
  #isEnded = false;

  constructor(options: UnreadyOptions) {
    this.id = options.id;
    this.kind = options.kind;
    this.#options = options;
    this.#error = options.error;
  }

  get card(): Card {
    const { id, card } = this.#options;
    return this.#connector?.card ?? { name: id, description: `"${id}", which is not ready`, ...card };
  }

  get facts(): Facts {
    return this.#connector?.facts ?? {};
  }

  get identity(): string {
    return this.#connector?.identity ?? `${this.kind}:unready`;
  }

  get isTrusted(): boolean {
    return this.#connector?.isTrusted ?? false;
  }

  /** Absent until it is known whether the backend has some. */
  get context(): Context {
    return this.#connector?.context as Context;
  }

  async check(request: BackendRequest): Promise<Readiness> {
    return this.#made().check(request);
  }

  async tools(request: BackendRequest): Promise<readonly BackendTool[]> {
    return this.#made().tools(request);
  }

  async callTool(
    name: string,
    input: Readonly<Record<string, unknown>>,
    request: ToolRequest,
  ): Promise<BackendOutput> {
    return this.#made().callTool(name, input, request);
  }

  onChange(listener: (list: ChangedList) => void): () => void {
    const own = (list: ChangedList): void => listener(list);
    this.#listeners.set(own, this.#connector?.onChange(own));
    return () => {
      this.#listeners.get(own)?.();
      this.#listeners.delete(own);
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnded = true;
    await this.#connector?.[Symbol.asyncDispose]();
  }

  #made(): Connector {
    const { id } = this;
    if (this.#isEnded) {
      const message = `Cannot use connector "${id}": it was ended`;
      throw new ConnectorError(id, "SERVER_UNAVAILABLE", message, { hasNoEffect: true });
    }
    if (this.#connector !== undefined) return this.#connector;
    const start = performance.now();
    if (start < this.#retryAt) throw this.#error;
    try {
      const connector = this.#options.make();
      this.#connector = connector;
      for (const listener of this.#listeners.keys())
        this.#listeners.set(listener, connector.onChange(listener));
      return connector;
    } catch (error) {
      if (error instanceof ConnectorError) this.#error = error;
      throw this.#error;
    } finally {
      const end = performance.now();
      this.#retryAt = end + (end - start) * REST;
    }
  }
}
