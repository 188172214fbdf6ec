/**
 * Member: a connector of a set, and what was learnt of it. Runs on the host.
 *
 * - Whoever asks for a list while it is on its way waits for the same one. A set that has itself among its members,
 *   behind whatever, waits for itself and runs out of time: it does not ask without end.
 * - After a failure the member is left alone for a while: one that takes long to fail does not hold up the others.
 */
import { bounded } from "../backend/bounded.ts";
import { CachedList } from "../backend/cached-list.ts";
import type {
  BackendPrompt,
  BackendRequest,
  BackendResource,
  BackendResourceTemplate,
  BackendTool,
  Connector,
  Context,
  Readiness,
} from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { toConnectorError } from "../tools/unexpected.ts";
import { nameInSet } from "./member-names.ts";
import { memberTool } from "./member-tool.ts";

/** What a set can list, and what its members give of it. */
export interface Lists {
  readonly tools: BackendTool;
  readonly resources: BackendResource;
  readonly resourceTemplates: BackendResourceTemplate;
  readonly prompts: BackendPrompt;
}

export interface MemberOptions {
  /** The id of the set. */
  readonly set: string;
  /** How long the member may take for a list. */
  readonly timeoutMs: number;
  /** For how long it is left alone after a failure. */
  readonly retryMs: number;
}

type Kept = { readonly [Name in keyof Lists]: CachedList<Lists[Name]> };

interface Failure {
  readonly error: ConnectorError;
  readonly until: number;
}

const WORDS: Readonly<Record<keyof Lists, string>> = {
  tools: "the tools",
  resources: "the resources",
  resourceTemplates: "the resource templates",
  prompts: "the prompts",
};

export class Member {
  readonly connector: Connector;
  readonly #options: MemberOptions;
  readonly #lists: Kept;
  /** A tool is made once, so that its schemas are read once. */
  readonly #made = new WeakMap<BackendTool, BackendTool>();
  readonly #failures = new Map<keyof Lists, Failure>();

  constructor(connector: Connector, options: MemberOptions) {
    this.connector = connector;
    this.#options = options;
    const { id } = connector;
    const fromContext = <Item>(
      load: (context: Context, request: BackendRequest) => Promise<readonly Item[]>,
    ): CachedList<Item> =>
      shared(async (request) => (connector.context === undefined ? [] : load(connector.context, request)));
    this.#lists = {
      tools: shared(async (request) => this.#toolsOf(await connector.tools(request))),
      resources: fromContext(async (context, request) =>
        (await context.resources(request)).map((one) =>
          Object.assign({}, one, { uri: nameInSet(id, one.uri) }),
        ),
      ),
      resourceTemplates: fromContext(async (context, request) =>
        (await context.resourceTemplates(request)).map((one) =>
          Object.assign({}, one, { uriTemplate: nameInSet(id, one.uriTemplate) }),
        ),
      ),
      prompts: fromContext(async (context, request) =>
        (await context.prompts(request)).map((one) =>
          Object.assign({}, one, { name: nameInSet(id, one.name) }),
        ),
      ),
    };
  }

  get id(): string {
    return this.connector.id;
  }

  /** Rejects at once for a while after that list has failed. */
  async list<Name extends keyof Lists>(name: Name, signal: AbortSignal): Promise<readonly Lists[Name][]> {
    const failure = this.#failures.get(name);
    if (failure !== undefined && performance.now() < failure.until) throw failure.error;
    this.#failures.delete(name);
    const list: CachedList<Lists[Name]> = this.#lists[name];
    try {
      return await this.#asked(`listing ${WORDS[name]}`, signal, (told) => list.get({ signal: told }));
    } catch (error) {
      const until = performance.now() + this.#options.retryMs;
      if (!signal.aborted) this.#failures.set(name, { error: error as ConnectorError, until });
      throw error;
    }
  }

  /** A member that is found to be there is no longer left alone. */
  async check(signal: AbortSignal): Promise<Readiness> {
    const ready = await this.#asked("the check", signal, (told) => this.connector.check({ signal: told }));
    this.#failures.clear();
    return ready;
  }

  /** Asks the member within its time. */
  async #asked<T>(what: string, signal: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { timeoutMs } = this.#options;
    try {
      const bound = {
        connector: this.id,
        what,
        timeoutMs,
        signal,
        lateCode: "SERVER_START_TIMEOUT" as const,
      };
      return await bounded(bound, ask);
    } catch (error) {
      throw this.failed(what, error, signal);
    }
  }

  /** The error of a member, as one of its set. */
  failed(what: string, thrown: unknown, signal: AbortSignal): ConnectorError {
    const { set } = this.#options;
    const { code, message, details, hasNoEffect } = toConnectorError(
      this.id,
      `go on with ${what}`,
      thrown,
      signal,
    );
    return new ConnectorError(set, code, `"${this.id}" of "${set}": ${message}`, {
      cause: thrown,
      hasNoEffect,
      ...(details === undefined ? {} : { details }),
    });
  }

  /** Called when the member says that a list has changed. */
  forget(): void {
    this.#failures.clear();
    for (const list of Object.values(this.#lists)) (list as CachedList<unknown>).forget();
  }

  #toolsOf(tools: readonly BackendTool[]): readonly BackendTool[] {
    const names = new Set<string>();
    return tools.map((tool) => {
      if (names.has(tool.name)) {
        const message = `Cannot use its tools: two of them are called "${tool.name.slice(0, 100)}"`;
        throw new ConnectorError(this.id, "DOWNSTREAM_PROTOCOL_ERROR", message, { hasNoEffect: true });
      }
      names.add(tool.name);
      let made = this.#made.get(tool);
      if (made === undefined) this.#made.set(tool, (made = memberTool(this.connector, tool)));
      return made;
    });
  }
}

/** Kept by the member itself: here it is only shared while it is on its way. */
function shared<Item>(load: (request: BackendRequest) => Promise<readonly Item[]>): CachedList<Item> {
  return new CachedList({ ttlMs: 0, load: async (signal) => load({ signal }) });
}
