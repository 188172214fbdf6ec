/**
 * Runs on the host. Pages of lists, as handles give them.
 *
 * - A cursor is the place of the next item, as digits. Text that is no cursor begins at the first page.
 * - A limit above the largest one is lowered. A limit that is no count of items is refused: an empty page would read as
 *   an empty list.
 */
import type { Json } from "codecell";
import { ConnectorError } from "../contract/connector-error.ts";

export const LIST_PAGE = 50;
export const SEARCH_PAGE = 20;
const LARGEST_PAGE = 50;

export interface Page {
  readonly from: number;
  readonly limit: number;
}

/** `given` is what a program passed: { limit, cursor }, or nothing. */
export function parsePage(connector: string, given: unknown, otherwise: number): Page {
  const refuse = (problem: string): never => {
    const message = `Cannot read a list of "${connector}": ${problem}`;
    throw new ConnectorError(connector, "REQUEST_INVALID", message, { hasNoEffect: true });
  };
  if (given === undefined || given === null) return { from: 0, limit: otherwise };
  if (typeof given !== "object" || Array.isArray(given)) return refuse("give { limit, cursor } or nothing");
  const { limit, cursor } = given as { readonly limit?: unknown; readonly cursor?: unknown };
  const isLeftOut = limit === undefined || limit === null;
  if (!isLeftOut && !(Number.isInteger(limit) && (limit as number) > 0))
    refuse(`limit is ${JSON.stringify(limit)}, give a whole number from 1 to ${LARGEST_PAGE}`);
  const count = isLeftOut ? otherwise : (limit as number);
  return { from: placeOf(cursor), limit: Math.min(count, LARGEST_PAGE) };
}

const CURSOR = /^\d{1,15}$/u;

function placeOf(cursor: unknown): number {
  return typeof cursor === "string" && CURSOR.test(cursor) ? Number(cursor) : 0;
}

/**
 * One page of a list, as a program gets it. The list begins at the first page, and has at least one more item than the
 * page where there are more.
 */
export function toPage<Item>(
  items: readonly Item[],
  { from, limit }: Page,
  toSummary: (item: Item) => Json,
): Json {
  const end = from + limit;
  const page = items.slice(from, end).map((item) => toSummary(item));
  return end < items.length ? { items: page, nextCursor: String(end), truncated: true } : { items: page };
}
