/**
 * Members: the connectors of a set, opened when somebody first asks. Runs on the host.
 *
 * - They are opened once. If they cannot be, the next one to ask opens them again.
 * - Who opened them ends them: a set that was given connectors leaves them to whoever made them, unless it is told to own
 *   them.
 */
import type { ChangedList, Connector } from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import { toConnectorError } from "../tools/unexpected.ts";
import { problemWithIds } from "./member-names.ts";
import { Member, type MemberOptions } from "./member.ts";

export type OpenMembers = (request: { readonly signal: AbortSignal }) => Promise<readonly Connector[]>;

export interface MembersOptions extends MemberOptions {
  readonly open: OpenMembers;
  readonly owned: boolean;
  /** Those of the connectors that have the set itself among their members. */
  readonly cyclesOf: (connectors: readonly Connector[]) => readonly Connector[];
  readonly onChange: (list: ChangedList) => void;
}

export class Members implements AsyncDisposable {
  readonly #options: MembersOptions;
  readonly #ended = new AbortController();
  readonly #endings: (() => void)[] = [];
  #opening: Promise<readonly Member[]> | undefined;
  #opened: readonly Member[] = [];
  #disposing: Promise<void> | undefined;

  constructor(options: MembersOptions) {
    this.#options = options;
  }

  /** Aborted when the set ends. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** None before they were opened. */
  get opened(): readonly Member[] {
    return this.#opened;
  }

  /** Not within a time: whoever asks has one. */
  open(): Promise<readonly Member[]> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  async #open(): Promise<readonly Member[]> {
    const { set, open, cyclesOf, onChange } = this.#options;
    const { signal } = this.#ended;
    let connectors: readonly Connector[] = [];
    try {
      connectors = [...(await open({ signal }))];
      signal.throwIfAborted();
      const problem = problemWithIds(connectors.map(({ id }) => id));
      if (problem !== undefined) throw misconfigured(set, problem);
      if (cyclesOf(connectors).length > 0)
        throw misconfigured(set, "it is among its own members, or among theirs");
    } catch (thrown) {
      // Whoever has this set among its members ends it, and would be waited for in a circle.
      const cycles = new Set(cyclesOf(connectors));
      await this.#end(connectors.filter((one) => !cycles.has(one))).catch(() => {});
      throw toConnectorError(set, `open the connectors of "${set}"`, thrown, signal);
    }
    const members = connectors.map((connector) => new Member(connector, this.#options));
    for (const member of members) {
      this.#endings.push(
        member.connector.onChange((list) => {
          member.forget();
          onChange(list);
        }),
      );
    }
    this.#opened = members;
    return members;
  }

  async #dispose(): Promise<void> {
    this.#ended.abort(new DOMException("The set was ended", "AbortError"));
    for (const end of this.#endings.splice(0)) end();
    // What is opened too late is ended by its opening, which may never come: nobody waits for that.
    await this.#end(this.#opened.map(({ connector }) => connector));
  }

  /** One that cannot be ended keeps no other from being ended. */
  async #end(connectors: readonly Connector[]): Promise<void> {
    if (!this.#options.owned) return;
    const ends = await Promise.allSettled(connectors.map(async (one) => one[Symbol.asyncDispose]()));
    const errors = ends.flatMap((end): unknown[] => (end.status === "rejected" ? [end.reason] : []));
    if (errors.length > 0) throw new AggregateError(errors, "Cannot end all connectors of a set");
  }
}

export function misconfigured(set: string, problem: string): ConnectorError {
  const message = `Cannot use the set "${set}": ${problem}`;
  return new ConnectorError(set, "CONFIG_INVALID", message, { hasNoEffect: true });
}
