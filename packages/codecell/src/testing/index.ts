// Everything exported here is public API: tests that implementations of our contracts have to pass.
export type { OpenStore } from "./store-cases.ts";
export type { StoreTest, StoreTestSkip } from "./store-life.ts";
export { testStore } from "./store-suite.ts";
