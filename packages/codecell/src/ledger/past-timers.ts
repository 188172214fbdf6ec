/**
 * Runs on the host. PastTimers finds the timers that are left when a program has repeated the past of another run.
 *
 * - The host of the repeated run saw none of these timers, so all changes of them are news: a million at most. Only those
 *   that are left go on.
 * - A timer that repeats is set again each time it fires. So each firing of the past ends one setting, the earliest first.
 * - Changes come in pieces, and each is done with when it comes: no pass over all of them is needed.
 * - The firings are sorted a piece at a time: half a million of them in one go would hold the thread for 50 ms.
 */
import type { Delivery, TimerChange } from "../contract/ledger.ts";
import type { Steps } from "../loop/turn.ts";

/** How many deliveries are read, firings sorted or firings merged between two steps. */
const PIECE = 8192;

export class PastTimers {
  /** The timers that fired, sorted. A timer is there as often as it fired. */
  readonly #fired: Float64Array;
  /** How many settings of a timer are known to have fired, at the place of its first firing. */
  #matched: Uint32Array;
  readonly #left = new Map<number, TimerChange>();

  private constructor(fired: Float64Array) {
    // Sorted numbers, not a map: a million timers would take it 50 MB, and tens of milliseconds whenever it grows.
    this.#fired = fired;
    this.#matched = new Uint32Array(fired.length);
  }

  static *after(deliveries: readonly Delivery[]): Steps<PastTimers> {
    const sorted: Float64Array[] = [];
    let piece: number[] = [];
    for (const [place, { items }] of deliveries.entries()) {
      if (place % PIECE === 0) yield;
      for (const item of items) {
        if (item.kind !== "timer" || piece.push(item.timer) < PIECE) continue;
        sorted.push(new Float64Array(piece).sort());
        piece = [];
        yield;
      }
    }
    sorted.push(new Float64Array(piece).sort());
    for (;;) {
      const [one = new Float64Array(), other] = sorted.splice(0, 2);
      if (other === undefined) return new PastTimers(one);
      sorted.push(yield* merge(one, other));
    }
  }

  /** For a program that begins again. */
  restart(): void {
    this.#matched = new Uint32Array(this.#fired.length);
    this.#left.clear();
  }

  add(change: TimerChange): void {
    this.#left.delete(change.timer);
    if (change.delayMs !== null && !this.#hasFired(change.timer)) this.#left.set(change.timer, change);
  }

  /** In the order in which they were set. */
  left(): readonly TimerChange[] {
    return [...this.#left.values()];
  }

  /** Whether the next setting of this timer has fired. */
  #hasFired(timer: number): boolean {
    const first = this.#placeOf(timer);
    const matched = this.#matched[first];
    if (matched === undefined || this.#fired[first + matched] !== timer) return false;
    this.#matched[first] = matched + 1;
    return true;
  }

  /** The place of the first firing that is not of an earlier timer. */
  #placeOf(timer: number): number {
    let from = 0;
    let to = this.#fired.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#fired[middle] ?? 0) < timer) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}

function* merge(one: Float64Array, other: Float64Array): Steps<Float64Array> {
  const merged = new Float64Array(one.length + other.length);
  let [fromOne, fromOther] = [0, 0];
  for (let place = 0; place < merged.length; place++) {
    if (place % PIECE === 0) yield;
    const next = one[fromOne] ?? Infinity;
    const otherNext = other[fromOther] ?? Infinity;
    if (next < otherNext) fromOne++;
    else fromOther++;
    merged[place] = Math.min(next, otherNext);
  }
  return merged;
}
