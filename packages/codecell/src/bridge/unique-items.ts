/**
 * Unique items: the keyword `uniqueItems` in linear time, for the case that matters: everything is unique.
 *
 * A value whose lists have no equal items anywhere satisfies the keyword wherever a schema puts it, so such a value can
 * be checked against the schema without it. Only other values need the comparison of all items with each other.
 */

/** Keywords whose members are named by the schema's author, not by JSON Schema. */
const NAMED_MEMBERS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);
const VALUES: ReadonlySet<string> = new Set(["enum", "const", "default", "examples"]);

type SchemaObject = Readonly<Record<string, unknown>>;

export function withoutUniqueItems(schema: SchemaObject): SchemaObject {
  return strip(schema, false) as SchemaObject;
}

function strip(schema: unknown, areNames: boolean): unknown {
  if (Array.isArray(schema)) return schema.map((item) => strip(item, false));
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([key, value]) => areNames || key !== "uniqueItems" || typeof value !== "boolean")
      .map(([key, value]) => [
        key,
        !areNames && VALUES.has(key) ? value : strip(value, !areNames && NAMED_MEMBERS.has(key)),
      ]),
  );
}

/** Whether no list anywhere in the value has two equal items. */
export function hasOnlyUniqueItems(value: unknown): boolean {
  return canonicalText(value) !== undefined;
}

/** A text that equal values share, whatever the order of their keys; undefined when a list has equal items. */
function canonicalText(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) {
    const texts = value.map(canonicalText);
    if (texts.includes(undefined) || new Set(texts).size < texts.length) return undefined;
    return `[${texts.join(",")}]`;
  }
  const members: string[] = [];
  for (const [key, member] of Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const text = canonicalText(member);
    if (text === undefined) return undefined;
    members.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${members.join(",")}}`;
}
