/** Runs on the host. Finds the timers that are still set after a past of which the host saw no timer. */
import type { Delivery } from "../contract/ledger.ts";
import type { TimerChange } from "../protocol/messages.ts";

/**
 * The last change of each timer that is still set, in the order in which they were set. A timer that repeats is set
 * again each time it fires, so a timer that was set as often as it fired is over.
 */
export function timersLeft(
  changes: readonly TimerChange[],
  deliveries: readonly Delivery[],
): readonly TimerChange[] {
  const left = new Map<number, TimerChange>();
  const sets = new Map<number, number>();
  for (const change of changes) {
    const { timer, delayMs } = change;
    left.delete(timer);
    if (delayMs === null) continue;
    left.set(timer, change);
    sets.set(timer, (sets.get(timer) ?? 0) + 1);
  }
  for (const { items } of deliveries) {
    for (const item of items) {
      if (item.kind !== "timer") continue;
      const more = (sets.get(item.timer) ?? 0) - 1;
      sets.set(item.timer, more);
      if (more <= 0) left.delete(item.timer);
    }
  }
  return [...left.values()];
}
