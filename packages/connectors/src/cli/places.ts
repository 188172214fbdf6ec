/** Runs on the host. Places: bounds how many do something at a time. Others wait, in their order. */
export class Places {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(most: number) {
    this.#free = most;
  }

  /** Gives a function that leaves the place. Rejects with the signal's reason if it is aborted before there is a place. */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#wait(signal);
    let isLeft = false;
    return () => {
      if (isLeft) return;
      isLeft = true;
      const [next] = this.#waiting;
      if (next === undefined) this.#free++;
      else next();
    };
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.delete(go);
        reject(signal.reason);
      };
      const go = (): void => {
        this.#waiting.delete(go);
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      this.#waiting.add(go);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}
