/**
 * SequentialLock: where the calls of sequential tools wait for each other. One executes, in the order in which they came.
 *
 * - A call that is aborted while it waits leaves the line, and is never executed.
 * - One that is aborted while it executes keeps its place until it has stopped. If it ignores its abort, the others do
 *   not wait for it for ever.
 */

/** How long others wait for a call that was told to stop. */
const STOP_GRACE_MS = 5000;

export class SequentialLock {
  readonly #graceMs: number;
  #last: Promise<void> = Promise.resolve();

  constructor(graceMs: number = STOP_GRACE_MS) {
    this.#graceMs = graceMs;
  }

  /** Rejects with the signal's reason when it is aborted before its turn. */
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
  // Both may have happened.
  signal.throwIfAborted();
}
