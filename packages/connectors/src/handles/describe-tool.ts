/**
 * Runs on the host. What `describeTool` gives, and what a program needs to repair an input that does not fit.
 *
 * - Types are printed for the model as the root is called: `caplets` gives CapletsResult.
 * - What a backend says of its tools may be large: every text and list here is bounded.
 */
import type { Json, JsonSchema } from "codecell";
import { renderType } from "codecell/declare";
import type { ToolDescription } from "codecell/catalog";
import type { BackendTool } from "../contract/connector.ts";
import { present, toToolSummary } from "./summary.ts";

const LONGEST_TYPES = 20_000;
/** Of what is told of a wrong input, so that all of it fits into the details of a failure. */
const LONGEST_REPAIR_TYPE = 4000;
const MOST_ARGUMENTS = 40;
const LONGEST_ARGUMENT = 100;
/** Larger details of a failure are left out, all of them. */
const LARGEST_REPAIR = 16_000;
const MOST_EXAMPLES = 3;
const MOST_ERRORS = 8;
const LONGEST_NAME = 200;
const LONGEST_ERROR = 400;

export function toDescriptor(
  id: string,
  result: string,
  tool: BackendTool,
  { examples, observedOutput }: ToolDescription,
): Json {
  const { inputSchema, outputSchema } = tool;
  const types = typeNamesOf(tool.name);
  return present({
    id,
    tool: toToolSummary(tool, true),
    inputSchema: inputSchema as Json | undefined,
    outputSchema: outputSchema as Json | undefined,
    callSignature: toSignature(tool.name, result),
    inputTypeScript: printType(types.input, inputSchema, "input", LONGEST_TYPES),
    outputTypeScript:
      outputSchema === undefined && observedOutput !== undefined
        ? `type ${types.output} = ${observedOutput.typeScript}`
        : printType(types.output, outputSchema, "output", LONGEST_TYPES),
    observedOutputShape:
      observedOutput === undefined
        ? undefined
        : ({ ...observedOutput, observedAt: new Date(observedOutput.observedAt).toISOString() } as Json),
    examples: examples.slice(0, MOST_EXAMPLES) as unknown as Json,
  });
}

function toSignature(name: string, result: string): string {
  const { input, output } = typeNamesOf(name);
  return `callTool(name: ${JSON.stringify(name)}, args: ${input}): Promise<${result}<${output}>>`;
}

interface TypeNames {
  readonly input: string;
  readonly output: string;
}

/** `list_issues` gives ListIssuesInput and ListIssuesOutput. */
function typeNamesOf(name: string): TypeNames {
  const words = name.slice(0, LONGEST_NAME).match(/[A-Za-z\d]+/gu) ?? [];
  const joined = words.map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`).join("");
  const stem = /^[A-Za-z]/u.test(joined) ? joined : `Tool${joined}`;
  return { input: `${stem}Input`, output: `${stem}Output` };
}

function printType(
  name: string,
  schema: JsonSchema | undefined,
  direction: "input" | "output",
  maxCharacters: number,
): string {
  if (schema === undefined) return `type ${name} = unknown`;
  const printed = renderType(name, schema, { direction, maxCharacters });
  return printed.replace(`type ${name}=`, () => `type ${name} = `);
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
    inputTypeScript: printType(typeNamesOf(name).input, inputSchema, "input", LONGEST_REPAIR_TYPE),
    retry: `Call callTool(${JSON.stringify(cut(name, LONGEST_NAME))}, args) again with args that fit`,
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

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
