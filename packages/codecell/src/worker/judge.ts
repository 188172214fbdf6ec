/**
 * Runs in a worker thread that has no cells. Judge judges values that may take long, one after the other, until the
 * host ends the thread.
 *
 * - A number of steps bounds all of our own work. It does not bound a schema's regular expression: for that case the
 *   host ends the thread.
 */
import { createJudge, type Judge, type Verdict } from "../json-schema/judge.ts";
import type { Case } from "../protocol/judges.ts";

/** They take less than a second. */
const STEPS = 20_000_000;
/** How many judges are kept, one for each schema and direction. */
const MOST_KEPT = 64;

const kept = new Map<string, Judge>();

export function judge({ schema, direction, value, root }: Case): Verdict {
  return keptJudge(schema, direction)(JSON.parse(value), root, { steps: STEPS, mayBeSlow: true });
}

function keptJudge(schema: string, direction: Case["direction"]): Judge {
  const key = direction + schema;
  let found = kept.get(key);
  if (found === undefined) {
    found = createJudge(JSON.parse(schema) as Readonly<Record<string, unknown>>, direction);
    const [oldest] = kept.keys();
    if (kept.size >= MOST_KEPT && oldest !== undefined) kept.delete(oldest);
    kept.set(key, found);
  }
  return found;
}
