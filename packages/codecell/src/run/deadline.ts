/** Runs on the host. Deadline: a run's wall time, which stands still while somebody is asked for a decision. */
export class Deadline implements Disposable {
  readonly #onPassed: () => void;
  #leftMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #startedAt = 0;
  #pauses = 0;

  constructor(wallTimeMs: number, onPassed: () => void) {
    this.#leftMs = wallTimeMs;
    this.#onPassed = onPassed;
    this.#start();
  }

  pause(): void {
    if (this.#pauses++ > 0) return;
    clearTimeout(this.#timer);
    this.#leftMs -= performance.now() - this.#startedAt;
  }

  resume(): void {
    if (--this.#pauses === 0) this.#start();
  }

  [Symbol.dispose](): void {
    this.#pauses = Number.POSITIVE_INFINITY;
    clearTimeout(this.#timer);
  }

  #start(): void {
    this.#startedAt = performance.now();
    this.#timer = setTimeout(this.#onPassed, Math.max(0, this.#leftMs));
  }
}
