/**
 * Executor: the calls this process goes on executing for runs that it has given back to the store.
 *
 * - Attends in the store before a run is given back and until the last outcome is posted: whoever resumes the run waits
 *   for its calls exactly as long as somebody executes them.
 * - An outcome is kept until the store takes it, or nobody can ask for it any more.
 */
import { randomUUID } from "node:crypto";
import { type Store, StoreError } from "../contract/store.ts";
import type { CallOutcome } from "../contract/ledger.ts";
import { answered, Unanswered } from "./answered.ts";
import { persistently, RENEWALS } from "./persistently.ts";
import { toCallId } from "../contract/ledger.ts";
import { pause } from "../loop/wait.ts";

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
  /** How many of them the store has not answered. */
  #unanswered = 0;
  #renewal: NodeJS.Timeout | undefined;

  constructor(store: Store, leaseMs: number) {
    this.#store = store;
    this.#leaseMs = leaseMs;
  }

  /** Settles when other processes can know that these calls are executed here. */
  async begin(runId: string, calls: readonly number[]): Promise<void> {
    if (calls.length === 0) return;
    for (const call of calls) this.#calls.add(toCallId(runId, call));
    this.#renewal ??= setInterval(() => this.#renew(), this.#leaseMs / RENEWALS).unref();
    try {
      await this.#attend(this.#leaseMs);
    } catch (error) {
      this.end(runId, calls);
      throw error;
    }
  }

  /**
   * Hands an outcome to the store, as often as it takes. A question is not handed over twice: it may have been answered
   * since, and would stand in the way of what the call came to then.
   */
  async post(
    runId: string,
    { call, kind }: Pick<CallOutcome, "call" | "kind">,
    expiresAt: number,
    post: () => Promise<unknown>,
  ): Promise<void> {
    for (;;) {
      try {
        await answered(post());
        break;
      } catch (error) {
        const isClosed = StoreError.is(error) && error.code === "closed";
        const isAsked = kind === "asked" && error instanceof Unanswered;
        if (isClosed || isAsked || Date.now() > expiresAt) break;
        await pause(POST_AGAIN_MS, false);
      }
    }
    this.end(runId, [call]);
  }

  /** These calls are nobody's concern here any more. */
  end(runId: string, calls: readonly number[]): void {
    for (const call of calls) this.#calls.delete(toCallId(runId, call));
    if (this.#calls.size > 0 || this.#renewal === undefined) return;
    clearInterval(this.#renewal);
    this.#renewal = undefined;
    // Else its time runs out by itself.
    this.#attend(0).catch(() => {});
  }

  #renew(): void {
    // A store that does not answer is not told again and again.
    if (this.#unanswered > 0) return;
    // One that fails may be in time the next time.
    this.#attend(this.#leaseMs).catch(() => {});
  }

  #attend(ms: number): Promise<void> {
    this.#unanswered++;
    const said = this.#said
      .then(() => persistently(() => answered(this.#store.attend(this.id, ms))))
      .finally(() => this.#unanswered--);
    this.#said = said.catch(() => {});
    return said;
  }
}
