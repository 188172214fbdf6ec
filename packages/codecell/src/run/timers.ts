/** Runs on the host. RunTimers: the guest's timers. The host keeps them so that they survive the loss of a cell. */
import type { TimerChange } from "../contract/ledger.ts";

export class RunTimers {
  readonly #fire: (timer: number) => void;
  readonly #timers = new Map<
    number,
    { readonly handle: ReturnType<typeof setTimeout>; readonly dueAt: number }
  >();

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

  /** Stops all timers, and gives the time that each had left: the timers of a suspended run stand still. */
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
