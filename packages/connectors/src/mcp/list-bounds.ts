/**
 * Runs on the host. ListBounds: looks at the pages of a list while they come in.
 *
 * - Entries that are none are taken out before the client fails the list for them, and are told of.
 * - A list that has too many items, or whose pages repeat, is read no further.
 */
import {
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  SdkError,
  SdkErrorCode,
} from "@modelcontextprotocol/client";
import { type EntryRules, faultOfEntry } from "./entry-faults.ts";

/** The names of the fields in which servers send their lists. */
export type ListName = "tools" | "resources" | "resourceTemplates" | "prompts";

/** More than any server offers to people or models. */
const MAX_LIST_ITEMS = 20_000;

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
  readonly end: AbortController;
  readonly leftOut: LeftOut;
  readonly cursors: Set<string>;
  last: { readonly cursor: string; readonly items: readonly unknown[] } | undefined;
  items: number;
}

export class ListBounds {
  readonly #rules: () => EntryRules;
  readonly #reading = new Map<string, Reading>();

  constructor(rules: () => EntryRules) {
    this.#rules = rules;
  }

  async within<Page>(
    name: ListName,
    signal: AbortSignal,
    ask: (signal: AbortSignal) => Promise<Page>,
  ): Promise<Listed<Page>> {
    const reading: Reading = {
      end: new AbortController(),
      leftOut: new LeftOut(),
      cursors: new Set(),
      last: undefined,
      items: 0,
    };
    const { end, leftOut } = reading;
    this.#reading.set(name, reading);
    try {
      return { page: await ask(AbortSignal.any([signal, end.signal])), leftOut };
    } catch (error) {
      throw end.signal.aborted ? end.signal.reason : error;
    } finally {
      if (this.#reading.get(name) === reading) this.#reading.delete(name);
    }
  }

  /** Every message of the server, before the client reads it. */
  see(message: JSONRPCMessage): void {
    if (this.#reading.size === 0 || !isJSONRPCResultResponse(message)) return;
    const result = message.result as Record<string, unknown>;
    for (const [name, reading] of this.#reading) {
      const items: unknown = result[name];
      if (Array.isArray(items)) this.#page(name as ListName, items, result, reading);
    }
  }

  #page(name: ListName, items: readonly unknown[], result: Record<string, unknown>, reading: Reading): void {
    const { end, leftOut } = reading;
    const first = reading.items + 1;
    reading.items += items.length;
    if (reading.items > MAX_LIST_ITEMS) {
      end.abort(new SdkError(SdkErrorCode.ListPaginationExceeded, "The list has too many items"));
      return;
    }
    const rules = this.#rules();
    const faults = items.map((item) => faultOfEntry(name, item, rules));
    if (faults.some((fault) => fault !== undefined)) {
      result[name] = items.filter((_, at) => faults[at] === undefined);
      for (const [at, fault] of faults.entries())
        if (fault !== undefined) leftOut.add(`entry ${first + at} ${fault}`);
    }
    this.#cursor(result["nextCursor"], items, reading);
  }

  /** A server that gives its only page again and again means that there is no other: the client ends such a list. */
  #cursor(cursor: unknown, items: readonly unknown[], reading: Reading): void {
    const { last, cursors, end } = reading;
    if (typeof cursor !== "string") return;
    const isSame = last?.cursor === cursor && JSON.stringify(last.items) === JSON.stringify(items);
    if (cursors.has(cursor) && !isSame)
      end.abort(new SdkError(SdkErrorCode.ListPaginationExceeded, "The list repeats its pages"));
    reading.last = { cursor, items };
    cursors.add(cursor);
  }
}
