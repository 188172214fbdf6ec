/** The suspension of a run that is expected to have one. */
import type { RunResult, Suspension } from "codecell";

export function suspensionOf(result: RunResult): Suspension {
  if (result.status !== "suspended") throw new Error(`Not suspended: ${JSON.stringify(result)}`);
  return result.suspension;
}
