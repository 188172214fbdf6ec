/**
 * Runs on the host. Form: what a person filled in, against the schema that a server asked for.
 *
 * - Schemas of forms are flat: texts, numbers, truth values, and choices of texts. Nothing else is looked at, and no pattern
 *   is run.
 * - What nobody asked for is refused: it was not meant for the server.
 */
import type { FormContent } from "./options.ts";

type Schema = Readonly<Record<string, unknown>>;

/** The content with its defaults, or what is wrong with it. */
export function filledIn(
  schema: unknown,
  given: unknown,
): { readonly content: FormContent } | { readonly wrong: string } {
  const { properties, required } = recordOf(schema);
  const asked = recordOf(properties);
  const content = Object.assign(Object.create(null) as Record<string, unknown>, recordOf(given));
  for (const [name, property] of Object.entries(asked)) {
    const { default: standard } = recordOf(property);
    if (content[name] === undefined && standard !== undefined) content[name] = standard;
    if (content[name] === undefined) delete content[name];
  }
  for (const [name, value] of Object.entries(content)) {
    if (!Object.hasOwn(asked, name)) return { wrong: `nobody asked for "${name}"` };
    const wrong = wrongWith(value, recordOf(asked[name]));
    if (wrong !== undefined) return { wrong: `"${name}" ${wrong}` };
  }
  const missing = listOf(required)
    .filter((name) => typeof name === "string")
    .find((name) => content[name] === undefined);
  if (missing !== undefined) return { wrong: `"${missing}" is missing` };
  return { content: Object.fromEntries(Object.entries(content)) as FormContent };
}

function wrongWith(value: unknown, schema: Schema): string | undefined {
  switch (schema["type"]) {
    case "string":
      return wrongText(value, schema);
    case "number":
    case "integer":
      return wrongNumber(value, schema);
    case "boolean":
      return typeof value === "boolean" ? undefined : "has to be true or false";
    case "array":
      return wrongChoices(value, schema);
    case undefined:
    default:
      return "is of no kind that a form has";
  }
}

function wrongText(value: unknown, schema: Schema): string | undefined {
  if (typeof value !== "string") return "has to be a text";
  const { minLength, maxLength, format } = schema;
  // JSON Schema counts code points.
  const { length } = Array.from(value);
  if (typeof minLength === "number" && length < minLength) return `has to have ${minLength} characters`;
  if (typeof maxLength === "number" && length > maxLength) return `has more than ${maxLength} characters`;
  const choices = choicesOf(schema);
  if (choices !== undefined && !choices.includes(value)) return "is none of the choices";
  return typeof format === "string" && FORMATS[format]?.(value) === false
    ? `has to be of the format ${format}`
    : undefined;
}

function wrongNumber(value: unknown, { type, minimum, maximum }: Schema): string | undefined {
  if (typeof value !== "number" || !Number.isFinite(value)) return "has to be a number";
  if (type === "integer" && !Number.isInteger(value)) return "has to be a whole number";
  if (typeof minimum === "number" && value < minimum) return `has to be ${minimum} or more`;
  if (typeof maximum === "number" && value > maximum) return `has to be ${maximum} or less`;
  return undefined;
}

function wrongChoices(value: unknown, schema: Schema): string | undefined {
  if (!Array.isArray(value)) return "has to be a list";
  const { minItems, maxItems, items } = schema;
  if (typeof minItems === "number" && value.length < minItems) return `has to have ${minItems} items`;
  if (typeof maxItems === "number" && value.length > maxItems) return `has more than ${maxItems} items`;
  const choices = new Set(choicesOf(recordOf(items)));
  return value.every((one) => choices.has(one)) ? undefined : "has what is none of the choices";
}

/** Undefined: any text will do. */
function choicesOf(schema: Schema): readonly unknown[] | undefined {
  const { enum: listed, oneOf, anyOf } = schema;
  if (Array.isArray(listed)) return listed;
  const titled = Array.isArray(oneOf) ? oneOf : anyOf;
  return Array.isArray(titled) ? titled.map((one) => recordOf(one)["const"]) : undefined;
}

const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  email: (text) => {
    const at = text.lastIndexOf("@");
    return at > 0 && at < text.length - 1 && !/\s/u.test(text);
  },
  uri: (text) => URL.canParse(text),
  date: (text) => /^\d{4}-\d\d-\d\d$/u.test(text) && !Number.isNaN(Date.parse(text)),
  "date-time": (text) => /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d/u.test(text) && !Number.isNaN(Date.parse(text)),
};

function recordOf(value: unknown): Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
