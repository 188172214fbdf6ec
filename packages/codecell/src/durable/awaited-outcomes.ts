/**
 * AwaitedOutcomes: waits for the outcomes of one run's calls that executors went on with. Runs on the host.
 *
 * - One watch and one reading serve all calls that wait: a reading gives all outcomes of the run in full, and there may
 *   be megabytes of them.
 * - Outcomes are read when the run may have changed, when a call begins to wait, and when an executor is gone.
 */
import { CodecellError, type Failure } from "../contract/failure.ts";
import type { CallOutcome } from "../contract/ledger.ts";
import { type Store, StoreError } from "../contract/store.ts";
import { within } from "../loop/wait.ts";
import { answered } from "./answered.ts";
import { persistently, RENEWALS } from "./persistently.ts";
import type { StoredBytes } from "./stored-bytes.ts";

interface Waiting extends Pick<PromiseWithResolvers<CallOutcome | undefined>, "resolve" | "reject"> {
  readonly executor: string;
  readonly isOver: () => boolean;
}

export class AwaitedOutcomes {
  readonly #store: Store;
  readonly #bytes: StoredBytes;
  readonly #leaseMs: number;
  readonly #runId: string;
  readonly #waiting = new Map<number, Waiting>();
  #isWatching = false;
  /** Whether there may be outcomes that were not read. */
  #isChanged = false;
  #changed = Promise.withResolvers<void>();

  constructor(store: Store, bytes: StoredBytes, leaseMs: number, runId: string) {
    this.#store = store;
    this.#bytes = bytes;
    this.#leaseMs = leaseMs;
    this.#runId = runId;
  }

  /**
   * Waits however long it takes. Undefined if the executor is gone without an outcome, or if the run is over here.
   * Rejects if the run is gone, the outcome cannot be opened, or the store does not answer.
   */
  await(call: number, executor: string, isOver: () => boolean): Promise<CallOutcome | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<CallOutcome | undefined>();
    this.#waiting.set(call, { executor, isOver, resolve, reject });
    this.#change();
    if (!this.#isWatching) void this.#watchAll();
    return promise;
  }

  #change(): void {
    this.#isChanged = true;
    this.#changed.resolve();
  }

  async #watchAll(): Promise<void> {
    this.#isWatching = true;
    let unwatch: (() => void) | undefined;
    try {
      unwatch = await persistently(() => this.#watch(), "endless");
      for (;;) {
        for (const [call, { isOver }] of this.#waiting) if (isOver()) this.#settle(call, undefined);
        if (this.#waiting.size === 0) return;
        await this.#look();
        await within(this.#leaseMs / RENEWALS, this.#changed.promise, false);
      }
    } catch (error) {
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    } finally {
      this.#isWatching = false;
      unwatch?.();
    }
  }

  /** Settles the calls whose outcome is there, and those whose executor is gone. */
  async #look(): Promise<void> {
    // A call that begins to wait meanwhile is looked for the next time.
    const waiting = new Map(this.#waiting);
    const isChanged = this.#isChanged;
    this.#isChanged = false;
    this.#changed = Promise.withResolvers();
    // Asked before the outcomes are read, because an executor posts before it leaves.
    const gone = await this.#gone(new Set([...waiting.values()].map(({ executor }) => executor)));
    if (!isChanged && gone.size === 0) return;
    const outcomes = await persistently(() => answered(this.#store.outcomes(this.#runId)), "endless");
    if (outcomes === undefined) throw new StoreError("stale_claim", `Run "${this.#runId}" is gone`);
    for (const [call, { executor }] of waiting) {
      const sealed = outcomes.get(call);
      if (sealed !== undefined) this.#settle(call, await this.#bytes.openOutcome(this.#runId, call, sealed));
      else if (gone.has(executor)) this.#settle(call, undefined);
    }
  }

  async #gone(executors: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const gone = new Set<string>();
    for (const executor of executors) {
      const isThere = await persistently(() => answered(this.#store.attends(executor)), "endless");
      if (!isThere) gone.add(executor);
    }
    return gone;
  }

  #settle(call: number, outcome: CallOutcome | Failure | undefined): void {
    const waiting = this.#waiting.get(call);
    this.#waiting.delete(call);
    // There is an outcome, but this host cannot open it. A process with the executor's key can go on with the run.
    if (outcome !== undefined && "code" in outcome) waiting?.reject(new CodecellError(outcome));
    else waiting?.resolve(outcome);
  }

  async #watch(): Promise<() => void> {
    const watching = this.#store.watch(this.#runId, () => this.#change());
    try {
      return await answered(watching);
    } catch (error) {
      // The watch may still begin when nobody waits for it any more.
      watching.then(
        (unwatch) => unwatch(),
        () => {},
      );
      throw error;
    }
  }
}
