/**
 * set: other connectors, such as those of another configuration, as one connector. Runs on the host.
 *
 * - Tools, prompts and resources of a member are `<member>.<name>`. All that a member is asked is asked with the caller's
 *   signal, and all that it gives is given as it is.
 * - A member that is down keeps no other from being used. `check` says which are down, and why.
 * - No set is among its own members, nor among those of its members.
 */
import { createHash } from "node:crypto";
import { bounded } from "../backend/bounded.ts";
import type {
  BackendOutput,
  BackendRequest,
  BackendTool,
  Card,
  ChangedList,
  Connector,
  Context,
  Facts,
  Readiness,
  ToolRequest,
} from "../contract/connector.ts";
import { ConnectorError } from "../contract/connector-error.ts";
import type { Lists, Member } from "./member.ts";
import { problemWithIds, splitName } from "./member-names.ts";
import { Members, misconfigured, type OpenMembers } from "./members.ts";
import { type Question, SetContext } from "./set-context.ts";

interface SetCommonOptions {
  /** The name by which programs know the set. */
  readonly id: string;
  readonly card: Card;
  /** How long a member may take to list what it has, or to be checked, before it counts as down. 30 seconds if absent. */
  readonly memberTimeoutMs?: number;
  /** For how long a member that was down is not asked for its lists. 5 seconds if absent. */
  readonly retryMs?: number;
}

export interface SetOfConnectors extends SetCommonOptions {
  readonly connectors: readonly Connector[];
  /** Whether the connectors end with the set. They stay with whoever made them if absent. */
  readonly owned?: boolean;
}

export interface OpenedSet extends SetCommonOptions {
  /** Gives the connectors when somebody first asks. They end with the set. */
  readonly open: OpenMembers;
}

export type SetOptions = SetOfConnectors | OpenedSet;

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_RETRY_MS = 5000;
/** The longest time that a timer can wait. */
const LONGEST_MS = 2_147_483_647;
const MOST_TOLD = 20;
const LONGEST_TOLD = 300;

/** Throws a `ConnectorError` with the code `CONFIG_INVALID` when the connectors do not fit together. */
export function set(options: SetOptions): Connector {
  return new SetConnector(options);
}

class SetConnector implements Connector {
  readonly id: string;
  readonly kind = "set" as const;
  readonly card: Card;
  readonly context: Context;
  readonly #timeoutMs: number;
  readonly #members: Members;
  readonly #listeners = new Set<(list: ChangedList) => void>();
  /** The members whose tools were listed last. */
  #listed: string | undefined;

  constructor(options: SetOptions) {
    const { id, card, memberTimeoutMs = DEFAULT_TIMEOUT_MS, retryMs = DEFAULT_RETRY_MS } = options;
    for (const [name, value, least] of [
      ["memberTimeoutMs", memberTimeoutMs, 1],
      ["retryMs", retryMs, 0],
    ] as const) {
      if (!(value >= least && value <= LONGEST_MS))
        throw misconfigured(id, `"${name}" is ${value}, it has to be from ${least} to ${LONGEST_MS}`);
    }
    if ("open" in options === "connectors" in options)
      throw misconfigured(id, 'it needs either "connectors" or "open"');
    const given = "connectors" in options ? [...options.connectors] : [];
    const problem = problemWithIds(given.map((one) => one.id));
    if (problem !== undefined) throw misconfigured(id, problem);
    [this.id, this.card, this.#timeoutMs] = [id, card, memberTimeoutMs];
    this.#members = new Members({
      set: id,
      timeoutMs: memberTimeoutMs,
      retryMs,
      open: "open" in options ? options.open : () => Promise.resolve(given),
      owned: "open" in options || options.owned === true,
      cyclesOf: (connectors) => connectors.filter((one) => this.#isIn(one)),
      onChange: (list) => this.#tell(list),
    });
    this.context = new SetContext({
      set: id,
      list: (name, request) => this.#list(name, request),
      ask: (question, request) => this.#ask(question, request),
    });
  }

