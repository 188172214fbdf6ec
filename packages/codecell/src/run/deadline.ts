/**
 * Runs on the host. Deadline: a run's wall time, which stands still while somebody is asked for a decision.
 *
 * - A call may ask for several decisions, and most of them take no time. So a pause leaves the timer alone: when the
 *   timer is due, it is set again for the time that the pauses left.
 * - Only time that counts keeps the process alive: a decision may never come.
 */
export class Deadline implements Disposable {
  readonly #onPassed: () => void;
  /** When the time is over if no more pauses come. */
  #endsAt: number;
  /** Undefined if the timer was due during a pause: the end of the pause sets it again. */
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pausedAt = 0;
  #pauses = 0;

  constructor(wallTimeMs: number, onPassed: () => void) {
    this.#endsAt = performance.now() + wallTimeMs;
    this.#onPassed = onPassed;
    this.#setTimer(wallTimeMs);
  }

  pause(): void {
    if (this.#pauses++ > 0) return;
    this.#pausedAt = performance.now();
    // In a page, timers are numbers and keep no process alive.
    if (typeof this.#timer === "object") this.#timer.unref();
  }

  resume(): void {
    if (--this.#pauses > 0) return;
    const now = performance.now();
    this.#endsAt += now - this.#pausedAt;
    if (this.#timer === undefined) this.#setTimer(this.#endsAt - now);
    else if (typeof this.#timer === "object") this.#timer.ref();
  }

  [Symbol.dispose](): void {
    this.#pauses = Number.POSITIVE_INFINITY;
    clearTimeout(this.#timer);
  }

  #setTimer(ms: number): void {
    this.#timer = setTimeout(() => this.#onDue(), Math.max(0, ms));
  }

  #onDue(): void {
    this.#timer = undefined;
    if (this.#pauses > 0) return;
    const leftMs = this.#endsAt - performance.now();
    // Timers count whole milliseconds, so they may be due a fraction too early.
    if (leftMs < 1) this.#onPassed();
    else this.#setTimer(leftMs);
  }
}
