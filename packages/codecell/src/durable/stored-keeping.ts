/**
 * StoredKeeping: keeps one run of a host that has a store. Runs on the host.
 *
 * - A suspended run is given back to the store, and its calls go on. Their outcomes are posted to the store, where
 *   whoever resumes the run finds them.
 * - If the store refuses or does not answer in time, it has the run as it was: the run can go on from there.
 */
import type { Failure } from "../contract/failure.ts";
import type { CallOutcome } from "../contract/ledger.ts";
import type { RunResult, Suspension } from "../contract/result.ts";
import type { EndState, LastEntry, NextState, Store } from "../contract/store.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import { inTurns } from "../loop/turn.ts";
import { within } from "../loop/wait.ts";
import { AwaitedOutcomes } from "./awaited-outcomes.ts";
import type { EndedRuns } from "./ended-runs.ts";
import type { Executor } from "./executor.ts";
import type { Journal } from "./journal.ts";
import { printRun, toWaitState } from "./print-run.ts";
import { factsSteps } from "./run-facts.ts";
import type { KeepingTerms, RunKeeping } from "./run-keeping.ts";
import { toStoreFailure } from "./store-failure.ts";
import type { StoredBytes } from "./stored-bytes.ts";
import type { RunAtRest, SuspendedRun } from "./suspended-run.ts";
import { toSuspension } from "./suspension.ts";
import type { Tokens } from "./token.ts";

/** What all stored runs of a host share. */
export interface StoreParts {
  readonly store: Store;
  readonly leaseMs: number;
  readonly bytes: StoredBytes;
  readonly tokens: Tokens;
  readonly executor: Executor;
  readonly ended: EndedRuns;
  readonly namesTools: boolean;
}

/**
 * The next state of a run in the store, or one more entry of its journal, with the id and the expiry of the suspension.
 */
interface NextSuspension extends Pick<SuspendedRun, "id" | "expiresAt"> {
  readonly given: Pick<NextState, "state"> | Pick<LastEntry, "entry" | "snapshot">;
}

/** How long a run that ends waits for its store. */
const END_MS = 5000;

export class StoredKeeping implements RunKeeping {
  readonly journal: Journal;
  readonly #parts: StoreParts;
  readonly #recorder: LedgerRecorder;
  readonly #terms: KeepingTerms;
  readonly #awaited: AwaitedOutcomes;

  constructor(parts: StoreParts, journal: Journal, recorder: LedgerRecorder, terms: KeepingTerms) {
    this.#parts = parts;
    this.journal = journal;
    this.#recorder = recorder;
    this.#terms = terms;
    const { store, bytes, leaseMs } = parts;
    this.#awaited = new AwaitedOutcomes(store, bytes, leaseMs, recorder.header.runId);
  }

  async suspend(rest: RunAtRest): Promise<Suspension | Failure> {
    const given = await this.#give(rest);
    if ("code" in given) return given;
    const { scope, token: style } = this.#terms;
    const token = this.#parts.tokens.refer(this.#recorder.header.runId, given, scope, style);
    return toSuspension(this.#recorder, rest, { token, expiresAt: given.expiresAt });
  }

  /** Gives the run back to the store, where it is found by its id. */
  async #give(rest: RunAtRest): Promise<NextSuspension | Failure> {
    const { executor, namesTools } = this.#parts;
    const recorder = this.#recorder;
    const { runId } = recorder.header;
    // A call that was left to an executor before belongs to that executor, even if the executor is this process.
    const isLeft = (call: number): boolean => rest.executing.get(call) !== undefined;
    const absorbed = [
      // Only settled calls, not all posted outcomes: what is sent to the store must not grow with the run.
      ...[...this.journal.posted].filter((call) => recorder.isSettled(call)),
      ...rest.pending.keys(),
      // The questions of these calls were resolved.
      ...rest.resolutions.map(([call]) => call).filter((call) => !isLeft(call)),
    ];
    const next = (await this.#lastEntry(rest)) ?? (await this.#nextState(rest));
    if ("code" in next) return next;
    const { given, expiresAt } = next;
    const pending = [...rest.pending.keys()];
    const facts = await inTurns(factsSteps(recorder.header, recorder, pending, namesTools));
    const here = [...rest.executing.keys()].filter((call) => !isLeft(call));
    try {
      await executor.begin(runId, here);
      await this.journal.release({ ...given, expiresAt, absorbed, facts });
      return next;
    } catch (error) {
      executor.end(runId, here);
      this.#terms.errors.end({ source: "store", cause: error });
      return toStoreFailure(error);
    }
  }

  /**
   * With a snapshot the journal may stay, and the write does not grow with the run. Undefined if the journal may not
   * stay.
   */
  async #lastEntry(rest: RunAtRest): Promise<NextSuspension | undefined> {
    if (rest.snapshot === undefined || !this.journal.mayStay) return undefined;
    const waitState = toWaitState(this.#recorder, this.#parts.executor.id, rest);
    const { size, ...given } = await this.journal.lastEntry({ kind: "suspended", waitState }, rest.snapshot);
    if (size > this.#recorder.header.limits.suspensionBytes) return undefined;
    return { id: waitState.id, expiresAt: waitState.expiresAt, given };
  }

  async #nextState(rest: RunAtRest): Promise<NextSuspension | Failure> {
    const { bytes, executor } = this.#parts;
    const printed = await printRun(this.#recorder, this.#terms.scope, executor.id, rest);
    if ("code" in printed) return printed;
    const state = await bytes.sealState(this.#recorder.header.runId, printed);
    return { id: printed.id, expiresAt: printed.expiresAt, given: { state } };
  }

  takeLate(outcome: CallOutcome): void {
    void this.#post(outcome);
  }

  async #post(outcome: CallOutcome): Promise<void> {
    const { store, bytes, executor } = this.#parts;
    const { runId, limits } = this.#recorder.header;
    const { call } = outcome;
    const until = Date.now() + limits.suspensionTimeMs;
    const sealed = await bytes.sealOutcome(runId, outcome);
    await executor.post(runId, outcome, until, () => store.post(runId, call, sealed));
  }

  awaitOutcome(call: number, executor: string, isOver: () => boolean): Promise<CallOutcome | undefined> {
    return this.#awaited.await(call, executor, isOver);
  }

  /** They go on: whoever looks for their outcomes in the store finds them. */
  giveUpCalls(): void {}

  async conclude(isLeft: boolean, result: RunResult): Promise<void> {
    const given = isLeft ? this.journal.release() : this.#end(result);
    await within(
      END_MS,
      given.catch(() => {}),
    );
  }

  async #end(result: RunResult): Promise<void> {
    const { ended } = this.#parts;
    const state = this.journal.isBroken ? undefined : await this.#endState(result);
    if (state === undefined) return this.journal.delete();
    const unkept = await this.journal.end(state);
    if (unkept !== undefined) this.#tellUnkept(unkept);
    ended.prune();
  }

  /** Undefined if the run cannot be sealed. The run has ended all the same, and nothing of it is kept. */
  async #endState(result: RunResult): Promise<EndState | undefined> {
    try {
      return await this.#parts.ended.toEndState(result, this.#recorder, this.#terms.scope);
    } catch (error) {
      this.#tellUnkept(error);
      return undefined;
    }
  }

  #tellUnkept(error: unknown): void {
    this.#terms.errors.tell({ error, source: "store" });
  }
}
