/**
 * Runs in a worker thread. ThreadClock tells the processor time of this thread.
 *
 * - Asking the system takes microseconds, a good part of a short burst. Callers for whom a slightly old time is good
 *   enough use `readRecent`, which rarely asks.
 */
const RECENT_MS = 2;

export class ThreadClock {
  readonly #ask: () => number;
  #timeMs = 0;
  #askedAt = -Infinity;

  constructor(ask: () => number) {
    this.#ask = ask;
  }

  /** `now` is the time by the wall clock. */
  read(now: number): number {
    this.#askedAt = now;
    this.#timeMs = this.#ask();
    return this.#timeMs;
  }

  /** The processor time as it was at most two milliseconds ago: never more than the present one. */
  readRecent(now: number): number {
    return now - this.#askedAt > RECENT_MS ? this.read(now) : this.#timeMs;
  }
}
