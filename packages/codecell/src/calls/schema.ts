/**
 * Runs on the host. Makes validators of tools' schemas. A Standard Schema validates with the host's own code; by a JSON
 * Schema our code judges.
 *
 * - A JSON Schema may come from a third party, and its value from a program. Together they must not hold the event
 *   loop: a value is judged here for a bounded number of steps. If that is not enough, it is judged on another thread
 *   that can be ended.
 * - What is told of a value is bounded: a Standard Schema may repeat all names that a program gave.
 */
import { cutShort } from "../contract/cut-short.ts";
import {
  type Direction,
  isStandardSchema,
  type JsonSchema,
  type StandardIssue,
  type StandardSchema,
} from "../contract/standard-schema.ts";
import { createJudge } from "../json-schema/judge.ts";
import { toJsonText } from "../value/json-text.ts";
import type { JudgeApart, VerdictApart } from "../protocol/judges.ts";
import { printJson } from "../value/print-json.ts";

export type Validated =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      readonly problems: string;
      /** Each problem by itself, with its place before a colon, if a JSON Schema says what is wrong. */
      readonly each?: readonly string[] | undefined;
      /** All of it in the words of the validator, if it is one of an adapter that gives them beside its issues. */
      readonly words?: string | undefined;
    };

/** `text` is the value as JSON, if that text exists already. */
export type Validate = (
  value: unknown,
  root: string,
  judgeApart: JudgeApart,
  text?: string,
) => Validated | Promise<Validated>;

const MOST_PROBLEMS = 3;
const LONGEST_PROBLEM = 1000;
const LONGEST_PATH = 200;
/**
 * About ten milliseconds in a process that has just started, and one millisecond later. Enough for thousands of
 * records.
 */
const STEPS_HERE = 20_000;

const accept: Validate = (value) => ({ ok: true, value });

type AnySchema = StandardSchema | JsonSchema;

const READ: unique symbol = Symbol("codecell.read-schema");

/** A schema that is read when it is needed, each time: other libraries make schemas on demand. */
export interface LateSchema extends StandardSchema {
  readonly [READ]: () => AnySchema | Promise<AnySchema>;
}

/** `standard` is for code that knows Standard Schemas only. */
export function toLateSchema(
  read: LateSchema[typeof READ],
  standard: StandardSchema["~standard"] & { readonly jsonSchema: object },
): LateSchema {
  return { "~standard": standard, [READ]: read };
}

/** The schema itself, or what a late schema turns out to be. Throws what reading it throws. */
export function readLateSchema(schema: AnySchema | undefined): AnySchema | undefined | Promise<AnySchema> {
  return isLate(schema) ? schema[READ]() : schema;
}

function isLate(schema: AnySchema | undefined): schema is LateSchema {
  return typeof schema === "object" && READ in schema;
}

const validators = { input: new WeakMap<object, Validate>(), output: new WeakMap<object, Validate>() };

export function validatorOf(schema: AnySchema | undefined, direction: Direction): Validate {
  if (schema === undefined || schema === true) return accept;
  if (schema === false) return () => ({ ok: false, problems: "nothing is allowed here" });
  if (isLate(schema)) return fromLateSchema(schema, direction);
  let validate = validators[direction].get(schema);
  if (validate === undefined) {
    validate = isStandardSchema(schema) ? fromStandardSchema(schema) : fromJsonSchema(schema, direction);
    validators[direction].set(schema, validate);
  }
  return validate;
}

function fromLateSchema(schema: LateSchema, direction: Direction): Validate {
  return (...given) => {
    const read = schema[READ]();
    return read instanceof Promise
      ? read.then((known) => validatorOf(known, direction)(...given))
      : validatorOf(read, direction)(...given);
  };
}

function fromStandardSchema(schema: StandardSchema): Validate {
  return async (value, root) => {
    const result = await schema["~standard"].validate(value);
    if (result.issues === undefined) return { ok: true, value: result.value };
    return {
      ok: false,
      problems: listed(
        result.issues,
        (issue) => `${root}${path(issue)}: ${cutShort(issue.message, LONGEST_PROBLEM)}`,
      ),
      words: (result as { readonly words?: string }).words,
    };
  };
}

function path({ path: keys = [] }: StandardIssue): string {
  const place = keys
    .slice(0, LONGEST_PATH)
    .map((segment) => (typeof segment === "object" ? segment.key : segment))
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("");
  return cutShort(place, LONGEST_PATH);
}

function fromJsonSchema(schema: Readonly<Record<string, unknown>>, direction: Direction): Validate {
  const judge = createJudge(schema, direction);
  let schemaText: string | undefined;
  return (given, root, judgeApart, text) => {
    // JSON Schema has no absent value; tools see it as null.
    const value = given ?? null;
    const verdict = judge(value, root, { steps: STEPS_HERE, mayBeSlow: false });
    if (verdict.kind !== "unknown") return toValidated(verdict, given, root);
    const judgeThere = async (): Promise<Validated> => {
      const valueText = text ?? (await printJson(value));
      schemaText ??= toJsonText(schema);
      if (valueText === undefined || schemaText === undefined)
        return toValidated({ kind: "faulty" }, given, root);
      const found = await judgeApart({ schema: schemaText, direction, value: valueText, root });
      return toValidated(found, given, root);
    };
    return judgeThere();
  };
}

/** If the schema itself is faulty, the guest learns only that it is. */
function toValidated(verdict: VerdictApart, value: unknown, root: string): Validated {
  switch (verdict.kind) {
    case "fits":
      return { ok: true, value };
    case "unfit":
      return { ok: false, problems: verdict.problems.join("; "), each: verdict.problems };
    case "unknown":
      return { ok: false, problems: `${root} takes too long to check, pass something shorter` };
    case "faulty":
      return { ok: false, problems: `${root} cannot be checked, the tool's schema is faulty` };
    case "unavailable":
      return {
        ok: false,
        problems: `${root} cannot be checked now, try again later or pass something shorter`,
      };
    default:
      return verdict satisfies never;
  }
}

function listed<T>(problems: readonly T[], toText: (problem: T) => string): string {
  const shown = problems.slice(0, MOST_PROBLEMS).map(toText).join("; ");
  return problems.length > MOST_PROBLEMS ? `${shown}; and ${problems.length - MOST_PROBLEMS} more` : shown;
}
