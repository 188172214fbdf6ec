/**
 * Runs on the host. ListBounds: looks at the pages of a list while they come in.
 *
 * - Entries that are none are taken out before the client fails the list for them, and are told of.
 * - A list that has too many items or characters, or whose pages repeat, is read no further.
 * - A page belongs to the reading that asked for it: there may be several of one list at a time.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import {
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  SdkError,
  SdkErrorCode,
} from "@modelcontextprotocol/client";
import { type EntryRules, faultOfEntry } from "./entry-faults.ts";
import { type AnswerId, FaultError } from "./faults.ts";

/** The names of the fields in which servers send their lists. */
export type ListName = "tools" | "resources" | "resourceTemplates" | "prompts";

/** More than any server offers to people or models. */
const MAX_LIST_ITEMS = 20_000;

/** No schema is nested like that, and the client reads each level in a call of its own. */
const MOST_DEPTH = 500;

/** What is told of the entries that were left out. */
const MOST_TOLD = 5;

export interface Listed<Page> {
  readonly page: Page;
  readonly leftOut: LeftOut;
}

/** Entries of one list that are not given on. */
export class LeftOut {
  readonly #told: string[] = [];
  #count = 0;

  add(what: string): void {
    this.#count++;
    if (this.#told.length < MOST_TOLD) this.#told.push(what);
  }

  /** Undefined if there are none. */
  get text(): string | undefined {
    if (this.#count === 0) return undefined;
    const more = this.#count - this.#told.length;
    return this.#told.join("; ") + (more === 0 ? "" : `; and ${more} more`);
  }
}

interface Reading {
  readonly name: ListName;
  /** Pages that were asked for, and did not come yet. */
  readonly open: Set<AnswerId>;
  readonly end: AbortController;
  readonly leftOut: LeftOut;
  readonly cursors: Set<string>;
  last: { readonly cursor: string; readonly items: string } | undefined;
  items: number;
  characters: number;
}

export class ListBounds {
  readonly #rules: () => EntryRules;
  readonly #mostCharacters: number;
  readonly #asking = new AsyncLocalStorage<Reading>();
  readonly #asked = new Map<AnswerId, Reading>();

  /** A list may be as long as one answer, however many pages it has. */
  constructor(rules: () => EntryRules, mostCharacters: number) {
    this.#rules = rules;
    this.#mostCharacters = mostCharacters;
  }

  async within<Page>(
    name: ListName,
    signal: AbortSignal,
    ask: (signal: AbortSignal) => Promise<Page>,
  ): Promise<Listed<Page>> {
    const reading: Reading = {
      name,
      open: new Set(),
      end: new AbortController(),
      leftOut: new LeftOut(),
      cursors: new Set(),
      last: undefined,
      items: 0,
      characters: 0,
    };
    const { end, leftOut } = reading;
    try {
      const page = await this.#asking.run(reading, async () => ask(AbortSignal.any([signal, end.signal])));
      return { page, leftOut };
    } catch (error) {
      throw end.signal.aborted ? end.signal.reason : error;
    } finally {
      for (const id of reading.open) this.#asked.delete(id);
    }
  }

  /** Every message to the server. */
  sent(message: JSONRPCMessage): void {
    const reading = this.#asking.getStore();
    if (reading === undefined || !isJSONRPCRequest(message)) return;
    reading.open.add(message.id);
    this.#asked.set(message.id, reading);
  }

  /** Every message of the server, before the client reads it. */
  see(message: JSONRPCMessage): void {
    if (this.#asked.size === 0 || !isJSONRPCResultResponse(message)) return;
    const reading = this.#asked.get(message.id);
    if (reading === undefined) return;
    this.#asked.delete(message.id);
    reading.open.delete(message.id);
    const result = message.result as Record<string, unknown>;
    const items: unknown = result[reading.name];
    if (Array.isArray(items)) this.#page(items, result, reading);
  }

  #page(items: readonly unknown[], result: Record<string, unknown>, reading: Reading): void {
    const { name, end, leftOut } = reading;
    const first = reading.items + 1;
    reading.items += items.length;
    if (reading.items > MAX_LIST_ITEMS) {
      end.abort(new SdkError(SdkErrorCode.ListPaginationExceeded, "The list has too many items"));
      return;
    }
    const rules = this.#rules();
    const flat = items.filter((item) => !isDeep(item));
    const text = JSON.stringify(flat);
    reading.characters += text.length;
    if (reading.characters > this.#mostCharacters) {
      end.abort(new FaultError("too-large"));
      return;
    }
    const kept = flat.length === items.length ? undefined : new Set(flat);
    const faults = items.map((item) =>
      kept?.has(item) === false ? "is nested too deep" : faultOfEntry(name, item, rules),
    );
    if (faults.some((fault) => fault !== undefined)) {
      result[name] = items.filter((_, at) => faults[at] === undefined);
      for (const [at, fault] of faults.entries())
        if (fault !== undefined) leftOut.add(`entry ${first + at} ${fault}`);
    }
    this.#cursor(result["nextCursor"], text, reading);
  }

  /** A server that gives its only page again and again means that there is no other: the client ends such a list. */
  #cursor(cursor: unknown, items: string, reading: Reading): void {
    const { last, cursors, end } = reading;
    if (typeof cursor !== "string") return;
    const isSame = last?.cursor === cursor && last.items === items;
    if (cursors.has(cursor) && !isSame)
      end.abort(new SdkError(SdkErrorCode.ListPaginationExceeded, "The list repeats its pages"));
    reading.last = { cursor, items };
    cursors.add(cursor);
  }
}

/** Without a step into another call for each level: that many calls there cannot be. */
function isDeep(item: unknown): boolean {
  let level: readonly unknown[] = [item];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_DEPTH) return true;
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return false;
}
