/**
 * Directed schema: a schema as it holds for what is given in one direction.
 *
 * - What is read-only belongs to outputs, what is write-only to inputs: required or not, it need not be given the other
 *   way. Declarations leave it out there, so a validator must not ask for it.
 */
import type { Direction } from "../contract/standard-schema.ts";

type Schema = Readonly<Record<string, unknown>>;

/** The same object where nothing is bound to a direction. */
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

/** Keywords that hold values, which may look like schemas. */
const VALUES: ReadonlySet<string> = new Set(["const", "enum", "default", "example", "examples"]);

/** Through references within the schema; as many as a sensible one has. */
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
