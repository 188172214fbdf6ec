/**
 * Schemas of tools as validators. Standard Schema validates itself; JSON Schema is interpreted, never compiled to code.
 *
 * - A JSON Schema may come from a third party and its value from the guest: together they must not hold the event loop.
 *   Keywords that can take more than linear time are checked under a time limit.
 */
import { Validator, type SchemaDraft } from "@cfworker/json-schema";
import { asGiven } from "./directed-schema.ts";
import { hasOnlyUniqueItems, withoutUniqueItems } from "./unique-items.ts";
import type { JsonSchema, StandardIssue, StandardSchema } from "../contract/standard-schema.ts";

export type Validated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: string };

/** Runs a check; throws an error with `code` "ERR_SCRIPT_EXECUTION_TIMEOUT" when it takes too long. */
export type RunBounded = <T>(check: () => T) => T;

export type Validate = (
  value: unknown,
  root: string,
  runBounded: RunBounded,
) => Validated | Promise<Validated>;

const MOST_PROBLEMS = 3;

const accept: Validate = (value) => ({ ok: true, value });

/** What a program gives to a tool, or gets from it. */
export type Direction = "input" | "output";

const validators = { input: new WeakMap<object, Validate>(), output: new WeakMap<object, Validate>() };

export function validatorOf(schema: StandardSchema | JsonSchema | undefined, direction: Direction): Validate {
  if (schema === undefined || schema === true) return accept;
  if (schema === false) return () => ({ ok: false, problems: "nothing is allowed here" });
  let validate = validators[direction].get(schema);
  if (validate === undefined) {
    validate = isStandardSchema(schema) ? fromStandardSchema(schema) : tryFromJsonSchema(schema, direction);
    validators[direction].set(schema, validate);
  }
  return validate;
}

function isStandardSchema(
  schema: StandardSchema | Readonly<Record<string, unknown>>,
): schema is StandardSchema {
  return "~standard" in schema;
}

function fromStandardSchema(schema: StandardSchema): Validate {
  return async (value, root) => {
    const result = await schema["~standard"].validate(value);
    if (result.issues === undefined) return { ok: true, value: result.value };
    return {
      ok: false,
      problems: join(result.issues.map((issue) => `${root}${path(issue)}: ${issue.message}`)),
    };
  };
}

function path({ path: keys = [] }: StandardIssue): string {
  return keys
    .map((segment) => (typeof segment === "object" ? segment.key : segment))
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("");
}

function tryFromJsonSchema(schema: Readonly<Record<string, unknown>>, direction: Direction): Validate {
  try {
    return fromJsonSchema(asGiven(schema, direction));
  } catch (error) {
    return (_value, root) => ({ ok: false, problems: toProblem(error, root) });
  }
}

function fromJsonSchema(schema: Readonly<Record<string, unknown>>): Validate {
  const validator = new Validator(schema, draftOf(schema), false);
  const comparesItems = hasKeyword(schema, UNIQUE_ITEMS);
  const withoutComparing = comparesItems
    ? new Validator(withoutUniqueItems(schema), draftOf(schema), false)
    : validator;
  const isSlow = hasKeyword(schema, SLOW_KEYWORDS);
  return (value, root, runBounded) => {
    // An absent value has no place in JSON Schema; tools see it as null.
    const isUnique = comparesItems && hasOnlyUniqueItems(value);
    const check = (): ReturnType<Validator["validate"]> =>
      (isUnique ? withoutComparing : validator).validate(value ?? null);
    let result: ReturnType<Validator["validate"]>;
    try {
      result = isSlow || (comparesItems && !isUnique) ? runBounded(check) : check();
    } catch (error) {
      return { ok: false, problems: toProblem(error, root) };
    }
    const { valid, errors } = result;
    if (valid) return { ok: true, value };
    // The innermost errors say what is wrong, the outer ones only that something is.
    const deepest = errors.filter(({ keyword }) => !OUTER_KEYWORDS.has(keyword));
    const shown = deepest.length > 0 ? deepest : errors;
    return {
      ok: false,
      problems: join(
        shown.map(({ instanceLocation, error }) => `${root}${pointer(instanceLocation)}: ${error}`),
      ),
    };
  };
}

/** Keywords whose check can take far longer than the value is large. */
const SLOW_KEYWORDS: ReadonlySet<string> = new Set([
  "pattern",
  "patternProperties",
  // With alternatives inside, a schema that refers to itself is tried once for each of them at each level.
  "$ref",
  "$dynamicRef",
  "$recursiveRef",
]);
const UNIQUE_ITEMS: ReadonlySet<string> = new Set(["uniqueItems"]);

function hasKeyword(schema: unknown, keywords: ReadonlySet<string>): boolean {
  if (typeof schema !== "object" || schema === null) return false;
  return Object.entries(schema).some(([key, value]) => keywords.has(key) || hasKeyword(value, keywords));
}

/** Of a schema's own faults the guest learns only that there are some. */
function toProblem(error: unknown, root: string): string {
  const isTimeout = (error as { code?: unknown }).code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
  return isTimeout
    ? `${root} takes too long to check, pass something shorter`
    : `${root} cannot be checked, the tool's schema is faulty`;
}

const OUTER_KEYWORDS: ReadonlySet<string> = new Set([
  "properties",
  "items",
  "prefixItems",
  "$ref",
  "allOf",
  "anyOf",
]);

function draftOf({ $schema }: Readonly<Record<string, unknown>>): SchemaDraft {
  if (typeof $schema !== "string") return "2020-12";
  if ($schema.includes("draft-04")) return "4";
  if ($schema.includes("draft-07") || $schema.includes("draft-06")) return "7";
  return $schema.includes("2019-09") ? "2019-09" : "2020-12";
}

/** `#/items/0/name` as `.items[0].name`. */
function pointer(location: string): string {
  return location
    .split("/")
    .slice(1)
    .map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"))
    .map((key) => (/^\d+$/.test(key) ? `[${key}]` : `.${key}`))
    .join("");
}

function join(problems: readonly string[]): string {
  const shown = problems.slice(0, MOST_PROBLEMS).join("; ");
  return problems.length > MOST_PROBLEMS ? `${shown}; and ${problems.length - MOST_PROBLEMS} more` : shown;
}
