/** RunTimers: the guest's timers, kept by the host so that they survive the loss of a cell. */
import type { TimerChange } from "../bridge/protocol.ts";

/** Timers cannot be set for longer. */
export const LONGEST_MS = 2_147_483_647;

/** Waits; a process that has nothing else to do need not wait with it. */
export function pause(ms: number, keepsProcess = true): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    if (!keepsProcess) timer.unref();
  });
}

/** Waits for a promise that does not reject, but not for ever. */
export async function within(ms: number, done: Promise<unknown>, keepsProcess = true): Promise<void> {
  const patience = Promise.withResolvers<void>();
  const timer = setTimeout(patience.resolve, ms);
  if (!keepsProcess) timer.unref();
  await Promise.race([done, patience.promise]);
  clearTimeout(timer);
}

export class RunTimers {
  readonly #fire: (timer: number) => void;
  readonly #timers = new Map<number, { readonly handle: NodeJS.Timeout; readonly dueAt: number }>();

  constructor(fire: (timer: number) => void) {
    this.#fire = fire;
  }

  get size(): number {
    return this.#timers.size;
  }

  apply(changes: readonly TimerChange[]): void {
    for (const { timer, delayMs } of changes) {
      clearTimeout(this.#timers.get(timer)?.handle);
      if (delayMs === null) this.#timers.delete(timer);
      else {
        const handle = setTimeout(() => {
          this.#timers.delete(timer);
          this.#fire(timer);
        }, delayMs);
        this.#timers.set(timer, { handle, dueAt: performance.now() + delayMs });
      }
    }
  }

  /** Stops them; gives the time that each still had: a suspended run's timers stand still. */
  stop(): TimerChange[] {
    const now = performance.now();
    const left = [...this.#timers].map(([timer, { dueAt }]) => ({
      timer,
      delayMs: Math.max(0, Math.round(dueAt - now)),
    }));
    this.clear();
    return left;
  }

  clear(): void {
    for (const { handle } of this.#timers.values()) clearTimeout(handle);
    this.#timers.clear();
  }
}
