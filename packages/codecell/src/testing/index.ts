// Everything exported here is public API: tests that implementations of our contracts have to pass, and a sandbox for
// tests.
export { createInProcessSandbox } from "./in-process-sandbox.ts";
export type { OpenSandbox, OpenSandboxOptions, SandboxTest, SandboxTestSkip } from "./sandbox-cases.ts";
export { testSandbox } from "./sandbox-suite.ts";
export type { OpenStore } from "./store-cases.ts";
export type { StoreTest, StoreTestSkip } from "./store-life.ts";
export { testStore } from "./store-suite.ts";
