/**
 * Executor: the calls that this process goes on executing for runs that it has given back to the store. Runs on the
 * host.
 *
 * - It attends in the store from before a run is given back until the last outcome is posted. So whoever resumes the
 *   run waits for its calls exactly as long as somebody executes them.
 * - An outcome is kept until the store takes it, or until nobody can ask for it any more.
 */
import { randomUUID } from "node:crypto";
import { type Store, StoreError } from "../contract/store.ts";
import type { CallOutcome } from "../contract/ledger.ts";
import { answered, Unanswered } from "./answered.ts";
import { persistently, RENEWALS } from "./persistently.ts";
import { toCallId } from "../contract/ledger.ts";
import { pause } from "../loop/wait.ts";

/** How long to wait before asking a store again that did not take an outcome. */
const POST_AGAIN_MS = 2000;

export class Executor {
  /** Other processes know this executor by this id. */
  readonly id: string = randomUUID();
  readonly #store: Store;
  readonly #leaseMs: number;
  readonly #calls = new Set<string>();
  /** Messages to the store go one after the other, because the last one counts. */
  #said: Promise<unknown> = Promise.resolve();
  /** How many of these messages the store has not answered. */
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
   * Hands an outcome to the store, as often as it takes. A question is not handed over again after a missing answer:
   * somebody may have resolved it since, and it would stand in the way of the call's outcome.
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

  /** This executor no longer executes these calls. */
  end(runId: string, calls: readonly number[]): void {
    for (const call of calls) this.#calls.delete(toCallId(runId, call));
    if (this.#calls.size > 0 || this.#renewal === undefined) return;
    clearInterval(this.#renewal);
    this.#renewal = undefined;
    // If this fails, the store forgets the executor when its time runs out.
    this.#attend(0).catch(() => {});
  }

  #renew(): void {
    // A store that does not answer is not asked again and again.
    if (this.#unanswered > 0) return;
    // If this renewal fails, the next one may still be in time.
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
