/**
 * Finds out whether the properties of a body can stand beside the parameters of an operation. Runs on a thread of its
 * own.
 *
 * - Only a plain object can: one whose properties are all known, and of which nothing is said but what each is.
 */
import { isRecord } from "../../web/text.ts";
import type { Node, Schemas } from "../../description/schemas.ts";

export interface FlatBody {
  readonly properties: ReadonlyMap<string, unknown>;
  readonly required: ReadonlySet<string>;
}

/** Keywords that say nothing about which objects fit. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  "$comment",
  "default",
  "deprecated",
  "description",
  "example",
  "examples",
  "externalDocs",
  "readOnly",
  "title",
  "writeOnly",
  "xml",
]);
const DEEPEST = 10;

export function flatten(schemas: Schemas, schema: unknown, depth = 0): FlatBody | undefined {
  if (!isRecord(schema) || depth > DEEPEST) return undefined;
  if (typeof schema["$ref"] === "string") {
    const { $ref: _, ...beside } = schema;
    return Object.keys(beside).every(saysNothing)
      ? flatten(schemas, schemas.resolve(schema), depth + 1)
      : undefined;
  }
  const { type, properties = {}, required = [], additionalProperties = false, allOf = [], ...rest } = schema;
  const isObject =
    type === "object" ||
    type === undefined ||
    (Array.isArray(type) && type.length === 1 && type[0] === "object");
  if (!isObject || additionalProperties !== false || !Object.keys(rest).every(saysNothing)) return undefined;
  if (!isRecord(properties) || !Array.isArray(allOf)) return undefined;
  const flat = { properties: new Map(Object.entries(properties)), required: namesIn(required) };
  for (const part of allOf) {
    const own = flatten(schemas, part, depth + 1);
    if (own === undefined) return undefined;
    for (const [name, property] of own.properties) {
      if (flat.properties.has(name)) return undefined;
      flat.properties.set(name, property);
    }
    for (const name of own.required) flat.required.add(name);
  }
  const isComplete = [...flat.required].every((name) => depth > 0 || flat.properties.has(name));
  return (depth > 0 || flat.properties.size > 0) && isComplete ? flat : undefined;
}

function saysNothing(keyword: string): boolean {
  return ANNOTATIONS.has(keyword) || keyword.startsWith("x-");
}

function namesIn(required: unknown): Set<string> {
  return new Set(
    Array.isArray(required) ? required.filter((name): name is string => typeof name === "string") : [],
  );
}

/** Whether a property of the body is bytes, or a list of them. */
export function propertiesOf(schemas: Schemas, schema: unknown): readonly Node[] {
  const properties = schemas.resolve(schema)?.["properties"];
  return isRecord(properties) ? Object.values(properties).filter(isRecord) : [];
}
