/**
 * Executor: the calls this process goes on executing for runs that it has given back to the store.
 *
 * - Attends in the store before a run is given back and until the last outcome is posted: whoever resumes the run waits
 *   for its calls exactly as long as somebody executes them.
 * - An outcome is kept until the store takes it, or nobody can ask for it any more.
 */
import { randomUUID } from "node:crypto";
import { type Store, StoreError } from "../contract/store.ts";
import { answered } from "./answered.ts";
import { persistently, RENEWALS } from "./persistently.ts";
import { pause } from "./timers.ts";

/** When a store that did not take an outcome is asked again. */
const POST_AGAIN_MS = 2000;

export class Executor {
  /** Names it to other processes. */
  readonly id: string = randomUUID();
  readonly #store: Store;
  readonly #leaseMs: number;
  readonly #calls = new Set<string>();
  /** One word after the other: the last one counts. */
  #said: Promise<unknown> = Promise.resolve();
  #renewal: NodeJS.Timeout | undefined;

  constructor(store: Store, leaseMs: number) {
    this.#store = store;
    this.#leaseMs = leaseMs;
  }

  /** Settles when other processes can know that these calls are executed here. */
  async begin(runId: string, calls: readonly number[]): Promise<void> {
    if (calls.length === 0) return;
    for (const call of calls) this.#calls.add(toKey(runId, call));
    // One that fails may be in time the next time.
    this.#renewal ??= setInterval(
      () => void this.#attend(this.#leaseMs).catch(() => {}),
      this.#leaseMs / RENEWALS,
    ).unref();
    try {
      await this.#attend(this.#leaseMs);
    } catch (error) {
      this.end(runId, calls);
      throw error;
    }
  }

  /** Hands an outcome to the store, as often as it takes. */
  async post(runId: string, call: number, expiresAt: number, post: () => Promise<unknown>): Promise<void> {
    for (;;) {
      try {
        await answered(post());
        break;
      } catch (error) {
        const isClosed = StoreError.is(error) && error.code === "closed";
        if (isClosed || Date.now() > expiresAt) break;
        await pause(POST_AGAIN_MS, false);
      }
    }
    this.end(runId, [call]);
  }

  /** These calls are nobody's concern here any more. */
  end(runId: string, calls: readonly number[]): void {
    for (const call of calls) this.#calls.delete(toKey(runId, call));
    if (this.#calls.size > 0 || this.#renewal === undefined) return;
    clearInterval(this.#renewal);
    this.#renewal = undefined;
    // Else its time runs out by itself.
    this.#attend(0).catch(() => {});
  }

  #attend(ms: number): Promise<void> {
    const said = this.#said.then(() => persistently(() => answered(this.#store.attend(this.id, ms))));
    this.#said = said.catch(() => {});
    return said;
  }
}

function toKey(runId: string, call: number): string {
  return `${runId}:${call}`;
}
