/**
 * StoredRuns: the runs of a host that its store keeps.
 *
 * - What goes into the store is sealed and bound to its run and place; what comes back is authenticated before a byte
 *   of it is interpreted.
 * - A run is taken by claiming it: exactly one process goes on with it.
 */
import { randomUUID } from "node:crypto";
import { CodecellError, type Failure } from "../contract/failure.ts";
import type { CallOutcome, Ledger } from "../contract/ledger.ts";
import type { Limits } from "../contract/limits.ts";
import {
  type Claim,
  type Claimed,
  isStoreText,
  type LastEntry,
  type NextState,
  type Store,
  STORE_TEXT_BYTES,
  type StoredRun,
  StoreError,
} from "../contract/store.ts";
import type { ToolSet } from "../contract/tool.ts";
import { foldJournal } from "./fold-journal.ts";
import type { JournalEntry } from "./journal-entry.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import { settledCalls } from "../ledger/settled-calls.ts";
import { sizeOf } from "../seal/seal.ts";
import { StoredBytes } from "./stored-bytes.ts";
import { giveAway, type RunAtRest, type SuspendedRun, toSealable, toWaitState } from "./suspended-run.ts";
import type { Reference } from "./token.ts";
import { type Vault, versionFailure } from "../seal/vault.ts";
import { answered } from "./answered.ts";
import { Journal, type JournalSetup, toStoreFailure } from "./journal.ts";
import { type CheckRun, type Elsewhere, type Recovered, recover } from "./recovery.ts";
import { EndedRuns, type StoreFacts } from "./ended-runs.ts";
import { Executor } from "./executor.ts";
import { factsSteps } from "./run-facts.ts";
import { persistently, RENEWALS } from "./persistently.ts";
import type { Thrown } from "../contract/host-error.ts";
import { atOnce, inTurns } from "../loop/turn.ts";
import { within } from "../loop/wait.ts";

export interface TakenRun extends Recovered {
  readonly journal: Journal;
}

/** Told what was thrown, by the store unless said otherwise. */
export type OnFailed = (error: unknown, source?: Thrown["source"]) => void;

const NO_FACTS: StoreFacts = { namesTools: false, ended: undefined };

const OWNER = `process ${process.pid}`;

/** Where the journal of a run goes on: what the store holds of it already. */
interface JournalStart extends Pick<JournalSetup, "length" | "size" | "mayStay" | "posted" | "facts"> {
  /** The id of the state that its journal follows. */
  readonly epoch: string;
}

/** A run as it was opened. */
interface OpenRun {
  readonly recovered: Recovered;
  readonly kept: JournalStart;
  /** Whether anything was written since it was suspended. */
  readonly hasMoved: boolean;
}

/** What a suspension is told by: its own id, and when it expires. */
type Suspended = Pick<SuspendedRun, "id" | "expiresAt">;

/** A suspension, and the bytes of it. */
interface NextSuspension<Key extends keyof Given, Given> {
  readonly suspended: Suspended;
  readonly given: Pick<Given, Key>;
}

export class StoredRuns {
  readonly #store: Store;
  readonly #bytes: StoredBytes;
  readonly #leaseMs: number;
  readonly #executor: Executor;
  readonly #namesTools: boolean;
  readonly ended: EndedRuns;

  constructor(store: Store, vault: Vault, leaseMs: number, facts: StoreFacts = NO_FACTS) {
    this.#store = store;
    this.#bytes = new StoredBytes(vault);
    this.#leaseMs = leaseMs;
    this.#executor = new Executor(store, leaseMs);
    this.#namesTools = facts.namesTools;
    this.ended = new EndedRuns(store, vault, facts);
  }

