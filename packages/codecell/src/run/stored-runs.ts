/**
 * StoredRuns: the runs of a host that its store keeps.
 *
 * - What goes into the store is sealed and bound to its run and place; what comes back is authenticated before a byte
 *   of it is interpreted.
 * - A run is taken by claiming it: exactly one process goes on with it.
 */
import { randomUUID } from "node:crypto";
import type { Failure } from "../contract/failure.ts";
import { LIMIT_BOUNDS, type Limits } from "../contract/limits.ts";
import {
  type Claim,
  type Claimed,
  isStoreText,
  type Store,
  STORE_TEXT_BYTES,
  StoreError,
} from "../contract/store.ts";
import type { ToolSet } from "../contract/tool.ts";
import {
  type JournalEntry,
  type LateOutcome,
  parseJournalEntry,
  parseLateOutcome,
  parseProgress,
} from "../suspend/journal-entry.ts";
import { toJsonBytes } from "../suspend/json-bytes.ts";
import { type LedgerBook, settledCalls } from "../suspend/ledger-book.ts";
import type { Sealable } from "../suspend/seal.ts";
import {
  giveAway,
  parseHeader,
  parseSuspendedRun,
  type RunAtRest,
  type SuspendedRun,
  toSealable,
} from "../suspend/suspended-run.ts";
import type { Reference } from "../suspend/token.ts";
import { type Vault, versionFailure } from "../suspend/vault.ts";
import { answered } from "./answered.ts";
import { Journal, toStoreFailure } from "./journal.ts";
import { type Elsewhere, type Recovered, recover } from "./recovery.ts";
import { Executor } from "./executor.ts";
import { persistently, RENEWALS } from "./persistently.ts";
import type { CellSnapshot } from "./residence.ts";
import { within } from "./timers.ts";

export interface TakenRun extends Recovered {
  readonly journal: Journal;
}

const OWNER = `process ${process.pid}`;
const NOTHING = new Uint8Array();
/** What is unpacked of one thing in the store. */
const MAX_BYTES = LIMIT_BOUNDS.suspensionBytes.max;

type Found = Extract<Claimed, { status: "claimed" }>;

export class StoredRuns {
  readonly #store: Store;
  readonly #vault: Vault;
  readonly #leaseMs: number;
  readonly #executor: Executor;

  constructor(store: Store, vault: Vault, leaseMs: number) {
    this.#store = store;
    this.#vault = vault;
    this.#leaseMs = leaseMs;
    this.#executor = new Executor(store, leaseMs);
  }

  /** Begins to keep a new run. */
  keep(book: LedgerBook, scope: string): Journal {
    if (!isStoreText(scope)) {
      throw new RangeError(
        `Cannot keep a run of this scope in a store: it needs well-formed text without NUL, of at most ${STORE_TEXT_BYTES} bytes`,
      );
    }
    const { runId, limits } = book.header;
    const expiresAt = expiryOf(limits);
    const ledger = book.toLedger();
    const first: SuspendedRun = {
      id: randomUUID(),
      scope,
      expiresAt,
      ledger,
      seen: book.seen,
      timers: [],
      pending: [],
      executing: [],
      resolutions: [],
    };
    const state = this.#seal(runId, toSealable(first));
    const claim = this.#store.put({ id: runId, scope, expiresAt, state }, this.#lease);
    return this.#journal(runId, first.id, claim, 0);
  }

