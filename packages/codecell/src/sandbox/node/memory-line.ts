/**
 * MemoryLine: cells of one pool that wait until there is room for what they may come to. On the host.
 *
 * - First come, first served: nobody overtakes those who wait, however little they need.
 * - Looks again by itself: what holds the memory may be anywhere in the process.
 */
import type { HeapBudget } from "./heap-budget.ts";
import { neededBytes, type Resident } from "./resident.ts";

/** Who waits. */
export interface Queued {
  readonly resident: Resident;
  /** Since when. */
  since: number | undefined;
}

const LOOK_AGAIN_MS = 20;
/** Whoever waits longer waits for those that compute, and they have to leave. */
const LATE_MS = 100;

export class MemoryLine<One extends Queued> {
  readonly #budget: HeapBudget;
  readonly #onLook: () => void;
  readonly #line = new Set<One>();
  #again: NodeJS.Timeout | undefined;

  constructor(budget: HeapBudget, onLook: () => void) {
    this.#budget = budget;
    this.#onLook = onLook;
  }

  get size(): number {
    return this.#line.size;
  }

  /** Whether the first has waited for long. */
  get isLate(): boolean {
    const [first] = this.#line;
    return first?.since !== undefined && performance.now() - first.since > LATE_MS;
  }

  /** Whether there is room for it, and nobody before it; else it is in line. */
  pass(one: One): boolean {
    const [next = one] = this.#line;
    if (next === one && this.fits(one)) {
      this.#line.delete(one);
      return true;
    }
    one.since ??= performance.now();
    this.#line.add(one);
    this.#again ??= setTimeout(() => {
      this.#again = undefined;
      this.#onLook();
    }, LOOK_AGAIN_MS).unref();
    return false;
  }

  /** Whether there is room for it, whoever waits. */
  fits(one: One): boolean {
    const now = performance.now();
    const hasRoom = this.#budget.hasRoom(neededBytes(one.resident), now - (one.since ?? now));
    one.since = hasRoom ? undefined : (one.since ?? now);
    return hasRoom;
  }

  leave(one: One): void {
    this.#line.delete(one);
    one.since = undefined;
  }

  /** Gives each its turn until one has to stay. */
  advance(admit: (one: One) => void): void {
    for (const one of this.#line) {
      admit(one);
      if (this.#line.has(one)) return;
    }
  }

  close(): void {
    clearTimeout(this.#again);
  }
}
