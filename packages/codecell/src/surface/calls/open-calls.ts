/**
 * Runs on the host. Whether a run waits for calls, by its ledger. A call that has ended but was not delivered yet
 * counts too.
 */
import type { Ledger } from "../../contract/ledger.ts";
import { isYield } from "../../ledger/ledger-recorder.ts";
import { settledCalls } from "../../ledger/settled-calls.ts";

export function hasOpenCalls(ledger: Ledger): boolean {
  const settled = settledCalls(ledger.deliveries);
  return ledger.calls.some((call, index) => !isYield(ledger, call) && !settled.has(index));
}
