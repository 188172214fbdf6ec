/**
 * LargeResults: what the large results of runs were read from, for whoever prints them or shows them to a model. Runs
 * anywhere.
 *
 * - It knows a result as long as somebody has it, and only if the result was read in pieces.
 * - Nobody may have changed the result since: ask as soon as the run has ended.
 */
import type { Json } from "../contract/value.ts";
import type { LargeJson } from "./json-text.ts";

const known = new WeakMap<object, LargeJson>();

export function noteLargeResult(value: Json, read: LargeJson): void {
  if (typeof value === "object" && value !== null) known.set(value, read);
}

/** The text of a large result. Undefined for everything else. */
export function textOfLargeResult(value: object): string | undefined {
  return known.get(value)?.json;
}

/** Gives it once, so that a result that is kept does not keep its text too. */
export function takeLargeResult(value: Json): LargeJson | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const read = known.get(value);
  known.delete(value);
  return read;
}
