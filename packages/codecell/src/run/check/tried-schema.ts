/**
 * Runs on the host. Tried schema: finds out by trying what a schema refuses.
 *
 * - JSON Schema cannot say all that a library's schema does, and may say more than it does. The schema may fill in
 *   missing values (in a preprocessing step, or with a fallback). It may leave out unknown properties where its JSON
 *   Schema allows none. So it must refuse what its JSON Schema refuses, and name each of these properties.
 */
import {
  isStandardSchema,
  type JsonSchema,
  type StandardIssue,
  type StandardSchema,
} from "../../contract/standard-schema.ts";
import { isRecord } from "../../value/shape.ts";

/** How deep objects inside objects are tried. */
const MOST_LEVELS = 5;

/** No schema knows it. */
const UNKNOWN = "codecellUnknownProperty";

const known = {
  missing: new WeakMap<object, Promise<boolean>>(),
  unknown: new WeakMap<object, Promise<boolean>>(),
};

/** Whether a schema refuses an input without the properties that its JSON Schema requires. */
export function refusesMissingProperties(
  schema: StandardSchema | JsonSchema | undefined,
  json: JsonSchema,
): boolean | Promise<boolean> {
  return tried(schema, known.missing, (standard) => refusesAllMissing(standard, json));
}

/** Whether a schema refuses an input with a property that it does not know. */
export function refusesUnknownProperties(
  schema: StandardSchema | JsonSchema | undefined,
): boolean | Promise<boolean> {
  return tried(schema, known.unknown, async (standard) => {
    const { issues = [] } = await standard["~standard"].validate({ [UNKNOWN]: null });
    return issues.some((issue) => pathOf(issue) === `/${UNKNOWN}` || keysOf(issue).includes(UNKNOWN));
  });
}

function tried(
  schema: StandardSchema | JsonSchema | undefined,
  answers: WeakMap<object, Promise<boolean>>,
  ask: (schema: StandardSchema) => Promise<boolean>,
): boolean | Promise<boolean> {
  // A JSON Schema does what it says.
  if (!isStandardSchema(schema)) return true;
  let answer = answers.get(schema);
  if (answer === undefined) {
    answer = ask(schema).catch(() => false);
    answers.set(schema, answer);
  }
  return answer;
}

async function refusesAllMissing(schema: StandardSchema, json: JsonSchema): Promise<boolean> {
  const inputs = [{}, emptyObjects(json, MOST_LEVELS)];
  const answers = await Promise.all(inputs.map((input) => refusesAll(schema, json, input)));
  return answers.every(Boolean);
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

/** Zod says of the object which of its keys it does not know. A message proves nothing: it may repeat the input. */
function keysOf(issue: StandardIssue): readonly unknown[] {
  const { keys } = issue as { readonly keys?: unknown };
  return Array.isArray(keys) ? keys : [];
}

function pathOf({ path = [] }: StandardIssue): string {
  return path.map((segment) => `/${String(typeof segment === "object" ? segment.key : segment)}`).join("");
}