  get facts(): Facts {
    const members = this.#members.opened.map(({ connector }) => connector);
    if (members.length === 0) return { memberTimeoutMs: this.#timeoutMs };
    const kinds = [...new Set(members.map(({ kind }) => kind))].sort();
    return { memberTimeoutMs: this.#timeoutMs, members: members.length, kinds: kinds.join(", ") };
  }

  /** That of the members, as soon as they were opened. */
  get identity(): string {
    const members = this.#members.opened
      .map(({ connector }) => [connector.id, connector.identity] as const)
      .sort(([one], [other]) => (one < other ? -1 : 1));
    const place = JSON.stringify([this.id, members]);
    return `set:${createHash("sha256").update(place).digest("hex").slice(0, 32)}`;
  }

  /** Of members that are not trusted, no hint is passed on that needs trust. */
  get isTrusted(): boolean {
    return this.#members.opened.some(({ connector }) => connector.isTrusted);
  }

  async check({ signal }: BackendRequest): Promise<Readiness> {
    const members = await this.#open("the check", signal);
    const either = AbortSignal.any([signal, this.#members.ended]);
    const checks = await Promise.allSettled(members.map((member) => member.check(either)));
    this.#refuseStopped("the check", signal);
    const ready = valuesOf(checks);
    const down = members.flatMap((member, at): [string, ConnectorError][] => {
      const check = checks[at];
      return check?.status === "rejected" ? [[member.id, check.reason as ConnectorError]] : [];
    });
    if (ready.length === 0 && down.length > 0)
      throw this.#allDown(
        "the check",
        down.map(([, error]) => error),
      );
    const sum = (numberOf: (one: Readiness) => number | undefined): number =>
      ready.reduce((all, one) => all + (numberOf(one) ?? 0), 0);
    const told = down
      .slice(0, MOST_TOLD)
      .map(([id, { code, message }]) => [`down: ${id}`, cut(`${code}: ${message}`)] as const);
    return {
      tools: sum((one) => one.tools),
      resources: sum((one) => one.resources),
      resourceTemplates: sum((one) => one.resourceTemplates),
      prompts: sum((one) => one.prompts),
      about: { members: members.length, down: down.length, ...Object.fromEntries(told) },
    };
  }

  tools(request: BackendRequest): Promise<readonly BackendTool[]> {
    return this.#list("tools", request);
  }

  callTool(
    name: string,
    input: Readonly<Record<string, unknown>>,
    request: ToolRequest,
  ): Promise<BackendOutput> {
    const put = ({ connector }: Member, own: string, signal: AbortSignal): Promise<BackendOutput> =>
      connector.callTool(own, input, { ...request, signal });
    return this.#ask({ what: `calling "${name}"`, name, code: "TOOL_NOT_FOUND", put }, request);
  }

  onChange(listener: (list: ChangedList) => void): () => void {
    const own = (list: ChangedList): void => listener(list);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners.clear();
    await this.#members[Symbol.asyncDispose]();
  }

  async #list<Name extends keyof Lists>(
    name: Name,
    { signal }: BackendRequest,
  ): Promise<readonly Lists[Name][]> {
    const what = `listing the ${name}`;
    const members = await this.#open(what, signal);
    const either = AbortSignal.any([signal, this.#members.ended]);
    const lists = await Promise.allSettled(members.map((member) => member.list(name, either)));
    this.#refuseStopped(what, signal);
    const errors = lists.flatMap((one) => (one.status === "rejected" ? [one.reason as ConnectorError] : []));
    // That nobody could answer is not the same as that nobody has any.
    if (errors.length > 0 && errors.length === members.length) throw this.#allDown(what, errors);
    if (name === "tools") this.#noteListed(members, lists);
    return valuesOf(lists).flat();
  }

  async #ask<T>({ what, name, code, put }: Question<T>, { signal }: BackendRequest): Promise<T> {
    const members = await this.#open(what, signal);
    const split = splitName(name);
    const member = members.find(({ id }) => id === split?.member);
    if (split === undefined || member === undefined) {
      const message = `Cannot go on with ${what}: "${this.id}" has no member for "${name}", names begin with a member's and a dot`;
      throw new ConnectorError(this.id, code, message, { hasNoEffect: true });
    }
    const either = AbortSignal.any([signal, this.#members.ended]);
    try {
      return await put(member, split.own, either);
    } catch (error) {
      throw member.failed(what, error, either);
    }
  }

  /** The members, within the time that one of them has. */
  async #open(what: string, signal: AbortSignal): Promise<readonly Member[]> {
    this.#refuseStopped(what, signal);
    const either = AbortSignal.any([signal, this.#members.ended]);
    const bound = { connector: this.id, what, timeoutMs: this.#timeoutMs, signal: either };
    try {
      return await bounded({ ...bound, lateCode: "SERVER_START_TIMEOUT" }, () => this.#members.open());
    } finally {
      this.#refuseStopped(what, signal);
    }
  }

  #refuseStopped(what: string, signal: AbortSignal): void {
    if (this.#members.ended.aborted) {
      const message = `Cannot go on with ${what}: connector "${this.id}" was ended`;
      throw new ConnectorError(this.id, "SERVER_UNAVAILABLE", message, { hasNoEffect: true });
    }
    if (!signal.aborted) return;
    const message = `Stopped ${what}: nobody waits for it any more`;
    throw new ConnectorError(this.id, "CALL_ABORTED", message, { cause: signal.reason, hasNoEffect: true });
  }

  #allDown(what: string, errors: readonly ConnectorError[]): ConnectorError {
    const codes = new Set(errors.map(({ code }) => code));
    const [only] = codes;
    const code = codes.size === 1 && only !== undefined ? only : "SERVER_UNAVAILABLE";
    const words = errors.slice(0, MOST_TOLD).map(({ message }) => cut(message));
    const message = `Cannot go on with ${what}: no member of "${this.id}" can be used; ${words.join("; ")}`;
    return new ConnectorError(this.id, code, message, { cause: new AggregateError(errors) });
  }

  /** Whoever has listed the tools has those of other members than before: others learn of it. */
  #noteListed(members: readonly Member[], outcomes: readonly PromiseSettledResult<unknown>[]): void {
    const ready = members.filter((_, at) => outcomes[at]?.status === "fulfilled").map(({ id }) => id);
    const listed = JSON.stringify(ready);
    const before = this.#listed;
    this.#listed = listed;
    if (before !== undefined && before !== listed) this.#tell("tools");
  }

  #tell(list: ChangedList): void {
    for (const listener of this.#listeners) listener(list);
  }

  /** Whether this is a connector, or among those that are known to be its members. */
  #isIn(connector: Connector): boolean {
    const open = new Set([connector]);
    // What is added on the way is visited too.
    for (const one of open) {
      if (one === this) return true;
      if (#members in one) for (const member of one.#members.opened) open.add(member.connector);
    }
    return false;
  }
}

function valuesOf<T>(outcomes: readonly PromiseSettledResult<T>[]): readonly T[] {
  return outcomes.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
}

function cut(text: string): string {
  return text.length > LONGEST_TOLD ? `${text.slice(0, LONGEST_TOLD).toWellFormed()}…` : text;
}