  /** Begins to keep a new run. */
  keep(recorder: LedgerRecorder, scope: string): Journal {
    if (!isStoreText(scope)) {
      throw new RangeError(
        `Cannot keep a run of this scope in a store: it needs well-formed text without NUL, of at most ${STORE_TEXT_BYTES} bytes`,
      );
    }
    const { runId, limits } = recorder.header;
    const expiresAt = expiryOf(limits);
    const ledger = recorder.toLedger();
    const first: SuspendedRun = {
      id: randomUUID(),
      scope,
      expiresAt,
      ledger,
      seen: recorder.seen,
      timers: [],
      pending: [],
      executing: [],
      resolutions: [],
    };
    const sealable = toSealable(first);
    const state = this.#bytes.sealFirst(runId, sealable);
    const facts = atOnce(factsSteps(ledger, ledger, [], this.#namesTools));
    const claim = this.#store.put({ id: runId, scope, expiresAt, state, facts }, this.#lease);
    return this.#journal(runId, scope, claim, {
      epoch: first.id,
      length: 0,
      size: sizeOf(sealable),
      mayStay: true,
      posted: new Set(),
      facts,
    });
  }

  /**
   * Takes a run up; `check` may refuse it, and then it is given back as it was. What the store threw is told apart from the
   * failure, which others may read.
   */
  async take(
    { id, suspensionId }: Reference,
    scope: string,
    tools: ToolSet,
    check: CheckRun,
    onFailed: OnFailed = () => {},
  ): Promise<TakenRun | Failure> {
    // Ids come from clients: no store has one like this.
    if (id === "" || !isStoreText(id) || !isStoreText(scope)) return unknownRun(id);
    const claiming = this.#store.claim(id, this.#lease, scope);
    let claimed: Claimed;
    try {
      claimed = await answered(claiming);
    } catch (error) {
      // One that is claimed when nobody waits for it any more.
      claiming.then(
        (late) => (late.status === "claimed" ? this.#giveBack(late.claim) : undefined),
        () => {},
      );
      onFailed(error);
      return toStoreFailure(error);
    }
    if (claimed.status === "absent") return unknownRun(id);
    if (claimed.status === "held") {
      return {
        code: "run_held",
        message: `Cannot resume run "${id}": ${claimed.owner} holds it, it goes on there`,
      };
    }
    let taken: OpenRun;
    try {
      const opened = await this.#open(claimed.run, suspensionId, scope, tools);
      const refusal = "code" in opened ? opened : check(opened.recovered);
      if (refusal !== undefined) {
        await this.#giveBack(claimed.claim);
        return refusal;
      }
      taken = opened as OpenRun;
    } catch (error) {
      await this.#giveBack(claimed.claim);
      throw error;
    }
    const { recovered, kept, hasMoved } = taken;
    const journal = this.#journal(id, scope, Promise.resolve(claimed.claim), kept);
    const { limits } = recovered.run.ledger;
    const isMoved = claimed.run.expiresAt < Date.now() + limits.wallTimeMs + this.#leaseMs;
    // Not waited for: it matters only if this process dies.
    if (isMoved || (!hasMoved && recovered.run.timers.length > 0)) {
      void journal.write({ kind: "taken", at: Date.now() }, isMoved ? expiryOf(limits) : undefined);
    }
    return { ...recovered, journal };
  }

  /** Removes a suspended run; false when it is not there, or goes on somewhere. Rejects when the store failed. */
  async discard(reference: Reference, scope: string): Promise<boolean> {
    let cause: unknown;
    const onFailed: OnFailed = (error) => void (cause = error);
    const taken = await this.take(reference, scope, {}, () => undefined, onFailed);
    if ("code" in taken) {
      // It may be there still.
      if (taken.code === "store_failed") throw new StoreError("unavailable", taken.message, { cause });
      return false;
    }
    await taken.journal.delete();
    return true;
  }

  /** As it is; one that cannot be given back is free when its lease has run out. */
  async #giveBack(claim: Claim): Promise<void> {
    await answered(this.#store.release(claim)).catch(() => {});
  }

  /** Gives a run back to the store, to be resumed by its id. */
  async suspend(
    journal: Journal,
    recorder: LedgerRecorder,
    scope: string,
    rest: RunAtRest,
    onFailed: OnFailed = () => {},
  ): Promise<Suspended | Failure> {
    const { runId } = recorder.header;
    // Those left to an executor before are that one's concern, even if it is this process.
    const isLeft = (call: number): boolean => rest.executing.get(call) !== undefined;
    const absorbed = [
      // Not all that ever were: what is asked of the store does not grow with the run.
      ...[...journal.posted].filter((call) => recorder.isSettled(call)),
      ...rest.pending.keys(),
      // What it asked before the decision.
      ...rest.resolutions.map(([call]) => call).filter((call) => !isLeft(call)),
    ];
    const next =
      (await this.#lastEntry(journal, recorder, rest)) ?? (await this.#nextState(recorder, scope, rest));
    if ("code" in next) return next;
    const { suspended, given } = next;
    const { expiresAt } = suspended;
    const pending = [...rest.pending.keys()];
    const facts = await inTurns(factsSteps(recorder.header, recorder, pending, this.#namesTools));
    const here = [...rest.executing.keys()].filter((call) => !isLeft(call));
    try {
      await this.#executor.begin(runId, here);
      await journal.release({ ...given, expiresAt, absorbed, facts });
      return suspended;
    } catch (error) {
      this.#executor.end(runId, here);
      onFailed(error);
      return toStoreFailure(error);
    }
  }

  /** With a snapshot the journal may stay, and what is written does not grow with the run; undefined where it may not. */
  async #lastEntry(
    journal: Journal,
    recorder: LedgerRecorder,
    rest: RunAtRest,
  ): Promise<NextSuspension<"entry" | "snapshot", LastEntry> | undefined> {
    if (rest.snapshot === undefined || !journal.mayStay) return undefined;
    const waitState = toWaitState(recorder, this.#executor.id, rest);
    const { size, ...given } = await journal.lastEntry({ kind: "suspended", waitState }, rest.snapshot);
    if (size > recorder.header.limits.suspensionBytes) return undefined;
    return { suspended: waitState, given };
  }

  async #nextState(
    recorder: LedgerRecorder,
    scope: string,
    rest: RunAtRest,
  ): Promise<NextSuspension<"state", NextState> | Failure> {
    const given = await giveAway(recorder, scope, this.#executor.id, rest);
    if ("code" in given) return given;
    const state = await this.#bytes.sealState(recorder.header.runId, given.sealable);
    return { suspended: given.run, given: { state } };
  }

  get #lease(): { readonly owner: string; readonly ms: number } {
    return { owner: OWNER, ms: this.#leaseMs };
  }

  #journal(runId: string, scope: string, claim: Promise<Claim>, { epoch, ...kept }: JournalStart): Journal {
    return new Journal({
      ...kept,
      store: this.#store,
      claim,
      leaseMs: this.#leaseMs,
      encode: (entries, place) => this.#bytes.sealEntries(runId, epoch, place, entries),
      encodeSnapshot: (snapshot) => this.#bytes.sealSnapshot(runId, epoch, snapshot),
      decodeSnapshot: async (bytes) => {
        const snapshot = await this.#bytes.openSnapshot(runId, epoch, bytes);
        return snapshot === undefined || "code" in snapshot ? undefined : snapshot;
      },
      toEndState: (result, recorder) => this.ended.toEndState(result, recorder, scope),
      onKept: () => this.ended.prune(),
    });
  }

  async #open(
    run: StoredRun,
    suspensionId: string | undefined,
    scope: string,
    tools: ToolSet,
  ): Promise<OpenRun | Failure> {
    const opened = await this.#bytes.open(run);
    if ("code" in opened) return opened;
    const { outcomes, saved, size, isCurrent } = opened;
    // What the store says of it is not sealed.
    if (run.scope !== scope || opened.state.scope !== scope) return unknownRun(run.id);
    const folded = foldJournal(opened.state, opened.entries);
    if (folded === undefined) return versionFailure("stored run");
    const { state, entries } = folded;
    // The store's own expiry is not sealed either: it may delete a run sooner, and let none be resumed later.
    if (Date.now() > sealedExpiryOf(state, entries)) return unknownRun(run.id);
    if (suspensionId !== undefined && suspensionId !== state.id) {
      return { code: "token_used", message: "Cannot resume: the token was used before, its run has gone on" };
    }
    const awaitOutcome =
      (call: number, executor: string): Elsewhere["outcome"] =>
      (isOver) =>
        this.#awaitOutcome(run.id, call, executor, isOver);
    const recovered = recover(state, entries, outcomes, tools, awaitOutcome, saved);
    const posted = new Set([...outcomes.keys(), ...openCalls(recovered.run.ledger)]);
    const { length } = run.journal;
    const { ledger } = recovered.run;
    const facts = await inTurns(factsSteps(ledger, ledger, pendingOf(recovered), this.#namesTools));
    return {
      recovered,
      kept: { epoch: opened.state.id, length, size, mayStay: isCurrent, posted, facts },
      hasMoved: entries.length > 0,
    };
  }

  /**
   * The outcome of a call that an executor went on with, whenever that posts it; undefined when the executor is gone
   * without one, or the run is over here. Rejects when the run is gone, the outcome cannot be opened, or the store does not
   * answer.
   */
  async #awaitOutcome(
    runId: string,
    call: number,
    executor: string,
    isOver: () => boolean,
  ): Promise<CallOutcome | undefined> {
    let changed = Promise.withResolvers<void>();
    const onChange = (): void => {
      changed.resolve();
      changed = Promise.withResolvers();
    };
    const unwatch = await persistently(() => this.#watch(runId, onChange), "endless");
    try {
      while (!isOver()) {
        const change = changed.promise;
        // Asked first: an executor posts before it leaves.
        const isThere = await persistently(() => answered(this.#store.attends(executor)), "endless");
        const outcomes = await persistently(() => answered(this.#store.outcomes(runId)), "endless");
        if (outcomes === undefined) throw new StoreError("stale_claim", `Run "${runId}" is gone`);
        const bytes = outcomes.get(call);
        const outcome = bytes === undefined ? undefined : await this.#bytes.openOutcome(runId, call, bytes);
        // There is one, and whoever has the key of its executor can go on with it.
        if (outcome !== undefined && "code" in outcome) throw new CodecellError(outcome);
        if (outcome !== undefined) return outcome;
        if (!isThere) return undefined;
        await within(this.#leaseMs / RENEWALS, change, false);
      }
      return undefined;
    } finally {
      unwatch();
    }
  }

  async #watch(runId: string, onChange: () => void): Promise<() => void> {
    const watching = this.#store.watch(runId, onChange);
    try {
      return await answered(watching);
    } catch (error) {
      // One that begins when nobody waits for it any more.
      watching.then(
        (unwatch) => unwatch(),
        () => {},
      );
      throw error;
    }
  }

  /** Records what a call came to that was executing when its run was suspended. */
  async post(runId: string, outcome: CallOutcome, until: number): Promise<void> {
    const { call } = outcome;
    const bytes = await this.#bytes.sealOutcome(runId, outcome);
    await this.#executor.post(runId, outcome, until, () => this.#store.post(runId, call, bytes));
  }
}

function pendingOf({ run }: Recovered): number[] {
  return run.pending.map(([call]) => call);
}

/** Those without an outcome. */
function openCalls({ calls, deliveries }: Ledger): number[] {
  const settled = settledCalls(deliveries);
  return [...calls.keys()].filter((call) => !settled.has(call));
}

function unknownRun(id: string): Failure {
  const name = id.length > STORE_TEXT_BYTES ? `${id.slice(0, 64)}…` : id;
  return {
    code: "run_unknown",
    message: `Cannot resume run "${name}": the store has none of this id, it ended, expired or never was`,
  };
}

/** Long enough for the run to use up its time and to wait for somebody afterwards. */
function expiryOf({ wallTimeMs, suspensionTimeMs }: Limits, from = Date.now()): number {
  return from + wallTimeMs + suspensionTimeMs;
}

/** Of a suspended run its own; one that has gone on since may be taken up for as long as it could have moved its own to. */
function sealedExpiryOf({ expiresAt, ledger }: SuspendedRun, entries: readonly JournalEntry[]): number {
  let latest = -Infinity;
  for (const entry of entries) {
    if (entry.kind === "turn" || entry.kind === "taken") latest = Math.max(latest, entry.at);
    else if (entry.kind === "delivery") latest = Math.max(latest, entry.delivery.clock);
  }
  return Math.max(expiresAt, expiryOf(ledger.limits, latest));
}
