/** Shape: small predicates that the checkers of parsed messages and bytes are made of. Runs anywhere. */

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

export function isArrayOf(value: unknown, isItem: (item: unknown) => boolean): value is unknown[] {
  if (!Array.isArray(value)) return false;
  // By index, so that holes are checked too; the loop ends at the first item that does not fit.
  for (let index = 0; index < value.length; index++) if (!isItem(value[index])) return false;
  return true;
}

/** A safe integer, 0 or greater. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** A finite number, 0 or greater. */
export function isDuration(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && Number.isFinite(value);
}

export function isText(value: unknown): value is string {
  return typeof value === "string";
}
