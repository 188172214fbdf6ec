/**
 * Schemas of tools as validators. Standard Schema validates itself, with the host's own code; JSON Schema is ours.
 *
 * - A JSON Schema may come from a third party and its value from a program: together they must not hold the event loop.
 *   An ordinary value is judged here, in a number of steps. What has not shown itself to be cheap by then is judged
 *   apart, on a thread that can be ended.
 */
import type { JsonSchema, StandardIssue, StandardSchema, Direction } from "../contract/standard-schema.ts";
import { createValidator } from "../json-schema/validator.ts";
import { toJsonText } from "../value/json-text.ts";
import type { JudgeApart, VerdictApart } from "../protocol/judges.ts";
import { printJson } from "../value/print-json.ts";

export type Validated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: string };

/** `text` is the value as JSON, if there is such a text already. */
export type Validate = (
  value: unknown,
  root: string,
  judgeApart: JudgeApart,
  text?: string,
) => Validated | Promise<Validated>;

const MOST_PROBLEMS = 3;
/** Some ten milliseconds in a process that has just started, one later: enough for thousands of records. */
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

function fromStandardSchema(schema: StandardSchema): Validate {
  return async (value, root) => {
    const result = await schema["~standard"].validate(value);
    if (result.issues === undefined) return { ok: true, value: result.value };
    return {
      ok: false,
      problems: listed(result.issues, (issue) => `${root}${path(issue)}: ${issue.message}`),
    };
  };
}

function path({ path: keys = [] }: StandardIssue): string {
  return keys
    .map((segment) => (typeof segment === "object" ? segment.key : segment))
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`))
    .join("");
}

function fromJsonSchema(schema: Readonly<Record<string, unknown>>, direction: Direction): Validate {
  const judge = createValidator(schema, direction);
  let schemaText: string | undefined;
  return (given, root, judgeApart, text) => {
    // An absent value has no place in JSON Schema; tools see it as null.
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

/** Of a schema's own faults the guest learns only that there are some. */
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
