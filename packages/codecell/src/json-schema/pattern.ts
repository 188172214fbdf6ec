/**
 * Pattern: a regular expression of a schema. It runs here only if it is proven cheap for the given text, or where slow
 * work is allowed. Runs anywhere.
 */
import { type Judging, NotHere, SchemaFault } from "./judging.ts";
import { type Cost, costOf, stepsFor } from "./pattern-cost.ts";

/** A matcher's step is far cheaper than a step of judging. */
const STEPS_PER_STEP = 8;

export type PatternTest = (text: string, judging: Judging) => boolean;

/**
 * Compiling is native work that nothing can stop, and a Unicode class takes a tenth of a millisecond each time it is
 * compiled. A schema may have thousands of patterns and classes.
 */
const STEPS_OF_CLASS = 250;
const UNICODE_CLASS = /\\p\{/giu;

export function compilePattern(pattern: string): PatternTest {
  const toCompile = (pattern.length >> 3) + STEPS_OF_CLASS * (pattern.match(UNICODE_CLASS)?.length ?? 0);
  let known: { readonly cost: Cost | undefined } | undefined;
  let expression: RegExp | undefined;
  return (text, judging) => {
    // Only the first text pays. A pattern that costs more than all steps is judged on another thread each time.
    if (known === undefined) judging.spend(toCompile);
    const { cost } = (known ??= { cost: costOf(pattern) });
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
