/**
 * Directed schema: adapts a schema to one direction, input or output. Runs anywhere.
 *
 * - Read-only properties belong to outputs and write-only properties to inputs. In the other direction they need not be
 *   given, even if they are required: declarations leave them out there, so a judge must not demand them.
 */
import type { Direction } from "../contract/standard-schema.ts";

type Schema = Readonly<Record<string, unknown>>;

/** Returns the same object if nothing depends on the direction. */
export function asGiven(schema: Schema, direction: Direction): Schema {
  const keyword = direction === "input" ? "readOnly" : "writeOnly";
  const isElsewhere = (property: unknown): boolean => {
    const resolved = resolve(property, schema);
    return isObject(resolved) && resolved[keyword] === true;
  };
  function directed(value: unknown): unknown {
    if (Array.isArray(value)) {
      const items = value.map(directed);
      return items.some((item, index) => item !== value[index]) ? items : value;
    }
    if (!isObject(value)) return value;
    let changed: Record<string, unknown> | undefined;
    for (const [name, part] of Object.entries(value)) {
      const other = VALUES.has(name) ? part : directed(part);
      if (other !== part) (changed ??= { ...value })[name] = other;
    }
    const { properties, required } = value;
    if (isObject(properties) && Array.isArray(required)) {
      const needed = required.filter(
        (name) =>
          !(typeof name === "string" && Object.hasOwn(properties, name) && isElsewhere(properties[name])),
      );
      if (needed.length < required.length) (changed ??= { ...value })["required"] = needed;
    }
    return changed ?? value;
  }
  return directed(schema) as Schema;
}

/** Keywords whose values are data that may look like a schema. */
const VALUES: ReadonlySet<string> = new Set(["const", "enum", "default", "example", "examples"]);

/** Follows references within the schema, at most ten in a row. */
function resolve(property: unknown, root: Schema): unknown {
  let found = property;
  for (let hops = 0; hops < 10 && isObject(found) && typeof found["$ref"] === "string"; hops++) {
    const pointer = found["$ref"];
    if (!pointer.startsWith("#/")) return found;
    found = pointer
      .slice(2)
      .split("/")
      .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
      .reduce<unknown>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), root);
  }
  return found;
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
