/** How much property tests try: fixed in CI. PROPERTY_SEED and PROPERTY_TIMES make them search elsewhere and longer. */
const { PROPERTY_SEED, PROPERTY_TIMES } = process.env;

export const TIMES: number = Number(PROPERTY_TIMES ?? 1);

export function effort(numRuns: number): { seed: number; numRuns: number; endOnFailure: true } {
  return { seed: Number(PROPERTY_SEED ?? 20_260_501), numRuns: numRuns * TIMES, endOnFailure: true };
}
