/**
 * ThreadClock: the processor time of this thread.
 *
 * - Asking the system takes microseconds, a good part of a short turn. Who can do with what it was a moment ago need not ask.
 */
const RECENT_MS = 2;

export class ThreadClock {
  readonly #ask: () => number;
  #timeMs = 0;
  #askedAt = -Infinity;

  constructor(ask: () => number) {
    this.#ask = ask;
  }

  /** Takes the time by the clock. */
  read(now: number): number {
    this.#askedAt = now;
    this.#timeMs = this.#ask();
    return this.#timeMs;
  }

  /** What it was at most two milliseconds ago: never more than it is. */
  readRecent(now: number): number {
    return now - this.#askedAt > RECENT_MS ? this.read(now) : this.#timeMs;
  }
}
