/** How much property tests try: fixed in CI. PROPERTY_SEED and PROPERTY_TIMES make them search elsewhere and longer. */
import { PROPERTY_SEED } from "../property-seed.ts";

export const TIMES: number = Number(process.env["PROPERTY_TIMES"] ?? 1);

export function effort(numRuns: number): { seed: number; numRuns: number; endOnFailure: true } {
  return { seed: PROPERTY_SEED, numRuns: numRuns * TIMES, endOnFailure: true };
}
