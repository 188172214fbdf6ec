/**
 * Runs anywhere. Reads a value that claims to be a JSON Schema.
 *
 * - Reads own properties only, because a schema may come from anywhere.
 */

/** A schema that is not `true` or `false`. */
export type SchemaObject = Readonly<Record<string, unknown>>;

export function isSchemaObject(value: unknown): value is SchemaObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function own(object: object, key: string): unknown {
  return Object.hasOwn(object, key) ? (object as SchemaObject)[key] : undefined;
}
