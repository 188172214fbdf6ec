/**
 * Pattern: a regular expression of a schema, executed here only when it is proven to be cheap for the text at hand.
 */
import { type Judging, NotHere, SchemaFault } from "./judging.ts";
import { costOf, stepsFor } from "./pattern-cost.ts";

/** A step of a matcher is far cheaper than one of ours. */
const STEPS_PER_STEP = 8;

export type PatternTest = (text: string, judging: Judging) => boolean;

export function compilePattern(pattern: string): PatternTest {
  const cost = costOf(pattern);
  let expression: RegExp | undefined;
  return (text, judging) => {
    const steps =
      cost === undefined ? Number.POSITIVE_INFINITY : stepsFor(cost, text.length) / STEPS_PER_STEP;
    if (steps > judging.steps) {
      if (!judging.mayBeSlow) throw new NotHere();
      judging.spend(1);
    } else judging.spend(Math.ceil(steps));
    return (expression ??= toExpression(pattern)).test(text);
  };
}

/** Many patterns in use are none by the letter: they escape what needs no escape. */
function toExpression(pattern: string): RegExp {
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(pattern, flags);
    } catch {
      // Perhaps without the flag.
    }
  }
  throw new SchemaFault();
}
