/**
 * Runs on the host. Pauses: times that count for no time-out of a connector, because it waits for a person.
 *
 * - Each pause has a bound of its own, which is not one of these time-outs. All pauses of one time-out together have one too.
 */

/** No timer of Node.js is longer. */
const LONGEST_MS = 2_147_483_647;

export class Pauses {
  readonly #mostMs: number;
  readonly #changes = new Set<() => void>();
  #open = 0;

  /** How long one timer stands still in all. */
  constructor(mostMs: number = LONGEST_MS) {
    this.#mostMs = Math.min(mostMs, LONGEST_MS);
  }

  /** The time stands still until the work is done. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#open++;
    if (this.#open === 1) this.#tell();
    try {
      return await work();
    } finally {
      this.#open--;
      if (this.#open === 0) this.#tell();
    }
  }

  /**
   * Calls `late` after so much time outside of pauses. Gives a function that ends the waiting. It stands still only for a
   * time: whoever makes one pause after the other would hold it for ever.
   */
  timer(ms: number, late: () => void): () => void {
    let [left, patience] = [ms, this.#mostMs];
    let isImpatient = false;
    let isStill: boolean | undefined;
    let start = 0;
    let timeout: NodeJS.Timeout | undefined;
    const change = (): void => {
      const mayBeStill = this.#open > 0 && !isImpatient;
      if (mayBeStill === isStill) return;
      const now = performance.now();
      clearTimeout(timeout);
      if (isStill === true) patience -= now - start;
      if (isStill === false) left -= now - start;
      start = now;
      isStill = mayBeStill;
      timeout = isStill ? setTimeout(hurry, Math.max(0, patience)) : setTimeout(stopped, Math.max(0, left));
    };
    const hurry = (): void => {
      isImpatient = true;
      change();
    };
    const stop = (): void => {
      this.#changes.delete(change);
      clearTimeout(timeout);
    };
    const stopped = (): void => {
      stop();
      late();
    };
    this.#changes.add(change);
    change();
    return stop;
  }

  #tell(): void {
    for (const change of this.#changes) change();
  }
}
