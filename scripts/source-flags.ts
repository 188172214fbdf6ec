/**
 * How Node.js runs Codecell from its sources: in the test runner and in every process that a test starts.
 *
 * - Node.js strips the types of `.ts` files with WebAssembly, in every thread that loads one. The library keeps the
 *   wrappers of its own imports alive on V8 13, not those of others: so that no thread frees them, nothing is freed
 *   (docs/decisions/0007-import-wrappers.md).
 */
export const SOURCE_CONDITION = "@codecell/source";

export const SOURCE_FLAGS: readonly string[] = ["-C", SOURCE_CONDITION, "--no-wasm-code-gc"];
