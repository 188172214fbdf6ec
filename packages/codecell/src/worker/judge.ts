/**
 * Judge: a worker without cells. It judges values that may take long, one after the other, until its host ends it.
 *
 * - Steps bound all of our own work. A regular expression of a schema they do not bound: that is what ending it is for.
 */
import { createValidator, type Validator, type Verdict } from "../json-schema/validator.ts";
import type { Case } from "../protocol/judges.ts";

/** Less than a second. */
const STEPS = 20_000_000;
/** Schemas kept as validators. */
const MOST_KEPT = 64;

const kept = new Map<string, Validator>();

export function judge({ schema, direction, value, root }: Case): Verdict {
  return validatorFor(schema, direction)(JSON.parse(value), root, { steps: STEPS, mayBeSlow: true });
}

function validatorFor(schema: string, direction: Case["direction"]): Validator {
  const key = direction + schema;
  let validate = kept.get(key);
  if (validate === undefined) {
    validate = createValidator(JSON.parse(schema) as Readonly<Record<string, unknown>>, direction);
    const [oldest] = kept.keys();
    if (kept.size >= MOST_KEPT && oldest !== undefined) kept.delete(oldest);
    kept.set(key, validate);
  }
  return validate;
}
