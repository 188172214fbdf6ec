/**
 * Runs in a worker thread that has no cells. Judge judges values that may take long, one after the other, until the
 * host ends the thread.
 *
 * - A number of steps bounds all of our own work. It does not bound a schema's regular expression: for that case the
 *   host ends the thread.
 */
import { createValidator, type Validator, type Verdict } from "../json-schema/validator.ts";
import type { Case } from "../protocol/judges.ts";

/** They take less than a second. */
const STEPS = 20_000_000;
/** How many schemas are kept as validators. */
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
