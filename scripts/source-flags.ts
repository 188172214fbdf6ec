/**
 * How Node.js runs Codecell from its sources: in the test runner and in every process that a test starts.
 *
 * Node.js strips the types of `.ts` files with WebAssembly, in every thread that loads one. On V8 13 the library
 * keeps the wrappers of its own imports alive, but not those of other code. The flag prevents V8 from freeing any
 * (docs/decisions/0007-import-wrappers.md).
 */
export const SOURCE_CONDITION = "@codecell/source";

export const SOURCE_FLAGS: readonly string[] = ["-C", SOURCE_CONDITION, "--no-wasm-code-gc"];
