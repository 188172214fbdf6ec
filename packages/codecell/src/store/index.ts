// Everything exported here is public API: stores, and what a store of your own is made of.
export { STORE_ERROR_CODES, StoreError } from "../contract/store.ts";
export type {
  Claim,
  Claimed,
  EndedBounds,
  EndedRun,
  EndedStatus,
  EndState,
  LastEntry,
  Lease,
  ListQuery,
  NewRun,
  NextState,
  RunFacts,
  RunStatus,
  RunSummary,
  Store,
  StoredRun,
  StoreErrorCode,
} from "../contract/store.ts";
export type { ShapeMemory } from "../contract/shape-memory.ts";
export { createShapeMemory } from "../seal/shape-memory.ts";
export type { ShapeMemoryOptions } from "../seal/shape-memory.ts";
export { createStore } from "./create-store.ts";
export type { StoreOptions } from "./create-store.ts";
export type {
  Change,
  Driver,
  DriverPut,
  Expired,
  FoundRun,
  ListedRows,
  ListPage,
  NoteExpiry,
  RunPart,
  RunRow,
} from "./driver.ts";
export { createMemoryStore } from "./memory.ts";
export { listRows } from "./list-rows.ts";
export type { Watchers } from "./watchers.ts";
