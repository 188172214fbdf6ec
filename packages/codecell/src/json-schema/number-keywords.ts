/** Keywords for numbers. */
import type { Rule } from "./judging.ts";
import { own, type SchemaObject } from "./document.ts";

export function numberRules(schema: SchemaObject): Rule[] {
  const rules: Rule[] = [];
  const [least, most] = [own(schema, "minimum"), own(schema, "maximum")];
  const [above, below] = [own(schema, "exclusiveMinimum"), own(schema, "exclusiveMaximum")];
  const step = own(schema, "multipleOf");
  const add = (limit: unknown, text: string, fits: (value: number, limit: number) => boolean): void => {
    if (typeof limit !== "number") return;
    rules.push((value, judging) => fits(value as number, limit) || judging.fail(`must be ${text} ${limit}`));
  };
  // In draft 4 the exclusive ones are flags of the others.
  if (above === true) add(least, "greater than", (value, limit) => value > limit);
  else add(least, "at least", (value, limit) => value >= limit);
  if (below === true) add(most, "less than", (value, limit) => value < limit);
  else add(most, "at most", (value, limit) => value <= limit);
  add(above, "greater than", (value, limit) => value > limit);
  add(below, "less than", (value, limit) => value < limit);
  add(step, "a multiple of", isMultiple);
  return rules;
}

/** As exact as the number itself: 0.0075 is a multiple of 0.0001 although the quotient of the two is no integer. */
function isMultiple(value: number, step: number): boolean {
  const rest = Math.abs(value % step);
  const tolerance = Math.max(Math.abs(step) * 1e-9, Math.abs(value) * Number.EPSILON);
  return rest <= tolerance || Math.abs(step) - rest <= tolerance;
}
