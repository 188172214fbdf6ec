/**
 * Look: watches a counter that another thread raises, for a moment and without sleeping.
 *
 * Being woken costs tens of microseconds on either side, more than a turn of most programs. A thread whose answer is
 * near does better to look for it; who looks must know when to stop.
 */

/** Tells the processor that this thread only waits. Newer than the oldest runtime we serve. */
const pause: () => void = (Atomics as { pause?: () => void }).pause?.bind(Atomics) ?? ((): void => {});

/** True as soon as the counter is no longer what it was; false after so many looks. */
export function isRaisedSoon(counters: Int32Array, index: number, was: number, looks: number): boolean {
  for (let look = 0; look < looks; look++) {
    if (Atomics.load(counters, index) !== was) return true;
    pause();
  }
  return false;
}
