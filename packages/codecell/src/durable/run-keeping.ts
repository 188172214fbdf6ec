/**
 * RunKeeping: where one run goes when it has to wait, and what becomes of its calls meanwhile. Used on the host.
 *
 * - One contract, two ways: `TokenKeeping` seals the run into a token, `StoredKeeping` leaves it in a store.
 * - Either way exactly one resume goes on with the run.
 */
import type { Failure } from "../contract/failure.ts";
import type { ErrorListener } from "../contract/host-error.ts";
import type { CallOutcome } from "../contract/ledger.ts";
import type { RunResult, Suspension } from "../contract/result.ts";
import type { ToolSet } from "../contract/tool.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import type { EndedRuns } from "./ended-runs.ts";
import type { Journal } from "./journal.ts";
import type { RunPast } from "./run-past.ts";
import type { RunAtRest } from "./suspended-run.ts";
import type { OpenToken, Reference, TokenStyle } from "./token.ts";

export interface RunKeeping {
  /** Is written before the run acts. Undefined for a run that ends with its process. */
  readonly journal: Journal | undefined;
  suspend(rest: RunAtRest): Promise<Suspension | Failure>;
  /** Takes the outcome of a call that was executing when its run was suspended. */
  takeLate(outcome: CallOutcome): void;
  /**
   * Waits for the outcome of a call that an executor went on with. Undefined if the executor is gone without an
   * outcome, or if the run is over here. Rejects if the outcome cannot be known here.
   */
  awaitOutcome(call: number, executor: string, isOver: () => boolean): Promise<CallOutcome | undefined>;
  /** Called when the run has ended here: nobody needs the calls any more that went on while it was suspended. */
  giveUpCalls(): void;
  /**
   * Called when the run has ended here or is left to others. Never rejects, and waits for a store only for a moment.
   */
  conclude(isLeft: boolean, result: RunResult): Promise<void>;
}

/** What a caller says about keeping a run. */
export interface KeepingTerms {
  /** Whose run it is; empty if it belongs to nobody in particular. */
  readonly scope: string;
  readonly token: TokenStyle;
  readonly errors: ErrorListener;
}

/** What a host needs from whoever keeps its runs. `Suspender` implements it with seals and a store. */
export interface RunKeeper {
  /** The runs that have ended; undefined without a store. */
  readonly ended: EndedRuns | undefined;
  /** Begins to keep a new run. */
  keep(recorder: LedgerRecorder, terms: KeepingTerms): RunKeeping;
  /** For a run that is refused before it begins, or that replays: it makes no calls. */
  keepNothing(recorder: LedgerRecorder, terms: KeepingTerms): RunKeeping;
  /** Where a suspended run is in the store; undefined if the run is in its token. */
  referred(name: SuspendedName, scope: string): Reference | Failure | undefined;
  /** Verifies the seal of a token that holds its run. */
  openToken(token: string, scope: string): OpenToken | Failure;
  /** Opens a small run of a token at once. */
  openNow(token: OpenToken, tools: ToolSet): OpenRun | Failure;
  /** `errors` is told what the store threw, because others than the host may read the failure. */
  open(
    found: Reference | OpenToken,
    scope: string,
    tools: ToolSet,
    errors: ErrorListener,
  ): Promise<OpenRun | Failure>;
  /** Gives a run up. False if the run is not there or goes on somewhere. Rejects if the store failed. */
  discard(name: SuspendedName, scope: string): Promise<boolean>;
  /** The id of a stored run; empty if the run is in its token, or does not exist. */
  idOf(name: SuspendedName, scope: string): string;
  /**
   * Called when the host is closed and no run is live: gives up the calls of runs in tokens, whose outcomes nobody can
   * get any more. Calls of stored runs go on for whoever resumes their runs.
   */
  close(): void;
}

/** What a suspended run is known by: its token, or its id in a store. */
export interface SuspendedName {
  readonly token?: string | undefined;
  readonly id?: string | undefined;
}

/** A suspended run that was opened. Nobody else can take it before it is given back. */
export interface OpenRun {
  readonly past: RunPast;
  /** Called if the run goes on here. */
  take(terms: KeepingTerms): RunKeeping;
  /** Called if the run stays as it was. */
  giveBack(): Promise<void>;
  /** Deletes the run. Rejects if the store failed. */
  discard(): Promise<void>;
}
