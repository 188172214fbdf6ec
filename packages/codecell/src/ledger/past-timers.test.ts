import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { largestTurnMs } from "../../../../test/fuzz/thread-time.ts";
import type { Delivery, TimerChange } from "../contract/ledger.ts";
import { atOnce } from "../loop/turn.ts";
import { PastTimers } from "./past-timers.ts";

/** Deliveries of these firings, so many in each. */
function deliver(fired: readonly number[], together: number): Delivery[] {
  const deliveries: Delivery[] = [];
  for (let from = 0; from < fired.length; from += together) {
    const timers = fired.slice(from, from + together);
    deliveries.push({ clock: 1, items: timers.map((timer) => ({ kind: "timer", timer })) });
  }
  return deliveries;
}

const set = (timer: number): TimerChange => ({ timer, delayMs: 1 });

/** So many numbers below a bound, in no order, and some of them several times. */
function scattered(count: number, bound: number, seed: number): number[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  });
}

test("as many settings of each timer are over as it fired, however many timers fired and in which order", () => {
  const many = fc
    .tuple(fc.nat({ max: 60_000 }), fc.constantFrom(1, 100, 1e6, Number.MAX_SAFE_INTEGER), fc.nat())
    .map(([count, bound, seed]) => scattered(count, bound, seed));
  const few = fc.array(fc.nat({ max: 10 }));
  fc.assert(
    fc.property(
      fc.oneof(many, few),
      fc.constantFrom(1, 7, 1024, 60_000),
      fc.array(fc.nat({ max: 12 }), { maxLength: 5 }),
      (fired, together, others) => {
        const past = atOnce(PastTimers.after(deliver(fired, together)));
        const fires = new Map<number, number>();
        for (const timer of fired) fires.set(timer, (fires.get(timer) ?? 0) + 1);
        const left = new Set<number>();
        // Each setting that fired, in a sorted order, then some that may not have fired.
        for (const timer of [...new Float64Array(fired).sort(), ...others, ...fired.slice(0, 5)]) {
          past.add(set(timer));
          const firesLeft = fires.get(timer) ?? 0;
          left.delete(timer);
          if (firesLeft > 0) fires.set(timer, firesLeft - 1);
          else left.add(timer);
        }
        expect(past.left()).toEqual([...left].map(set));
      },
    ),
    { numRuns: 60 },
  );
});

test("no step of sorting as many firings as a ledger holds takes long [host:short-turns]", async () => {
  // A timer that fires alone counts 128 of 64 Mi.
  const fired = scattered(524_288, Number.MAX_SAFE_INTEGER, 1);
  const deliveries = deliver(fired, 1);
  const work = async (): Promise<void> => {
    const steps = PastTimers.after(deliveries);
    // Each step has a turn of its own.
    while (steps.next().done !== true) await nextTurn();
  };
  // In one go, sorting them takes more than 50.
  expect(await largestTurnMs(() => work, { attempts: 4, enough: 20 })).toBeLessThan(20);
}, 60_000);
