/**
 * Runs on the host. SharedWork: work that is done once for all who want it at the same time.
 *
 * - Who leaves does not end it for the others. When nobody waits any more it is told to stop.
 */
export class SharedWork<T> {
  #running: { readonly outcome: Promise<T>; readonly abort: AbortController; waiting: number } | undefined;

  async join(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.#running === undefined) {
      const abort = new AbortController();
      const running = { outcome: work(abort.signal), abort, waiting: 0 };
      this.#running = running;
      const end = (): void => {
        if (this.#running === running) this.#running = undefined;
      };
      running.outcome.then(end, end);
    }
    const running = this.#running;
    running.waiting++;
    const left = Promise.withResolvers<never>();
    const onAbort = (): void => left.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([running.outcome, left.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      running.waiting--;
      if (running.waiting === 0) {
        // Whoever comes next begins anew.
        if (this.#running === running) this.#running = undefined;
        running.abort.abort(new DOMException("Nobody waits for it any more", "AbortError"));
      }
    }
  }
}
