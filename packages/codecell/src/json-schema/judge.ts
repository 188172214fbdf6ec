/**
 * Judge: says whether values fit a JSON Schema, with a bound on the cost of each verdict. Runs anywhere.
 *
 * - Interprets the schema, generates no code, fetches nothing. Understands drafts 4 to 2020-12.
 * - The answer depends only on schema, value and steps, never on the clock or the load of the machine. Whether there is
 *   an answer also depends on which patterns were used before: compiling them costs steps, once.
 */
import { cutShort } from "../contract/cut-short.ts";
import { Judging, NotHere, OutOfSteps, type Rule, type JudgedProblem, SchemaFault } from "./judging.ts";
import { createCompiler } from "./compile.ts";
import { asGiven } from "./directed-schema.ts";
import type { SchemaObject } from "../contract/schema-object.ts";
import { Document } from "./document.ts";
import type { Direction } from "../contract/standard-schema.ts";

export type Verdict =
  | { readonly kind: "fits" }
  | { readonly kind: "unfit"; readonly problems: readonly string[] }
  /** Judging the value would cost more than these steps. */
  | { readonly kind: "unknown" }
  /** The schema cannot be used. */
  | { readonly kind: "faulty" };

export interface Effort {
  readonly steps: number;
  /** Whether regular expressions without a proven bound may run: only where they can be stopped. */
  readonly mayBeSlow: boolean;
}

export type Judge = (value: unknown, root: string, effort: Effort) => Verdict;

const FITS: Verdict = { kind: "fits" };
const UNKNOWN: Verdict = { kind: "unknown" };
const FAULTY: Verdict = { kind: "faulty" };
const MOST_PROBLEMS = 3;
const LONGEST_PATH = 200;

/** Never throws. A schema that cannot be read gives "faulty" for every value. */
export function createJudge(schema: SchemaObject, direction: Direction): Judge {
  let rule: Rule;
  let document: Document;
  try {
    const directed = asGiven(schema, direction);
    document = new Document(directed);
    rule = createCompiler(document).compile(directed);
  } catch {
    return () => FAULTY;
  }
  const root = document.resourceOf(schema);
  const fits = (value: unknown, judging: Judging): boolean => {
    if (document.isDynamic) judging.scopes.push(root);
    return rule(value, judging, undefined);
  };
  return (value, name, { steps, mayBeSlow }) => {
    try {
      if (fits(value, new Judging(steps, mayBeSlow, false))) return FITS;
    } catch (error) {
      // A stack overflow: another thread may have enough stack, or the schema refers to itself for ever.
      if (error instanceof OutOfSteps || error instanceof NotHere) return UNKNOWN;
      if (error instanceof RangeError) return mayBeSlow ? FAULTY : UNKNOWN;
      if (error instanceof SchemaFault) return FAULTY;
      return FAULTY;
    }
    return { kind: "unfit", problems: explain(value, name, fits, new Judging(steps, mayBeSlow, true)) };
  };
}

function explain(
  value: unknown,
  root: string,
  fits: (value: unknown, judging: Judging) => boolean,
  judging: Judging,
): readonly string[] {
  try {
    fits(value, judging);
  } catch {
    // The problems found so far are true; finding more costs too much.
  }
  const found = judging.problems.slice(0, MOST_PROBLEMS).map((problem) => toText(problem, root));
  return found.length > 0 ? [...new Set(found)] : [`${root}: does not fit the schema`];
}

function toText({ path, text }: JudgedProblem, root: string): string {
  const place = path
    .map((key) => (typeof key === "number" ? `[${key}]` : `.${key.slice(0, LONGEST_PATH)}`))
    .join("");
  return `${root}${cutShort(place, LONGEST_PATH)}: ${text}`;
}
