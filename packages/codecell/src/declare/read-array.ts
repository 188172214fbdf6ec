/**
 * Read array: turns an array schema into an array or a tuple. The dialects have two ways to write a tuple's items. Runs
 * anywhere.
 */
import { type Node, plain, UNKNOWN, type Use } from "./node.ts";
import type { SchemaPlace, SchemaReader } from "./read-schema.ts";
import { own, type SchemaObject } from "../contract/schema-object.ts";
import { listOf } from "./references.ts";

const MOST_ITEMS = 200;

export function readArray(
  reader: SchemaReader,
  schema: SchemaObject,
  place: SchemaPlace,
  hint: string | undefined,
): Node {
  const [first, rest] = split(schema);
  if (first === undefined) return { kind: "array", item: reader.readItem(rest ?? true, place, false, hint) };
  if (first.length > MOST_ITEMS) return { kind: "array", item: plain(UNKNOWN) };
  const [least, most] = [own(schema, "minItems"), own(schema, "maxItems")];
  const required = typeof least === "number" ? Math.min(Math.max(0, Math.floor(least)), first.length) : 0;
  const items = first.map((item, index) => reader.readItem(item, place, index >= required));
  const isClosed = rest === false || (typeof most === "number" && most <= items.length);
  const more: Use | undefined = isClosed ? undefined : reader.readItem(rest ?? true, place, false);
  return { kind: "tuple", hint, items, required, rest: more };
}

/** The schemas of the first items, if given, and the schema of the other items. */
function split(schema: SchemaObject): readonly [readonly unknown[] | undefined, unknown] {
  const [prefix, items] = [own(schema, "prefixItems"), own(schema, "items")];
  if (Array.isArray(prefix) && prefix.length > 0)
    return [listOf(prefix), Array.isArray(items) ? undefined : items];
  if (Array.isArray(items) && items.length > 0) return [listOf(items), own(schema, "additionalItems")];
  return [undefined, Array.isArray(items) ? true : items];
}
