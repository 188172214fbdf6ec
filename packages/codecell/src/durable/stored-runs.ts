/**
 * StoredRuns: the runs that a host keeps in its store. Runs on the host.
 *
 * - Whatever goes into the store is sealed and bound to its run and place. Whatever comes back is authenticated before a
 *   byte of it is interpreted.
 * - A run is opened by claiming it: exactly one process goes on with it.
 */
import { cutShort } from "../contract/cut-short.ts";
import { randomUUID } from "node:crypto";
import type { Failure } from "../contract/failure.ts";
import type { ErrorListener } from "../contract/host-error.ts";
import type { Limits } from "../contract/limits.ts";
import {
  type Claim,
  type Claimed,
  isStoreText,
  type Store,
  STORE_TEXT_BYTES,
  type StoredRun,
} from "../contract/store.ts";
import type { ToolSet } from "../contract/tool.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import { atOnce, inTurns, isTurnLong, nextTurn } from "../loop/turn.ts";
import { sizeOf } from "../seal/seal.ts";
import type { Vault } from "../seal/vault.ts";
import { answered } from "./answered.ts";
import { EndedRuns, type StoreFacts } from "./ended-runs.ts";
import { Executor } from "./executor.ts";
import type { JournalEntry } from "./journal-entry.ts";
import { Journal, type JournalSetup } from "./journal.ts";
import { persistently } from "./persistently.ts";
import { type RecoverableRun, recover } from "./recovery.ts";
import { factsSteps } from "./run-facts.ts";
import type { KeepingTerms, OpenRun, RunKeeping } from "./run-keeping.ts";
import type { RunPast } from "./run-past.ts";
import { toStoreFailure } from "./store-failure.ts";
import { StoredBytes, type WrittenJournal } from "./stored-bytes.ts";
import { StoredKeeping, type StoreParts } from "./stored-keeping.ts";
import { sealableSteps, type SuspendedRun } from "./suspended-run.ts";
import { type Reference, Tokens } from "./token.ts";

const NO_FACTS: StoreFacts = { namesTools: false, ended: undefined };

/** A past of this size is printed and sealed at once. Only a fork has more when it begins. */
const SMALL_PAST = 65_536;

const OWNER = `process ${process.pid}`;

export class StoredRuns {
  readonly ended: EndedRuns;
  readonly #parts: StoreParts;

