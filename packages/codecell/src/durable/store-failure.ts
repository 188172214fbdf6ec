/** StoreFailure: what a run is told about its store. Details of the database stay with the host. Runs anywhere. */
import { CodecellError, type Failure } from "../contract/failure.ts";
import { StoreError } from "../contract/store.ts";
import { Unanswered } from "./answered.ts";

export function toStoreFailure(error: unknown): Failure {
  if (CodecellError.is(error)) return error.failure;
  const cause = StoreError.is(error) ? error.cause : error;
  if (cause instanceof Unanswered) {
    return { code: "store_failed", message: "The store did not answer in time" };
  }
  if (!StoreError.is(error)) return { code: "store_failed", message: "The store failed" };
  if (error.code === "stale_claim") {
    return { code: "run_taken", message: "Another process has taken the run over, it goes on there" };
  }
  const why: Partial<Record<StoreError["code"], string>> = {
    full: "it has no room left",
    closed: "it was closed",
    exists: "it holds a run of this id already",
    incompatible: "its database was made by a newer version",
  };
  return { code: "store_failed", message: `The store refused: ${why[error.code] ?? "it cannot be reached"}` };
}
