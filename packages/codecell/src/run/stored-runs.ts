/**
 * StoredRuns: the runs of a host that its store keeps.
 *
 * - What goes into the store is sealed and bound to its run and place; what comes back is authenticated before a byte
 *   of it is interpreted.
 * - A run is taken by claiming it: exactly one process goes on with it.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Failure } from "../contract/failure.ts";
import { LIMIT_BOUNDS } from "../contract/limits.ts";
import { type Claim, type Claimed, type Store, StoreError } from "../contract/store.ts";
import type { ToolSet } from "../contract/tool.ts";
import { type JournalEntry, type LateOutcome, parseJournalEntry } from "../suspend/journal-entry.ts";
import { type LedgerBook, settledCalls } from "../suspend/ledger-book.ts";
import {
  parseHeader,
  parseSuspendedRun,
  type RunAtRest,
  type SuspendedRun,
  toSealable,
  toSuspendedRun,
} from "../suspend/suspended-run.ts";
import type { Reference } from "../suspend/token.ts";
import { type Vault, versionFailure } from "../suspend/vault.ts";
import { Journal, toStoreFailure } from "./journal.ts";
import { type Recovered, recover } from "./recovery.ts";

export interface TakenRun extends Recovered {
  readonly journal: Journal;
}

const OWNER = `process ${process.pid}`;
const NOTHING = new Uint8Array();
/** When a store that cannot be reached is asked for an outcome again. */
const ASK_AGAIN_MS = 500;
/** What is unpacked of one thing in the store. */
const MAX_BYTES = LIMIT_BOUNDS.suspensionBytes.max;

type Found = Extract<Claimed, { status: "claimed" }>;

export class StoredRuns {
  readonly #store: Store;
  readonly #vault: Vault;
  readonly #leaseMs: number;

  constructor(store: Store, vault: Vault, leaseMs: number) {
    this.#store = store;
    this.#vault = vault;
    this.#leaseMs = leaseMs;
  }

