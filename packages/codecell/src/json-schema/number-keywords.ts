/** Keywords for numbers. Runs anywhere. */
import type { Rule } from "./judging.ts";
import { own, type SchemaObject } from "../contract/schema-object.ts";
import { numberIn } from "./document.ts";

export function numberRules(schema: SchemaObject): Rule[] {
  const rules: Rule[] = [];
  const [least, most] = [numberIn(schema, "minimum"), numberIn(schema, "maximum")];
  // In draft 4 the exclusive keywords are flags that change `minimum` and `maximum`.
  const [isAbove, isBelow] = ["exclusiveMinimum", "exclusiveMaximum"].map((key) => own(schema, key) === true);
  const add = (
    limit: number | undefined,
    text: string,
    fits: (value: number, limit: number) => boolean,
  ): void => {
    if (limit === undefined) return;
    rules.push((value, judging) => fits(value as number, limit) || judging.fail(`must be ${text} ${limit}`));
  };
  if (isAbove) add(least, "greater than", (value, limit) => value > limit);
  else add(least, "at least", (value, limit) => value >= limit);
  if (isBelow) add(most, "less than", (value, limit) => value < limit);
  else add(most, "at most", (value, limit) => value <= limit);
  if (typeof own(schema, "exclusiveMinimum") !== "boolean")
    add(numberIn(schema, "exclusiveMinimum"), "greater than", (value, limit) => value > limit);
  if (typeof own(schema, "exclusiveMaximum") !== "boolean")
    add(numberIn(schema, "exclusiveMaximum"), "less than", (value, limit) => value < limit);
  add(numberIn(schema, "multipleOf"), "a multiple of", isMultiple);
  return rules;
}

/** As exact as the numbers themselves: 0.0075 is a multiple of 0.0001, although their quotient is not an integer. */
function isMultiple(value: number, step: number): boolean {
  const rest = Math.abs(value % step);
  if (Number.isInteger(value) && Number.isInteger(step)) return rest === 0;
  const tolerance = 4 * Number.EPSILON * Math.max(Math.abs(step), Math.abs(value));
  return rest <= tolerance || Math.abs(step) - rest <= tolerance;
}
