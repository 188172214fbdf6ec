/**
 * The seed of every property test that names none. vitest.config.ts puts this file in front of each file that imports
 * fast-check, so that a run of the suite tries the same cases each time. PROPERTY_SEED searches elsewhere.
 */
import fc from "fast-check";

export const PROPERTY_SEED: number = Number(process.env["PROPERTY_SEED"] ?? 20_260_501);

fc.configureGlobal({ seed: PROPERTY_SEED });
