/**
 * Runs on the host. Makes validators of tools' schemas. A Standard Schema validates with the host's own code; JSON
 * Schema is validated by our code.
 *
 * - A JSON Schema may come from a third party, and its value from a program. Together they must not hold the event
 *   loop: a value is judged here for a bounded number of steps. If that is not enough, it is judged on another thread
 *   that can be ended.
 * - What is told of a value is bounded: a Standard Schema may repeat all names that a program gave.
 */
import type {
  Direction,
  JsonSchema,
  StandardIssue,
  StandardResult,
  StandardSchema,
} from "../contract/standard-schema.ts";
import { createValidator } from "../json-schema/validator.ts";
import { toJsonText } from "../value/json-text.ts";
import type { JudgeApart, VerdictApart } from "../protocol/judges.ts";
import { printJson } from "../value/print-json.ts";

export type Validated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: string };

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

const validators = { input: new WeakMap<object, Validate>(), output: new WeakMap<object, Validate>() };

export function validatorOf(schema: StandardSchema | JsonSchema | undefined, direction: Direction): Validate {
  if (schema === undefined || schema === true) return accept;
  if (schema === false) return () => ({ ok: false, problems: "nothing is allowed here" });
  let validate = validators[direction].get(schema);
  if (validate === undefined) {
    validate = isStandardSchema(schema) ? fromStandardSchema(schema) : fromJsonSchema(schema, direction);
    validators[direction].set(schema, validate);
  }
  return validate;
}

function isStandardSchema(
  schema: StandardSchema | Readonly<Record<string, unknown>>,
): schema is StandardSchema {
  return "~standard" in schema;
}

/** Validates with the judge of whoever validates: a Standard Schema itself gets a value and nothing else. */
type ValidateWithJudge = (
  value: unknown,
  judgeApart: JudgeApart,
) => StandardResult<unknown> | Promise<StandardResult<unknown>>;

// Known by its name, so that a second copy of this package validates in the same way.
const WITH_JUDGE: unique symbol = Symbol.for("codecell.validate-with-judge");

/** For a schema of another library that leaves judging to us. Its own `validate` is for everybody else. */
export function withJudge<T extends StandardSchema>(schema: T, validate: ValidateWithJudge): T {
  return { ...schema, [WITH_JUDGE]: validate };
}

function fromStandardSchema(
  schema: StandardSchema & { readonly [WITH_JUDGE]?: ValidateWithJudge },
): Validate {
  const validate: ValidateWithJudge = schema[WITH_JUDGE] ?? ((value) => schema["~standard"].validate(value));
  return async (value, root, judgeApart) => {
    const result = await validate(value, judgeApart);
    if (result.issues === undefined) return { ok: true, value: result.value };
    return {
      ok: false,
      problems: listed(
        result.issues,
        (issue) => `${root}${path(issue)}: ${cut(issue.message, LONGEST_PROBLEM)}`,
      ),
    };
  };
}

function path({ path: keys = [] }: StandardIssue): string {
  const place = keys
    .slice(0, LONGEST_PATH)
    .map((segment) => (typeof segment === "object" ? segment.key : segment))
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("");
  return cut(place, LONGEST_PATH);
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length).toWellFormed()}…`;
}

function fromJsonSchema(schema: Readonly<Record<string, unknown>>, direction: Direction): Validate {
  const judge = createValidator(schema, direction);
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
      return { ok: false, problems: verdict.problems.join("; ") };
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