  constructor(store: Store, vault: Vault, leaseMs: number, facts: StoreFacts = NO_FACTS) {
    this.ended = new EndedRuns(store, vault, facts);
    this.#parts = {
      store,
      leaseMs,
      bytes: new StoredBytes(vault),
      tokens: new Tokens(vault),
      executor: new Executor(store, leaseMs),
      ended: this.ended,
      namesTools: facts.namesTools,
    };
  }

  /** Begins to keep a new run. */
  keep(recorder: LedgerRecorder, terms: KeepingTerms): RunKeeping & { readonly journal: Journal } {
    const { scope } = terms;
    if (!isStoreText(scope)) {
      throw new RangeError(
        `Cannot keep a run of this scope in a store: it needs well-formed text without NUL, of at most ${STORE_TEXT_BYTES} bytes`,
      );
    }
    const { store, bytes, namesTools } = this.#parts;
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
      ...(recorder.isRepeated ? { isRepeated: true } : {}),
    };
    const facts = atOnce(factsSteps(ledger, ledger, [], namesTools));
    const put = (state: Uint8Array): Promise<Claim> =>
      store.put({ id: runId, scope, expiresAt, state, facts }, this.#lease);
    const start = { bytes: bytes.following(runId, first.id), length: 0, posted: new Set<number>(), facts };
    let journal: Journal;
    if (recorder.size > SMALL_PAST) {
      const claim = inTurns(sealableSteps(first)).then(async (sealable) =>
        put(await bytes.sealState(runId, sealable)),
      );
      // How large the run is is known too late to leave its journal in place: it is printed when it is suspended.
      journal = openJournal(this.#parts, claim, { ...start, size: 0, mayStay: false });
    } else {
      const sealable = atOnce(sealableSteps(first));
      const claim = put(bytes.sealFirst(runId, sealable));
      journal = openJournal(this.#parts, claim, { ...start, size: sizeOf(sealable), mayStay: true });
    }
    return new StoredKeeping(this.#parts, journal, recorder, terms);
  }

  /**
   * Claims a run and opens it. `errors` is told what the store threw, because others than the host may read the
   * failure.
   */
  async open(
    reference: Reference,
    scope: string,
    tools: ToolSet,
    errors: ErrorListener,
  ): Promise<OpenRun | Failure> {
    const { id } = reference;
    // Ids come from clients. No store has a run with an id like this.
    if (id === "" || !isStoreText(id) || !isStoreText(scope)) return unknownRun(id);
    const claiming = this.#parts.store.claim(id, this.#lease, scope);
    let claimed: Claimed;
    try {
      claimed = await answered(claiming);
    } catch (error) {
      // The store may still claim the run when nobody waits for it any more.
      claiming.then(
        (late) => (late.status === "claimed" ? giveBack(this.#parts.store, late.claim) : undefined),
        () => {},
      );
      errors.end({ source: "store", cause: error });
      return toStoreFailure(error);
    }
    if (claimed.status === "absent") return unknownRun(id);
    if (claimed.status === "held") {
      return {
        code: "run_held",
        message: `Cannot resume run "${id}": ${claimed.owner} holds it, it goes on there`,
      };
    }
    const { claim, run } = claimed;
    let opened: OpenRun | Failure | undefined;
    try {
      opened = await this.#open(run, claim, reference, scope, tools);
      return opened;
    } finally {
      if (opened === undefined || "code" in opened) await giveBack(this.#parts.store, claim);
    }
  }

  async #open(
    run: StoredRun,
    claim: Claim,
    { suspensionId }: Reference,
    scope: string,
    tools: ToolSet,
  ): Promise<OpenRun | Failure> {
    const opened = await this.#parts.bytes.open(run);
    if ("code" in opened) return opened;
    const { state, entries } = opened;
    // There may be a million entries, and they have just been read.
    while (isTurnLong()) await nextTurn();
    // The store's own scope and expiry are not sealed. The store may delete a run earlier; it cannot let a run be
    // resumed later, or by others.
    if (run.scope !== scope || state.scope !== scope) return unknownRun(run.id);
    if (Date.now() > sealedExpiryOf(state, entries)) return unknownRun(run.id);
    if (suspensionId !== undefined && suspensionId !== state.id) {
      return { code: "token_used", message: "Cannot resume: the token was used before, its run has gone on" };
    }
    // The executor of a stored run's call can always be asked.
    const past = await inTurns(recover(opened, tools, () => true));
    const start = await this.#startOf(opened, past);
    return new OpenStoredRun(this.#parts, {
      claim,
      past,
      start,
      expiresAt: run.expiresAt,
      hasMoved: entries.length > 0,
    });
  }

  /** Where the journal of an opened run goes on. */
  async #startOf(
    { written, outcomes }: { readonly written: WrittenJournal } & Pick<RecoverableRun, "outcomes">,
    { recorder, pending }: RunPast,
  ): Promise<JournalStart> {
    const { namesTools } = this.#parts;
    return {
      ...written,
      posted: new Set([...outcomes.keys(), ...openCalls(recorder)]),
      facts: await inTurns(factsSteps(recorder.header, recorder, [...pending.keys()], namesTools)),
    };
  }

  get #lease(): { readonly owner: string; readonly ms: number } {
    return { owner: OWNER, ms: this.#parts.leaseMs };
  }
}

/** A run that this process has claimed. */
interface ClaimedRun {
  readonly expiresAt: number;
  readonly claim: Claim;
  readonly past: RunPast;
  readonly start: JournalStart;
  /** Whether anything was written since the run was suspended. */
  readonly hasMoved: boolean;
}

class OpenStoredRun implements OpenRun {
  readonly past: RunPast;
  readonly #parts: StoreParts;
  readonly #claimed: ClaimedRun;

  constructor(parts: StoreParts, claimed: ClaimedRun) {
    this.past = claimed.past;
    this.#parts = parts;
    this.#claimed = claimed;
  }

  take(terms: KeepingTerms): RunKeeping {
    const { expiresAt, hasMoved } = this.#claimed;
    const { recorder, timers } = this.past;
    const { limits } = recorder.header;
    const journal = this.#journal();
    const isMoved = expiresAt < Date.now() + limits.wallTimeMs + this.#parts.leaseMs;
    // Not awaited: the entry matters only if this process dies.
    if (isMoved || (!hasMoved && timers.length > 0)) {
      void journal.write({ kind: "taken", at: Date.now() }, isMoved ? expiryOf(limits) : undefined);
    }
    return new StoredKeeping(this.#parts, journal, recorder, terms);
  }

  giveBack(): Promise<void> {
    return giveBack(this.#parts.store, this.#claimed.claim);
  }

  discard(): Promise<void> {
    return this.#journal().delete();
  }

  #journal(): Journal {
    return openJournal(this.#parts, Promise.resolve(this.#claimed.claim), this.#claimed.start);
  }
}

/** If giving back fails, the run is free when its lease has run out. */
async function giveBack(store: Store, claim: Claim): Promise<void> {
  await persistently(() => answered(store.release(claim))).catch(() => {});
}

function openJournal({ store, leaseMs }: StoreParts, claim: Promise<Claim>, start: JournalStart): Journal {
  return new Journal({ ...start, store, leaseMs, claim });
}

/** What the store already holds of a run. */
type JournalStart = Omit<JournalSetup, "store" | "claim" | "leaseMs">;

/** The calls without an outcome. */
function openCalls(recorder: LedgerRecorder): number[] {
  return [...recorder.calls.keys()].filter((call) => !recorder.isSettled(call));
}

function unknownRun(id: string): Failure {
  const name = id.length > STORE_TEXT_BYTES ? cutShort(id, 64) : id;
  return {
    code: "run_unknown",
    message: `Cannot resume run "${name}": the store has no run with this id: it ended, expired or never existed`,
  };
}

/** Long enough for the run to use up its time and to wait for somebody afterwards. */
function expiryOf({ wallTimeMs, suspensionTimeMs }: Limits, from = Date.now()): number {
  return from + wallTimeMs + suspensionTimeMs;
}

/**
 * A suspended run has an expiry. A run that has gone on since can be taken up for as long as a process could have moved
 * its expiry.
 */
function sealedExpiryOf({ expiresAt, ledger }: SuspendedRun, entries: readonly JournalEntry[]): number {
  let latest = -Infinity;
  for (const entry of entries) {
    if (entry.kind === "report" || entry.kind === "taken") latest = Math.max(latest, entry.at);
    else if (entry.kind === "delivery") latest = Math.max(latest, entry.delivery.clock);
  }
  return Math.max(expiresAt, expiryOf(ledger.limits, latest));
}
