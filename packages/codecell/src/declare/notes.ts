/** Notes: says in as few words as possible what a schema demands and a type cannot express. Runs anywhere. */
import { cut, toSafeLine } from "./comment.ts";
import { toLiteral } from "./literal.ts";
import type { SchemaObject } from "../contract/schema-object.ts";

const MOST_CHARACTERS = 60;

/** Formats that add nothing to the type. */
const IDLE_FORMATS: ReadonlySet<string> = new Set(["string", "number", "double", "float"]);

/** `description` is shown as well, so a default that it names is not repeated. */
export function notesOf(schema: SchemaObject, description: string): string {
  const isListed = Object.hasOwn(schema, "enum") || Object.hasOwn(schema, "const");
  const notes = [
    ...(isListed ? [] : boundsOf(schema)),
    ...(schema["deprecated"] === true ? ["deprecated"] : []),
    ...defaultOf(schema, description),
  ];
  return notes.join(", ");
}

function boundsOf(schema: SchemaObject): readonly string[] {
  const isArray = schema["type"] === "array" || Object.hasOwn(schema, "items");
  const isTuple = Array.isArray(schema["prefixItems"]) || Array.isArray(schema["items"]);
  return [
    ...kindOf(schema),
    ...range(schema["minimum"], schema["maximum"], ""),
    ...exclusive(schema),
    ...isNumber(schema["multipleOf"], (step) => `multiple of ${step}`),
    ...range(schema["minLength"], schema["maxLength"], " chars"),
    ...patternOf(schema),
    ...(isArray && !isTuple ? range(schema["minItems"], schema["maxItems"], " items") : []),
    ...(isArray && schema["uniqueItems"] === true ? ["unique"] : []),
    ...range(schema["minProperties"], schema["maxProperties"], " fields"),
  ];
}

function kindOf({ type, format }: SchemaObject): readonly string[] {
  const isInteger = type === "integer" || (Array.isArray(type) && type.includes("integer"));
  const isSized = typeof format === "string" && /^u?int\d*$/u.test(format);
  if (isInteger) return ["int"];
  if (typeof format !== "string" || IDLE_FORMATS.has(format)) return [];
  return isSized ? ["int"] : [cut(toSafeLine(format), MOST_CHARACTERS)];
}

function range(low: unknown, high: unknown, unit: string): readonly string[] {
  const least = isBound(low) && (unit === "" || low > 0) ? low : undefined;
  const most = isBound(high) ? high : undefined;
  if (least !== undefined && most !== undefined)
    return [least === most ? `${least}${unit}` : `${least}..${most}${unit}`];
  if (least === 1 && unit !== "") return ["not empty"];
  if (least !== undefined) return [`>=${least}${unit}`];
  return most === undefined ? [] : [`<=${most}${unit}`];
}

/** Libraries write out the bounds that hold for every integer in JSON; these tell the reader nothing. */
function isBound(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) < Number.MAX_SAFE_INTEGER;
}

/**
 * These keywords are numbers since draft 6. Before, and in OpenAPI 3.0, they are flags beside `minimum` and `maximum`.
 */
function exclusive({ exclusiveMinimum: low, exclusiveMaximum: high }: SchemaObject): readonly string[] {
  return [
    ...isNumber(low, (least) => `>${least}`),
    ...isNumber(high, (most) => `<${most}`),
    ...(low === true ? ["lower bound excluded"] : []),
    ...(high === true ? ["upper bound excluded"] : []),
  ];
}

function isNumber(value: unknown, say: (value: number) => string): readonly string[] {
  return typeof value === "number" ? [say(value)] : [];
}

/** A long pattern beside a format only repeats the format. */
function patternOf({ pattern, format }: SchemaObject): readonly string[] {
  if (typeof pattern !== "string" || pattern === "") return [];
  if (typeof format === "string" && pattern.length > MOST_CHARACTERS) return [];
  return [`/${cut(toSafeLine(pattern), MOST_CHARACTERS)}/`];
}

function defaultOf(schema: SchemaObject, description: string): readonly string[] {
  const value = schema["default"];
  if (value === undefined || value === null || value === "") return [];
  const text = typeof value === "string" ? value : toLiteral(value);
  if (/default/iu.test(description) && description.includes(text)) return [];
  const shown = cut(toSafeLine(text), MOST_CHARACTERS);
  return [`default ${typeof value === "string" ? JSON.stringify(shown) : shown}`];
}
