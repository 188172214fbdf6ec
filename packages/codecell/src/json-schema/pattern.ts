/**
 * Pattern: a regular expression of a schema. It runs here only if it is proven cheap for the given text, or where slow
 * work is allowed. Runs anywhere.
 */
import { type Judging, NotHere, SchemaFault } from "./judging.ts";
import { costOf, stepsFor } from "./pattern-cost.ts";

/** A matcher's step is far cheaper than a step of judging. */
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

/** Many patterns in use are invalid under the flag `u`, because they escape characters that need no escape. */
function toExpression(pattern: string): RegExp {
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(pattern, flags);
    } catch {
      // Try again without the flag.
    }
  }
  throw new SchemaFault();
}
