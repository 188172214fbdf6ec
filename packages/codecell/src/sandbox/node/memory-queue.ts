/**
 * MemoryQueue: cells of a pool that wait until there is room for what they may grow to. Runs on the host.
 *
 * - First come, first served: no cell overtakes a waiting cell, however little it needs.
 * - It tries again by itself, because the memory may be held anywhere in the process.
 */
import type { HeapBudget } from "./heap-budget.ts";
import { neededBytes, type PoolCell } from "./pool-cell.ts";

/** A waiting cell. */
export interface Queued {
  readonly poolCell: PoolCell;
  /** Since when it waits. */
  since: number | undefined;
}

const RETRY_AFTER_MS = 20;
/** After this time the cell waits for cells that compute, and those have to leave. */
const LATE_MS = 100;

export class MemoryQueue<One extends Queued> {
  readonly #budget: HeapBudget;
  readonly #onRetry: () => void;
  readonly #queue = new Set<One>();
  #retryTimer: NodeJS.Timeout | undefined;

  constructor(budget: HeapBudget, onRetry: () => void) {
    this.#budget = budget;
    this.#onRetry = onRetry;
  }

  get size(): number {
    return this.#queue.size;
  }

  /** Whether the first cell has waited for long. */
  get isLate(): boolean {
    const [first] = this.#queue;
    return first?.since !== undefined && performance.now() - first.since > LATE_MS;
  }

  /** Whether there is room for the cell and nobody waits before it; otherwise the cell joins the queue. */
  pass(one: One): boolean {
    const [next = one] = this.#queue;
    if (next === one && this.fits(one)) {
      this.#queue.delete(one);
      return true;
    }
    one.since ??= performance.now();
    this.#queue.add(one);
    this.#retryTimer ??= setTimeout(() => {
      this.#retryTimer = undefined;
      this.#onRetry();
    }, RETRY_AFTER_MS).unref();
    return false;
  }

  /** Whether there is room for the cell, whoever else waits. */
  fits(one: One): boolean {
    const now = performance.now();
    const hasRoom = this.#budget.hasRoom(neededBytes(one.poolCell), now - (one.since ?? now));
    one.since = hasRoom ? undefined : (one.since ?? now);
    return hasRoom;
  }

  leave(one: One): void {
    this.#queue.delete(one);
    one.since = undefined;
  }

  /** Admits cells in order, until one has to stay. */
  advance(admit: (one: One) => void): void {
    for (const one of this.#queue) {
      admit(one);
      if (this.#queue.has(one)) return;
    }
  }

  close(): void {
    clearTimeout(this.#retryTimer);
  }
}
