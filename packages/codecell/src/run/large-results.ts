/**
 * Runs on the host. LargeResults: what the large results of runs were read from, for whoever shows them to a model.
 *
 * - It knows a result as long as somebody has it, and only if the result was read in pieces.
 * - Nobody may have changed the result since: ask as soon as the run has ended.
 */
import type { Json } from "../contract/value.ts";
import type { LargeJson } from "../value/json-text.ts";

const known = new WeakMap<object, LargeJson>();

export function noteLargeResult(value: Json, read: LargeJson): void {
  if (typeof value === "object" && value !== null) known.set(value, read);
}

/** Gives it once, so that a result that is kept does not keep its text too. */
export function takeLargeResult(value: Json): LargeJson | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const read = known.get(value);
  known.delete(value);
  return read;
}
