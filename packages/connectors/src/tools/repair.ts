/**
 * Runs on the host. What a program is told of an input that does not fit, so that it can mend the call.
 *
 * - What a backend says of its tools may be large: every text and list here is bounded.
 */
import type { Json, JsonSchema } from "codecell";
import type { VALIDATE } from "codecell/kit";
import { CallRefusal, withCallDetails, type withOwnMiddleware } from "codecell/kit";
import type { BackendTool } from "../contract/connector.ts";
import { printType, toSignature, typeNamesOf } from "./printed-types.ts";
import { cut, isObject, present } from "./values.ts";

/** So that all of it fits into the details of a failure. */
const LONGEST_TYPE = 4000;
const MOST_ARGUMENTS = 40;
const LONGEST_ARGUMENT = 100;
/** Larger details of a failure are left out, all of them. */
const LARGEST_REPAIR = 16_000;
const MOST_ERRORS = 8;
const LONGEST_NAME = 200;
const LONGEST_ERROR = 400;

type Validates = NonNullable<Parameters<typeof withOwnMiddleware>[1][typeof VALIDATE]>;

/** Validates inputs of the tool, and refuses one that does not fit with all that mends it. */
export function mending(connector: string, tool: BackendTool, result: string): Validates {
  return async ({ input }, validate) => {
    const checked = await validate(input);
    if (checked.ok && isObject(checked.value ?? {})) return checked;
    const problems = checked.ok
      ? ["input: must be an object, give { name: value }"]
      : (checked.each ?? [checked.problems]);
    const message = `Cannot call "${tool.name}" of "${connector}": ${problems.join("; ")}`;
    const refusal = new CallRefusal("invalid_input", message, undefined, "REQUEST_INVALID");
    throw withCallDetails(refusal, toRepair(tool, result, input, problems));
  };
}

/** What a model needs to call the tool again with an input that fits. */
export function toRepair(
  tool: BackendTool,
  result: string,
  input: unknown,
  problems: readonly string[],
): Json {
  const { name, inputSchema } = tool;
  const { required, accepted, properties } = argumentsOf(inputSchema);
  // The backend chose how many there are of the one, the program of the other.
  const given = new Set(isObject(input) ? Object.keys(input) : []);
  const known = new Set(accepted);
  const missing = required.filter((one) => !given.has(one));
  const unexpected = known.size === 0 ? [] : [...given].filter((one) => !known.has(one));
  return fitted({
    tool: cut(name, LONGEST_NAME),
    requiredArgs: bounded(required),
    acceptedArgs: bounded(accepted),
    missingArgs: missing.length === 0 ? undefined : bounded(missing),
    unexpectedArgs: unexpected.length === 0 ? undefined : bounded(unexpected),
    minimalArgsTemplate: Object.fromEntries(
      bounded(required).map((one) => [one, placeholderFor(properties[one])]),
    ),
    schemaErrors: problems.slice(0, MOST_ERRORS).map(toSchemaError),
    callSignature: toSignature(cut(name, LONGEST_NAME), result),
    inputTypeScript: printType(typeNamesOf(name).input, inputSchema, "input", LONGEST_TYPE),
    retry: "Call it again with arguments that fit",
  });
}

interface Arguments {
  readonly required: readonly string[];
  readonly accepted: readonly string[];
  readonly properties: Readonly<Record<string, unknown>>;
}

function argumentsOf(schema: JsonSchema | undefined): Arguments {
  const { required, properties }: Readonly<Record<string, unknown>> = isObject(schema) ? schema : {};
  const known = isObject(properties) ? properties : {};
  return {
    required: Array.isArray(required) ? required.filter((one) => typeof one === "string") : [],
    accepted: Object.keys(known),
    properties: known,
  };
}

function bounded(names: readonly string[]): string[] {
  return names.slice(0, MOST_ARGUMENTS).map((name) => cut(name, LONGEST_ARGUMENT));
}

/** A value that shows the type; it need not fit. */
function placeholderFor(schema: unknown): Json {
  if (!isObject(schema)) return null;
  const { const: only, enum: several, default: usual, type } = schema;
  const example = only ?? usual ?? (Array.isArray(several) ? (several[0] as unknown) : undefined);
  if (typeof example === "string") return cut(example, LONGEST_NAME);
  if (typeof example === "number" || typeof example === "boolean") return example;
  switch (Array.isArray(type) ? (type[0] as unknown) : type) {
    case "string":
      return "";
    case "number":
    case "integer":
      return 0;
    case "boolean":
      return false;
    case "array":
      return [];
    case "object":
      return {};
    default:
      return null;
  }
}

/** A problem begins with its place: `input.limit: must be a number`. */
function toSchemaError(problem: string): Json {
  const end = problem.indexOf(": ");
  const place = end === -1 ? "input" : problem.slice(0, end);
  return {
    path: cut(place.replace(/^input\.?/u, ""), LONGEST_NAME),
    rule: cut(end === -1 ? problem : problem.slice(end + 2), LONGEST_ERROR),
  };
}

/** What can be left out where names and types are long, the most dispensable first. */
const DISPENSABLE = [
  "inputTypeScript",
  "acceptedArgs",
  "minimalArgsTemplate",
  "unexpectedArgs",
  "schemaErrors",
];

function fitted(repair: Readonly<Record<string, Json | undefined>>): Json {
  let left = present(repair);
  for (const name of DISPENSABLE) {
    if (JSON.stringify(left).length <= LARGEST_REPAIR) break;
    left = present({ ...left, [name]: undefined });
  }
  return left;
}
