/**
 * Runs on the host. SequentialLock lets the calls of sequential tools execute one at a time, in the order in which
 * they came.
 *
 * - A call that is aborted while it waits leaves the queue and is never executed.
 * - A call that is aborted while it executes keeps its place until it has stopped. If it ignores the abort, the
 *   others wait only for a grace time.
 */

/** How long others wait for a call that was aborted. */
const STOP_GRACE_MS = 5000;

export class SequentialLock {
  readonly #graceMs: number;
  #last: Promise<void> = Promise.resolve();

  constructor(graceMs: number = STOP_GRACE_MS) {
    this.#graceMs = graceMs;
  }

  /** Rejects with the signal's reason when the signal aborts before the call's turn. */
  async execute<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#last;
    const { promise: over, resolve: leave } = Promise.withResolvers<void>();
    this.#last = before.then(() => over);
    try {
      await orAborted(before, signal);
    } catch (error) {
      leave();
      throw error;
    }
    let timer: NodeJS.Timeout | undefined;
    const onAbort = (): void => {
      timer = setTimeout(leave, this.#graceMs).unref();
    };
    signal.addEventListener("abort", onAbort, { once: true });
    // The signal may have aborted between the call's turn and here.
    if (signal.aborted) onAbort();
    try {
      return await work();
    } finally {
      signal.removeEventListener("abort", onAbort);
      clearTimeout(timer);
      leave();
    }
  }
}

async function orAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
  // The turn may have come and the signal aborted at the same time.
  signal.throwIfAborted();
}
