/** Runs on the host. Settled calls: the calls that a ledger has outcomes for. */
import type { Delivery } from "../contract/ledger.ts";

/** The calls whose outcomes were delivered. */
export function settledCalls(deliveries: readonly Delivery[]): Set<number> {
  const settled = new Set<number>();
  for (const { items } of deliveries) {
    for (const item of items) if (item.kind !== "timer") settled.add(item.call);
  }
  return settled;
}
