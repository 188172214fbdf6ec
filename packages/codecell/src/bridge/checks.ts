/** Checks: what messages and snapshots are made of, told from anything else. Never throw. */

export function isArrayOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  if (!Array.isArray(value)) return false;
  // By index: holes are visited too, and the first of them ends it.
  for (let index = 0; index < value.length; index++) if (!isItem(value[index])) return false;
  return true;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function isDuration(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && Number.isFinite(value);
}
