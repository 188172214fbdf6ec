/**
 * Runs on the host. Whether a run waits for calls, by its ledger. A call that has ended but was not delivered yet
 * counts too.
 */
import { YIELD_CONTROL } from "../../contract/features.ts";
import type { Ledger } from "../../contract/ledger.ts";
import { settledCalls } from "../../ledger/settled-calls.ts";

export function hasOpenCalls({ calls, deliveries }: Ledger): boolean {
  const settled = settledCalls(deliveries);
  return calls.some(({ tool }, index) => tool !== YIELD_CONTROL && !settled.has(index));
}
