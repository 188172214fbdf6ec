/**
 * Pattern: a regular expression of a schema, executed here only when it is proven to be cheap for the text at hand.
 */
import { type Checking, NotHere, SchemaFault } from "./checking.ts";
import { costOf, stepsFor } from "./pattern-cost.ts";

/** A step of a matcher is far cheaper than one of ours. */
const STEPS_PER_STEP = 8;

export type PatternTest = (text: string, checking: Checking) => boolean;

export function compilePattern(pattern: string): PatternTest {
  const cost = costOf(pattern);
  let expression: RegExp | undefined;
  return (text, checking) => {
    const steps =
      cost === undefined ? Number.POSITIVE_INFINITY : stepsFor(cost, text.length) / STEPS_PER_STEP;
    if (steps > checking.steps) {
      if (!checking.mayBeSlow) throw new NotHere();
      checking.spend(1);
    } else checking.spend(Math.ceil(steps));
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
