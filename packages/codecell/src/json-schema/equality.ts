/**
 * Equality of JSON values: equal values have the same canonical text, so duplicates in a list are found in linear time.
 * Runs anywhere.
 */
import type { Judging } from "./judging.ts";

/** The order of keys does not matter; members that JSON leaves out are left out. */
export function canonicalText(value: unknown, judging: Judging): string {
  const parts: string[] = [];
  append(value, judging, parts);
  return parts.join("");
}

/** Appends to one list, so that nested text is copied once and not at each level. */
function append(given: unknown, judging: Judging, parts: string[]): void {
  const value = typeof given === "object" && given !== null ? asPrinted(given) : given;
  judging.spend(1);
  if (typeof value === "string") parts.push(quoted(value, judging));
  else if (typeof value !== "object" || value === null) {
    // 0 and -0 are the same number. NaN and the infinities print as null.
    parts.push(typeof value === "boolean" || Number.isFinite(value) ? String(value) : "null");
  } else if (Array.isArray(value)) {
    parts.push("[");
    for (const item of value) {
      append(item, judging, parts);
      parts.push(",");
    }
    parts.push("]");
  } else {
    const names = Object.keys(value);
    for (const name of names) judging.spend(2 + (name.length >> 4));
    parts.push("{");
    for (const name of names.sort()) {
      const member = (value as Record<string, unknown>)[name];
      if (!isPrinted(member)) continue;
      parts.push(JSON.stringify(name), ":");
      append(member, judging, parts);
      parts.push(",");
    }
    parts.push("}");
  }
}

function quoted(text: string, judging: Judging): string {
  judging.spend(text.length >> 4);
  return JSON.stringify(text);
}

/** Applies `toJSON`: an output may print itself as something else, as dates do. */
export function asPrinted(value: object): unknown {
  const { toJSON } = value as { readonly toJSON?: unknown };
  return typeof toJSON === "function" ? (toJSON.call(value) as unknown) : value;
}

/** Whether JSON prints a member with this value; it leaves out other members. */
export function isPrinted(value: unknown): boolean {
  return value !== undefined && typeof value !== "function" && typeof value !== "symbol";
}
