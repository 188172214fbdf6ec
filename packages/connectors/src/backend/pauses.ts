/**
 * Runs on the host. Pauses: times that count for no time-out of a connector, because it waits for a person.
 *
 * - Each pause has a bound of its own, which is not one of these time-outs.
 */
export class Pauses {
  readonly #changes = new Set<() => void>();
  #open = 0;

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

  /** Calls `late` after so much time outside of pauses. Gives a function that ends the waiting. */
  timer(ms: number, late: () => void): () => void {
    let left = ms;
    let start = performance.now();
    let timeout: NodeJS.Timeout | undefined;
    const change = (): void => {
      if (this.#open > 0 && timeout !== undefined) {
        clearTimeout(timeout);
        timeout = undefined;
        left = Math.max(0, left - (performance.now() - start));
      } else if (this.#open === 0 && timeout === undefined) {
        start = performance.now();
        timeout = setTimeout(stopped, left);
      }
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
