/** Whether a run waits for calls, as its ledger says: also for those that have ended since, and were not delivered. */
import { type Ledger, YIELD_CONTROL } from "../contract/ledger.ts";

export function hasOpenCalls({ calls, deliveries }: Ledger): boolean {
  const settled = new Set<number>();
  for (const { items } of deliveries) {
    for (const item of items) if (item.kind !== "timer") settled.add(item.call);
  }
  return calls.some(({ tool }, index) => tool !== YIELD_CONTROL && !settled.has(index));
}