  /** Takes a run up; `check` may refuse it by throwing, and then nothing has changed. */
  async take(
    { id, suspensionId }: Reference,
    scope: string,
    tools: ToolSet,
    check: (run: SuspendedRun) => void,
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
      return toStoreFailure(error);
    }
    if (claimed.status === "absent") return unknownRun(id);
    if (claimed.status === "held") {
      return {
        code: "run_held",
        message: `Cannot resume run "${id}": ${claimed.owner} holds it, it goes on there`,
      };
    }
    let taken: Recovered & { readonly epoch: string };
    try {
      const opened = this.#open(claimed, suspensionId, scope, tools);
      if ("code" in opened) {
        await this.#giveBack(claimed.claim);
        return opened;
      }
      check(opened.run);
      taken = opened;
    } catch (error) {
      await this.#giveBack(claimed.claim);
      throw error;
    }
    const { length } = claimed.run.journal;
    const journal = this.#journal(id, taken.epoch, Promise.resolve(claimed.claim), length);
    // Neither is waited for: they matter only if this process dies.
    if (length === 0 && taken.run.timers.length > 0) void journal.write({ kind: "taken", at: Date.now() });
    const { limits } = taken.run.ledger;
    if (claimed.run.expiresAt < Date.now() + limits.wallTimeMs + this.#leaseMs) {
      journal.expireAt(expiryOf(limits));
    }
    return { ...taken, journal };
  }

  /** As it is; one that cannot be given back is free when its lease has run out. */
  async #giveBack(claim: Claim): Promise<void> {
    await answered(this.#store.release(claim)).catch(() => {});
  }

  /** Gives a run back to the store, to be resumed by its id. Returns the suspension's own id, and when it expires. */
  async suspend(
    journal: Journal,
    book: LedgerBook,
    scope: string,
    rest: RunAtRest,
  ): Promise<{ readonly id: string; readonly expiresAt: number } | Failure> {
    const { runId } = book.header;
    const given = giveAway(book, scope, this.#executor.id, rest);
    if ("code" in given) return given;
    const { run, sealable } = given;
    const { expiresAt } = run;
    const state = this.#seal(runId, sealable);
    // Those left to an executor before are that one's concern, even if it is this process.
    const isLeft = (call: number): boolean => rest.executing.get(call) !== undefined;
    const here = [...rest.executing.keys()].filter((call) => !isLeft(call));
    try {
      await this.#executor.begin(runId, here);
      await journal.release({
        state,
        expiresAt,
        absorbed: [
          ...settledCalls(run.ledger.deliveries),
          ...rest.pending.keys(),
          // What it asked before the decision.
          ...rest.resolutions.map(([call]) => call).filter((call) => !isLeft(call)),
        ],
      });
      return { id: run.id, expiresAt };
    } catch (error) {
      this.#executor.end(runId, here);
      return toStoreFailure(error);
    }
  }

  get #lease(): { readonly owner: string; readonly ms: number } {
    return { owner: OWNER, ms: this.#leaseMs };
  }

  #journal(runId: string, epoch: string, claim: Promise<Claim>, length: number): Journal {
    return new Journal({
      store: this.#store,
      claim,
      leaseMs: this.#leaseMs,
      length,
      encode: (entry, place) => this.#encode(entry, placeOf(runId, epoch, place)),
      encodeSnapshot: ({ bytes, progress }) => {
        const header = toJsonBytes(progress);
        return this.#vault.sealer.sealBytes({ header, content: bytes }, snapshotOf(runId, epoch));
      },
      decodeSnapshot: (bytes) => {
        const snapshot = this.#openSnapshot(bytes, snapshotOf(runId, epoch));
        return snapshot === undefined || "code" in snapshot ? undefined : snapshot;
      },
    });
  }

  #open(
    { run }: Found,
    suspensionId: string | undefined,
    scope: string,
    tools: ToolSet,
  ): (Recovered & { readonly epoch: string }) | Failure {
    const state = this.#openState(run.id, run.state);
    if ("code" in state) return state;
    // What the store says of it is not sealed.
    if (run.scope !== scope || state.scope !== scope) return unknownRun(run.id);
    if (suspensionId !== undefined && suspensionId !== state.id) {
      return { code: "token_used", message: "Cannot resume: the token was used before, its run has gone on" };
    }
    const entries: JournalEntry[] = [];
    for (const [place, bytes] of run.journal.entries()) {
      const entry = this.#decode(bytes, placeOf(run.id, state.id, place), parseJournalEntry);
      if ("code" in entry) return entry;
      entries.push(entry);
    }
    const outcomes = new Map<number, LateOutcome>();
    for (const [call, bytes] of run.outcomes) {
      const outcome = this.#decodeOutcome(run.id, call, bytes);
      if ("code" in outcome) return outcome;
      outcomes.set(call, outcome);
    }
    const saved =
      run.snapshot === undefined ? undefined : this.#openSnapshot(run.snapshot, snapshotOf(run.id, state.id));
    if (saved !== undefined && "code" in saved) return saved;
    const awaitOutcome =
      (call: number, executor: string): Elsewhere["outcome"] =>
      (isOver) =>
        this.#awaitOutcome(run.id, call, executor, isOver);
    return { ...recover(state, entries, outcomes, tools, awaitOutcome, saved), epoch: state.id };
  }

  /**
   * The outcome of a call that an executor went on with, whenever that posts it; undefined when the executor is gone
   * without one, or the run is over here. Rejects when the run is gone, or the store does not answer.
   */
  async #awaitOutcome(
    runId: string,
    call: number,
    executor: string,
    isOver: () => boolean,
  ): Promise<LateOutcome | undefined> {
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
        const outcome = bytes === undefined ? undefined : this.#decodeOutcome(runId, call, bytes);
        if (outcome !== undefined && !("code" in outcome)) return outcome;
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

  #decodeOutcome(runId: string, call: number, bytes: Uint8Array): LateOutcome | Failure {
    return this.#decode(bytes, outcomeOf(runId, call), parseLateOutcome);
  }

  /** Records what a call came to that was executing when its run was suspended. */
  async post(runId: string, outcome: LateOutcome, until: number): Promise<void> {
    const { call } = outcome;
    const bytes = this.#encode(outcome, outcomeOf(runId, call));
    await this.#executor.post(runId, outcome, until, () => this.#store.post(runId, call, bytes));
  }

  #seal(runId: string, sealable: Sealable): Uint8Array {
    return this.#vault.sealer.sealBytes(sealable, stateOf(runId));
  }

  #openState(runId: string, bytes: Uint8Array): SuspendedRun | Failure {
    const opened = this.#vault.sealer.openBytes(bytes, stateOf(runId), MAX_BYTES);
    if (!opened.ok) return this.#vault.refusal(opened.problem, "stored run");
    const header = parseHeader(opened.header);
    const content = header === undefined ? undefined : opened.content();
    const run =
      header === undefined || content === undefined ? undefined : parseSuspendedRun(header, content);
    return run ?? versionFailure("stored run");
  }

  /** Undefined for what this version does not understand. */
  #openSnapshot(sealed: Uint8Array, purpose: string): CellSnapshot | Failure | undefined {
    const opened = this.#vault.sealer.openBytes(sealed, purpose, MAX_BYTES);
    if (!opened.ok) return this.#vault.refusal(opened.problem, "stored run");
    const progress = parseProgress(opened.header);
    const content = progress === undefined ? undefined : opened.content();
    if (progress === undefined || content === undefined) return undefined;
    // Of its own: it is handed to a worker.
    return { bytes: new Uint8Array(content), progress };
  }

  #encode(value: JournalEntry | LateOutcome, purpose: string): Uint8Array {
    return this.#vault.sealer.sealBytes({ header: NOTHING, content: toJsonBytes(value) }, purpose);
  }

  #decode<T>(sealed: Uint8Array, purpose: string, parse: (bytes: Uint8Array) => T | undefined): T | Failure {
    const opened = this.#vault.sealer.openBytes(sealed, purpose, MAX_BYTES);
    if (!opened.ok) return this.#vault.refusal(opened.problem, "stored run");
    const content = opened.content();
    const parsed = content === undefined ? undefined : parse(content);
    return parsed ?? versionFailure("stored run");
  }
}

function unknownRun(id: string): Failure {
  const name = id.length > STORE_TEXT_BYTES ? `${id.slice(0, 64)}…` : id;
  return {
    code: "run_unknown",
    message: `Cannot resume run "${name}": the store has none of this id, it ended, expired or never was`,
  };
}

/** Long enough for the run to use up its time and to wait for somebody afterwards. */
function expiryOf({ wallTimeMs, suspensionTimeMs }: Limits): number {
  return Date.now() + wallTimeMs + suspensionTimeMs;
}

function stateOf(runId: string): string {
  return `${runId}:state`;
}

/** Bound to the state it follows: entries of an earlier one fit nowhere. */
function placeOf(runId: string, epoch: string, place: number): string {
  return `${runId}:${epoch}:${place}`;
}

function snapshotOf(runId: string, epoch: string): string {
  return `${runId}:${epoch}:snapshot`;
}

function outcomeOf(runId: string, call: number): string {
  return `${runId}:outcome:${call}`;
}