  /** Begins to keep a new run. */
  keep(book: LedgerBook, scope: string): Journal {
    const { runId, limits } = book.header;
    const expiresAt = Date.now() + limits.wallTimeMs + limits.suspensionTimeMs;
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
    const state = this.#seal(first);
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
    let claimed: Claimed;
    try {
      claimed = await this.#store.claim(id, this.#lease);
    } catch (error) {
      return toStoreFailure(error);
    }
    if (claimed.status === "absent") {
      return {
        code: "run_unknown",
        message: `Cannot resume run "${id}": the store has none of this id, it ended, expired or never was`,
      };
    }
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
        await this.#store.release(claimed.claim);
        return opened;
      }
      check(opened.run);
      taken = opened;
    } catch (error) {
      await this.#store.release(claimed.claim);
      throw error;
    }
    const { journal } = claimed.run;
    return {
      ...taken,
      journal: this.#journal(id, taken.epoch, Promise.resolve(claimed.claim), journal.length),
    };
  }

  /** Gives a run back to the store, to be resumed by its id. Returns the suspension's own id, and when it expires. */
  async suspend(
    journal: Journal,
    book: LedgerBook,
    scope: string,
    rest: RunAtRest,
  ): Promise<{ readonly id: string; readonly expiresAt: number } | Failure> {
    const { limits } = book.header;
    const run = toSuspendedRun(book, scope, rest);
    const { expiresAt } = run;
    const state = this.#seal(run);
    if (state.length > limits.suspensionBytes) {
      return {
        code: "suspension_limit",
        message: `Cannot suspend the run: it takes ${state.length} bytes, at most ${limits.suspensionBytes} are allowed`,
      };
    }
    try {
      await journal.release({
        state,
        expiresAt,
        absorbed: [
          ...settledCalls(run.ledger.deliveries),
          ...rest.pending.keys(),
          ...rest.resolutions.map(([call]) => call),
        ],
      });
      return { id: run.id, expiresAt };
    } catch (error) {
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
    if (run.scope !== scope || state.scope !== scope) {
      return {
        code: "run_unknown",
        message: `Cannot resume run "${run.id}": the store has none of this id, it ended, expired or never was`,
      };
    }
    if (suspensionId !== undefined && suspensionId !== state.id) {
      return { code: "token_used", message: "Cannot resume: the token was used before, its run has gone on" };
    }
    const entries: JournalEntry[] = [];
    for (const [place, bytes] of run.journal.entries()) {
      const entry = this.#decode(bytes, placeOf(run.id, state.id, place)) as JournalEntry | Failure;
      if ("code" in entry) return entry;
      entries.push(entry);
    }
    const outcomes = new Map<number, LateOutcome>();
    for (const [call, bytes] of run.outcomes) {
      const outcome = this.#decodeOutcome(run.id, call, bytes);
      if ("code" in outcome) return outcome;
      outcomes.set(call, outcome);
    }
    const recovered = recover(state, entries, outcomes, tools, (call) => {
      const outcome = this.#awaitOutcome(run.id, call);
      // A run that is refused, or ends before, asks for it no more.
      outcome.catch(() => {});
      return outcome;
    });
    return { ...recovered, epoch: state.id };
  }

  /** The outcome of a call that another process executes, whenever that posts it; rejects when the run is gone. */
  async #awaitOutcome(runId: string, call: number): Promise<LateOutcome> {
    let changed = Promise.withResolvers<void>();
    const unwatch = await this.#store.watch(runId, () => {
      changed.resolve();
      changed = Promise.withResolvers();
    });
    try {
      for (;;) {
        const change = changed.promise;
        const outcomes = await this.#outcomesOf(runId);
        const bytes = outcomes.get(call);
        const outcome = bytes === undefined ? undefined : this.#decodeOutcome(runId, call, bytes);
        if (outcome !== undefined && !("code" in outcome)) return outcome;
        await change;
      }
    } finally {
      unwatch();
    }
  }

  async #outcomesOf(runId: string): Promise<ReadonlyMap<number, Uint8Array>> {
    for (;;) {
      try {
        const outcomes = await this.#store.outcomes(runId);
        if (outcomes === undefined) throw new StoreError("stale_claim", `Run "${runId}" is gone`);
        return outcomes;
      } catch (error) {
        if (!StoreError.is(error) || error.code !== "unavailable") throw error;
        await sleep(ASK_AGAIN_MS);
      }
    }
  }

  #decodeOutcome(runId: string, call: number, bytes: Uint8Array): LateOutcome | Failure {
    return this.#decode(bytes, outcomeOf(runId, call)) as LateOutcome | Failure;
  }

  /** Records what a call came to that was executing when its run was suspended. */
  async post(runId: string, outcome: LateOutcome): Promise<void> {
    await this.#store.post(runId, outcome.call, this.#encode(outcome, outcomeOf(runId, outcome.call)));
  }

  #seal(run: SuspendedRun): Uint8Array {
    return this.#vault.sealer.sealBytes(toSealable(run), stateOf(run.ledger.runId));
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

  #encode(value: JournalEntry | LateOutcome, purpose: string): Uint8Array {
    const content = Buffer.from(JSON.stringify(value), "utf8");
    return this.#vault.sealer.sealBytes({ header: NOTHING, content }, purpose);
  }

  #decode(sealed: Uint8Array, purpose: string): JournalEntry | LateOutcome | Failure {
    const opened = this.#vault.sealer.openBytes(sealed, purpose, MAX_BYTES);
    if (!opened.ok) return this.#vault.refusal(opened.problem, "stored run");
    const content = opened.content();
    const entry = content === undefined ? undefined : parseJournalEntry(content);
    return entry ?? versionFailure("stored run");
  }
}

function stateOf(runId: string): string {
  return `${runId}:state`;
}

/** Bound to the state it follows: entries of an earlier one fit nowhere. */
function placeOf(runId: string, epoch: string, place: number): string {
  return `${runId}:${epoch}:${place}`;
}

function outcomeOf(runId: string, call: number): string {
  return `${runId}:outcome:${call}`;
}
