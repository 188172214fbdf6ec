/**
 * The version of the code that makes tools of descriptions. Runs anywhere.
 *
 * - It changes whenever a description becomes something else than before, also through a newer library: what was kept
 *   is not used then. A test fails if it was forgotten.
 */
export const DESCRIBING_VERSION = 1;
