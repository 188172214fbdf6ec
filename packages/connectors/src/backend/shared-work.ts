/**
 * Runs on the host. SharedWork: work that is done once for all who want it at the same time.
 *
 * - Who leaves does not end it for the others. When nobody waits any more it is told to stop, and may yet come to its end:
 *   it is never done twice at a time. Who comes meanwhile gets what it brings, or begins anew.
 */
export class SharedWork<T> {
  #running: { readonly outcome: Promise<T>; readonly abort: AbortController; waiting: number } | undefined;

  async join(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    while (this.#running?.abort.signal.aborted === true) {
      const last = this.#running.outcome.then(
        (value) => ({ value }),
        () => undefined,
      );
      const outcome = await unless(signal, last);
      if (outcome !== undefined) return outcome.value;
    }
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
    try {
      return await unless(signal, running.outcome);
    } finally {
      running.waiting--;
      if (running.waiting === 0)
        running.abort.abort(new DOMException("Nobody waits for it any more", "AbortError"));
    }
  }
}

async function unless<T>(signal: AbortSignal, outcome: Promise<T>): Promise<T> {
  const left = Promise.withResolvers<never>();
  const onAbort = (): void => left.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([outcome, left.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
