/**
 * Runs anywhere. Says why a value cannot be the schema of a tool.
 *
 * - A value that only looks like a schema would validate nothing, and nobody would notice. It is refused here.
 * - JSON Schema is open: unknown keywords are fine. Functions, schemas of libraries and other values that JSON does
 *   not have are not.
 */

import { isStandardSchema, type StandardSchema } from "./standard-schema.ts";

const WANTED = "give a Standard Schema (z.object({ … }) and the like) or a JSON Schema";
/** The mark on schemas of the AI SDK. */
const AI_SDK = Symbol.for("vercel.ai.schema");

/** Schemas without a problem. Each schema is searched once, as its validator is made once. */
const sound = new WeakSet<object>();

/** What is wrong, as the end of a sentence that names the schema; undefined when nothing is wrong. */
export function schemaProblem(schema: unknown): string | undefined {
  if (schema === undefined || typeof schema === "boolean") return undefined;
  if (typeof schema !== "object" && typeof schema !== "function") return `is a ${typeof schema}, ${WANTED}`;
  if (schema === null) return `is null, ${WANTED} or leave it out`;
  if (sound.has(schema)) return undefined;
  const problem = isStandardSchema(schema) ? standardProblem(schema) : otherProblem(schema);
  if (problem === undefined) sound.add(schema);
  return problem;
}

function standardProblem(schema: StandardSchema): string | undefined {
  const standard = schema["~standard"] as { readonly validate?: unknown } | null | undefined;
  return typeof standard?.validate === "function"
    ? undefined
    : `is a Standard Schema that cannot validate, ${WANTED}`;
}

function otherProblem(schema: object): string | undefined {
  if (typeof schema === "function") return `is a function, ${WANTED}`;
  if (Array.isArray(schema)) return `is an array, ${WANTED}`;
  if (AI_SDK in schema) return "is a schema of the AI SDK, give what it was made of or its jsonSchema";
  const foreign = foreignIn(schema, { left: MOST_PARTS }, 0);
  if (foreign !== undefined) return foreignProblem(schema, foreign);
  const stray = strayIn(schema as Keywords);
  return stray === undefined
    ? undefined
    : `is an object of schemas and no schema itself, give { type: "object", properties: { ${stray}: … } }`;
}

/** A part of a schema that JSON does not have. */
interface Foreign {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Only so many parts of a schema are searched: others may have written it. */
const MOST_PARTS = 20_000;
const DEEPEST = 100;

/** The budget ends the search of a schema that contains itself. */
function foreignIn(part: object, budget: { left: number }, depth: number): Foreign | undefined {
  for (const key of Object.keys(part)) {
    const value = (part as Keywords)[key];
    if (typeof value !== "function" && (typeof value !== "object" || value === null)) continue;
    if (isForeign(value)) return { path: [key], value };
    if (depth >= DEEPEST || budget.left-- <= 0) continue;
    const inner = foreignIn(value, budget, depth + 1);
    if (inner !== undefined) return { path: [key, ...inner.path], value: inner.value };
  }
  return undefined;
}

/** Functions, schemas of libraries, and objects that would be empty as JSON: maps, regular expressions, promises. */
function isForeign(value: object): boolean {
  if (typeof value === "function") return true;
  if (Array.isArray(value) || isPlain(value)) return false;
  return isStandardSchema(value) || Object.keys(value).length === 0;
}

/** A plain object, also one of another realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null;
}

function foreignProblem(schema: object, { path, value }: Foreign): string {
  const [key = ""] = path;
  const isSchema = typeof value === "object" && isStandardSchema(value);
  if (path.length === 1 && isSchema)
    return `is an object of schemas and no schema itself, give z.object({ ${key}: … }) or its like`;
  const at = `at "${path.join(".")}"`;
  if (isSchema) return `mixes JSON Schema with a schema of a library ${at}, ${WANTED}`;
  return isPlain(schema)
    ? `has ${typeof value === "function" ? "a function" : "what no JSON has"} ${at}, ${WANTED}`
    : `is neither a Standard Schema nor a JSON Schema, ${WANTED}: a newer version of its library may be one`;
}

type Keywords = Readonly<Record<string, unknown>>;

/** The first key that is not a keyword but looks like a field. Undefined if any key is certainly a keyword. */
function strayIn(schema: Keywords): string | undefined {
  const keys = Object.keys(schema);
  if (keys.some((key) => isKeyword(key, schema[key]))) return undefined;
  return keys.find((key) => !HOLDS_ANYTHING.has(key) && isLikeSchema(schema[key], !KEYWORDS.has(key)));
}

/**
 * Whether a key is certainly a keyword. A field may have the name of a keyword; then its value is a schema where the
 * keyword would have something else.
 */
function isKeyword(key: string, value: unknown): boolean {
  if (key.startsWith("$") || key.startsWith("x-")) return true;
  return KEYWORDS.has(key) && (HOLDS_OBJECTS.has(key) || !isLikeSchema(value, false));
}

/** Whether a value looks like a schema or, for a field, like the name of a type. */
function isLikeSchema(value: unknown, isField: boolean): boolean {
  if (typeof value === "string") return isField && TYPES.has(value);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return Object.keys(value).some((key) => KEYWORDS.has(key));
}

const TYPES = words("string number integer boolean object array null");

/** Keywords that may hold a schema, or any value. */
const HOLDS_ANYTHING = words(
  "additionalItems additionalProperties const contains contentSchema default else example extends if items not propertyNames then unevaluatedItems unevaluatedProperties",
);

/** Keywords that hold an object which is not a schema. */
const HOLDS_OBJECTS = words(
  "definitions dependencies dependentRequired dependentSchemas discriminator externalDocs patternProperties properties xml",
);

/** Keywords of all drafts and of OpenAPI. Names that begin with $ count as keywords anyway. */
const KEYWORDS: ReadonlySet<string> = new Set([
  ...HOLDS_ANYTHING,
  ...HOLDS_OBJECTS,
  ...words(
    "type enum title description format pattern required id examples deprecated readOnly writeOnly nullable allOf anyOf oneOf prefixItems multipleOf divisibleBy disallow minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems uniqueItems minContains maxContains minProperties maxProperties contentEncoding contentMediaType",
  ),
]);

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}
