/** Whether a run waits for calls, as its ledger says: also for those that have ended since, and were not delivered. */
import { YIELD_CONTROL } from "../../contract/features.ts";
import type { Ledger } from "../../contract/ledger.ts";
import { settledCalls } from "../../ledger/settled-calls.ts";

export function hasOpenCalls({ calls, deliveries }: Ledger): boolean {
  const settled = settledCalls(deliveries);
  return calls.some(({ tool }, index) => tool !== YIELD_CONTROL && !settled.has(index));
}
