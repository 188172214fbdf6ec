/**
 * Spin: watches for a short time, without sleeping, whether another thread raises a counter. Runs on the host and on
 * worker threads.
 *
 * - Waking a thread costs tens of microseconds on either side, more than a burst of most programs takes. A thread whose
 *   answer is near saves time by spinning, but it has to know when to stop.
 */

/** Tells the processor that this thread only waits. The oldest supported runtime does not have this function. */
const pause: () => void = (Atomics as { pause?: () => void }).pause?.bind(Atomics) ?? ((): void => {});

/** Looks at the counter between two readings of the clock; at most some microseconds. */
const SPINS_A_READING = 64;
/** More readings than any caller's time allows, unless the clock stands still, as it does under fake timers. */
const MOST_READINGS = 10_000;

/** True as soon as the counter differs from `was`; false after `mostMs`. */
export function isRaisedSoon(counters: Int32Array, index: number, was: number, mostMs: number): boolean {
  if (mostMs === 0) return false;
  const until = performance.now() + mostMs;
  for (let reading = 0; reading < MOST_READINGS && performance.now() < until; reading++) {
    for (let spin = 0; spin < SPINS_A_READING; spin++) {
      if (Atomics.load(counters, index) !== was) return true;
      pause();
    }
  }
  // Look once more: this thread may have been off its core while the time passed.
  return Atomics.load(counters, index) !== was;
}

/** One failure says little: something else may have had the processor. */
const FIRST_PAUSE = 1;
const LONGEST_PAUSE = 64;

/**
 * Decides whether spinning is worth it. Each time in a row that spinning was in vain doubles the number of waits
 * without spinning.
 */
export class Patience {
  #pause = FIRST_PAUSE;
  #left = 0;

  /** Ask this whenever there is an answer to spin for. */
  isThere(): boolean {
    if (this.#left === 0) return true;
    this.#left--;
    return false;
  }

  /** Tell this whether spinning found the answer. */
  found(isRaised: boolean): void {
    this.#left = isRaised ? 0 : this.#pause;
    this.#pause = isRaised ? FIRST_PAUSE : Math.min(2 * this.#pause, LONGEST_PAUSE);
  }
}
