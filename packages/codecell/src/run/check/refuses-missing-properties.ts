/**
 * Runs on the host. Finds out whether a schema refuses an input without the properties that its JSON Schema requires.
 *
 * - A library's schema may fill in missing values (in a preprocessing step, or with a fallback) and cannot say so in
 *   JSON Schema. So the schema is tried: it must refuse inputs without required properties, and name each of them.
 */
import type { JsonSchema, StandardIssue, StandardSchema } from "../../contract/standard-schema.ts";
import { isRecord } from "../../value/shape.ts";

/** How deep objects inside objects are tried. */
const MOST_LEVELS = 5;

const known = new WeakMap<object, Promise<boolean>>();

export function refusesMissingProperties(
  schema: StandardSchema | JsonSchema | undefined,
  json: JsonSchema,
): boolean | Promise<boolean> {
  // A JSON Schema does what it says.
  if (!isStandard(schema)) return true;
  let answer = known.get(schema);
  if (answer === undefined) {
    answer = ask(schema, json);
    known.set(schema, answer);
  }
  return answer;
}

function isStandard(schema: StandardSchema | JsonSchema | undefined): schema is StandardSchema {
  // The schemas of some libraries are functions.
  const isObject = (typeof schema === "object" && schema !== null) || typeof schema === "function";
  return isObject && "~standard" in schema;
}

async function ask(schema: StandardSchema, json: JsonSchema): Promise<boolean> {
  try {
    const inputs = [{}, emptyObjects(json, MOST_LEVELS)];
    const answers = await Promise.all(inputs.map((input) => refusesAll(schema, json, input)));
    return answers.every(Boolean);
  } catch {
    return false;
  }
}

async function refusesAll(schema: StandardSchema, json: JsonSchema, input: object): Promise<boolean> {
  const missing = missingIn(json, input, "");
  if (missing.length === 0) return true;
  const { issues = [] } = await schema["~standard"].validate(input);
  const refused = new Set(issues.map(pathOf));
  return missing.every((path) => refused.has(path));
}

/** All objects of an input, without any other value. */
function emptyObjects(json: unknown, levels: number): Record<string, unknown> {
  const parts = Object.entries(propertiesOf(json)).flatMap(([name, property]): [string, unknown][] => {
    if (levels === 0 || !isRecord(property)) return [];
    if (property["type"] === "object") return [[name, emptyObjects(property, levels - 1)]];
    const { items } = property;
    return property["type"] === "array" && isRecord(items) && items["type"] === "object"
      ? [[name, [emptyObjects(items, levels - 1)]]]
      : [];
  });
  return Object.fromEntries(parts);
}

/** The paths of required properties that are missing. */
function missingIn(json: unknown, input: object, path: string): string[] {
  const required = isRecord(json) && Array.isArray(json["required"]) ? json["required"].map(String) : [];
  const properties = propertiesOf(json);
  return [
    ...required.filter((name) => !Object.hasOwn(input, name)).map((name) => `${path}/${name}`),
    ...Object.entries(input).flatMap(([name, value]) => {
      const property = properties[name];
      const [first] = Array.isArray(value) ? (value as readonly unknown[]) : [];
      if (isRecord(first) && isRecord(property))
        return missingIn(property["items"], first, `${path}/${name}/0`);
      return isRecord(value) ? missingIn(property, value, `${path}/${name}`) : [];
    }),
  ];
}

function propertiesOf(json: unknown): Readonly<Record<string, unknown>> {
  const properties = isRecord(json) ? json["properties"] : undefined;
  return isRecord(properties) ? properties : {};
}

function pathOf({ path = [] }: StandardIssue): string {
  return path.map((segment) => `/${String(typeof segment === "object" ? segment.key : segment)}`).join("");
}
