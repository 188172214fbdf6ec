/**
 * Spin: watches a counter that another thread raises, for a moment and without sleeping.
 *
 * Being woken costs tens of microseconds on either side, more than a turn of most programs takes. A thread whose answer
 * is near does better to spin for it, and has to know when to stop.
 */

/** Tells the processor that this thread only waits. Newer than the oldest runtime we serve. */
const pause: () => void = (Atomics as { pause?: () => void }).pause?.bind(Atomics) ?? ((): void => {});

/** Between two readings of the clock; at most some microseconds. */
const SPINS_A_READING = 64;
/** More than fit into the time that anybody spins for, unless the clock stands still, as it does under fake timers. */
const MOST_READINGS = 10_000;

/** True as soon as the counter is no longer what it was; false when so much time has passed. */
export function isRaisedSoon(counters: Int32Array, index: number, was: number, mostMs: number): boolean {
  if (mostMs === 0) return false;
  const until = performance.now() + mostMs;
  for (let reading = 0; reading < MOST_READINGS && performance.now() < until; reading++) {
    for (let spin = 0; spin < SPINS_A_READING; spin++) {
      if (Atomics.load(counters, index) !== was) return true;
      pause();
    }
  }
  // This thread may have been off its core while the time passed.
  return Atomics.load(counters, index) !== was;
}

const FIRST_PAUSE = 4;
const LONGEST_PAUSE = 64;

/** Decides when spinning is worth it: after each time in a row that it was in vain, it is left off for twice as long. */
export class Patience {
  #pause = FIRST_PAUSE;
  #left = 0;

  /** To be asked each time there is an answer to spin for. */
  isThere(): boolean {
    if (this.#left === 0) return true;
    this.#left--;
    return false;
  }

  /** To be told what came of it. */
  found(isRaised: boolean): void {
    this.#left = isRaised ? 0 : this.#pause;
    this.#pause = isRaised ? FIRST_PAUSE : Math.min(2 * this.#pause, LONGEST_PAUSE);
  }
}
