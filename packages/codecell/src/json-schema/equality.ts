/** Equality of JSON values: by a text that equal values share, so that a list is compared with itself in linear time. */
import type { Judging } from "./judging.ts";

/** The order of keys does not matter; what is not printed is not there. */
export function canonicalText(given: unknown, judging: Judging): string {
  judging.spend(1);
  const value = typeof given === "object" && given !== null ? asPrinted(given) : given;
  if (typeof value === "string") {
    judging.spend(value.length >> 5);
    return JSON.stringify(value);
  }
  if (typeof value !== "object" || value === null) {
    // 0 and -0 are the same number.
    return typeof value === "number" ? String(value) : (JSON.stringify(value) ?? "null");
  }
  if (Array.isArray(value)) return `[${value.map((item) => canonicalText(item, judging)).join(",")}]`;
  const members: string[] = [];
  const keys = Object.keys(value).sort();
  judging.spend(2 * keys.length);
  for (const key of keys) {
    const member = (value as Record<string, unknown>)[key];
    if (isPrinted(member)) members.push(`${JSON.stringify(key)}:${canonicalText(member, judging)}`);
  }
  return `{${members.join(",")}}`;
}

/** An output may be an object that prints itself as something else, as dates do. */
export function asPrinted(value: object): unknown {
  const { toJSON } = value as { readonly toJSON?: unknown };
  return typeof toJSON === "function" ? (toJSON.call(value) as unknown) : value;
}

/** Whether JSON has the value of a member; it leaves out the others. */
export function isPrinted(value: unknown): boolean {
  return value !== undefined && typeof value !== "function" && typeof value !== "symbol";
}
