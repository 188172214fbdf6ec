/**
 * Journal: keeps a run's ledger in the store, ahead of what the run does.
 *
 * - A call is written before it is dispatched, an outcome before the guest sees it.
 * - What is written while a write is under way joins the next one: a busy run makes few large writes.
 * - Breaks once, when the store refuses or does not answer: then nothing more is written, and the run must not go on here.
 */
import type { CellSnapshot } from "../protocol/messages.ts";
import type { RunResult } from "../contract/result.ts";
import {
  type Claim,
  type EndState,
  type LastEntry,
  type NextState,
  type RunFacts,
  type Store,
  StoreError,
} from "../contract/store.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import type { JournalEntry } from "./journal-entry.ts";
import type { SealedEntries } from "./stored-bytes.ts";
import { CodecellError, type Failure } from "../contract/failure.ts";
import { answered, Unanswered } from "./answered.ts";
import { isUnavailable, persistently, RENEWALS } from "./persistently.ts";
import { addFacts } from "./run-facts.ts";
import { within } from "../loop/wait.ts";

export interface JournalSetup {
  readonly store: Store;
  /** The claim, as soon as the store has given it. */
  readonly claim: Promise<Claim>;
  readonly leaseMs: number;
  /** Number of places that are taken already. */
  readonly length: number;
  /** Bytes of its state and entries, unpacked. */
  readonly size: number;
  /** Whether it may stay when the run is given back: not under a seal that the next process may no longer open. */
  readonly mayStay: boolean;
  /** Calls of which others may have posted an outcome. */
  readonly posted: ReadonlySet<number>;
  /** What lists say of its calls so far. */
  readonly facts: RunFacts;
  /** Makes the bytes of what will stand at a place. */
  readonly encode: (entries: readonly JournalEntry[], place: number) => Promise<SealedEntries>;
  readonly encodeSnapshot: (snapshot: CellSnapshot) => Promise<Uint8Array>;
  /** Undefined for what cannot be trusted or understood. */
  readonly decodeSnapshot: (bytes: Uint8Array) => Promise<CellSnapshot | undefined>;
  /** What stays of the run when it has ended; undefined for nothing. */
  readonly toEndState: (result: RunResult, recorder: LedgerRecorder) => Promise<EndState | undefined>;
  /** Called when that is in the store. */
  readonly onKept: () => void;
}

/** How long the end of a run waits for its store. */
const END_MS = 5000;

export class Journal {
  /** Called when the store has refused for good. */
  onBroken: (failure: Failure, error: unknown) => void = () => {};
  /** Called when a run that was to be kept after its end is deleted instead, with the reason. */
  onUnkept: (error: unknown) => void = () => {};
  readonly #setup: JournalSetup;
  readonly #renewal: NodeJS.Timeout;
  #length: number;
  #size: number;
  #facts: RunFacts;
  /** Entries that go into the next write. */
  #waiting: JournalEntry[] = [];
  /** The write that entries added now will be part of. */
  #next: Promise<void> | undefined;
  /** Where the next write, behind its entries, moves the run's expiry. */
  #expiry: number | undefined;
  /** Everything that was begun so far; never rejects. */
  #last: Promise<unknown>;
  #broken: StoreError | undefined;

  constructor(setup: JournalSetup) {
    this.#setup = setup;
    this.#length = setup.length;
    this.#size = setup.size;
    this.#facts = setup.facts;
    this.#last = answered(setup.claim).catch((error: unknown) => this.#break(error));
    this.#renewal = setInterval(() => this.#renew(), setup.leaseMs / RENEWALS);
    this.#renewal.unref();
  }

  /** Calls of which the store may hold an outcome, until the run is given back. */
  get posted(): ReadonlySet<number> {
    return this.#setup.posted;
  }

  get mayStay(): boolean {
    return this.#setup.mayStay;
  }

  /**
   * Settles when the entry is durable; rejects when the journal is broken. With `expiresAt` it moves the run's expiry,
   * behind the entry that says so: of a store that says more than what is sealed nothing is believed.
   */
  write(entry: JournalEntry, expiresAt?: number): Promise<void> {
    this.#waiting.push(entry);
    this.#expiry ??= expiresAt;
    if (this.#next === undefined) {
      // Taken once: a second attempt writes the same ones, what came meanwhile has its place behind them.
      let written: Uint8Array | undefined;
      let expiry: number | undefined;
      let facts: RunFacts | undefined;
      const next = this.#after(async (claim) => {
        if (written === undefined) {
          const entries = this.#waiting;
          const place = this.#length++;
          expiry = this.#expiry;
          this.#waiting = [];
          this.#expiry = undefined;
          this.#next = undefined;
          const before = this.#facts;
          this.#facts = entries.reduce(addFacts, before);
          facts = this.#facts === before ? undefined : this.#facts;
          const { bytes, size } = await this.#setup.encode(entries, place);
          written = bytes;
          this.#size += size;
        }
        await this.#setup.store.append(claim, [written], facts);
        if (expiry !== undefined) this.#renew(expiry);
      });
      this.#next = next;
      // Whoever waits for it is told; nobody has to.
      next.catch(() => {});
    }
    return this.#next;
  }

  /** Keeps a snapshot in the store; false when that cannot be done, which does no harm. */
  async saveSnapshot(snapshot: CellSnapshot): Promise<boolean> {
    try {
      const bytes = await this.#setup.encodeSnapshot(snapshot);
      // Behind what it stands on, and not without that.
      await this.#last;
      if (this.#broken !== undefined) return false;
      await answered(this.#setup.store.saveSnapshot(await this.#setup.claim, bytes));
      return true;
    } catch {
      return false;
    }
  }

  /** The snapshot that was saved; undefined when it cannot be had. */
  async loadSnapshot(): Promise<CellSnapshot | undefined> {
    try {
      const bytes = await answered(this.#setup.store.loadSnapshot(await this.#setup.claim));
      return bytes && (await this.#setup.decodeSnapshot(bytes));
    } catch {
      return undefined;
    }
  }

  /** What the run can end on when it is given back; `size` is what the store holds of it then, unpacked. */
  async lastEntry(
    entry: JournalEntry,
    snapshot: CellSnapshot,
  ): Promise<Pick<LastEntry, "entry" | "snapshot"> & { readonly size: number }> {
    // Behind all others.
    await this.#last;
    const { bytes, size } = await this.#setup.encode([entry], this.#length);
    return {
      entry: bytes,
      snapshot: await this.#setup.encodeSnapshot(snapshot),
      size: this.#size + size + snapshot.bytes.length,
    };
  }

  /** Gives the run back to the store: in a new state, with one more entry, as it is, or as one that has ended. */
  async release(next?: NextState | LastEntry | EndState): Promise<void> {
    clearInterval(this.#renewal);
    await this.#after((claim) => this.#setup.store.release(claim, next));
  }

  /** Nothing of the run stays. */
  async delete(): Promise<void> {
    clearInterval(this.#renewal);
    await this.#after((claim) => this.#setup.store.delete(claim));
  }

  /**
   * The run has ended here, or is left to others. A store that refuses, or does not answer in time, keeps a run that ends
   * again, or goes on, where it is resumed.
   */
  async conclude(isLeft: boolean, result: RunResult, recorder: LedgerRecorder): Promise<void> {
    const given = isLeft ? this.release() : this.#end(result, recorder);
    await within(
      END_MS,
      given.catch(() => {}),
    );
  }

  async #end(result: RunResult, recorder: LedgerRecorder): Promise<void> {
    const { store, toEndState, onKept } = this.#setup;
    // What cannot be sealed is not kept; the run has ended all the same.
    const unkept = (error: unknown): undefined => {
      this.onUnkept(error);
      return undefined;
    };
    const state = this.#broken === undefined ? await toEndState(result, recorder).catch(unkept) : undefined;
    if (state === undefined) return this.delete();
    clearInterval(this.#renewal);
    await this.#after(async (claim) => {
      try {
        await store.release(claim, state);
      } catch (error) {
        if (!StoreError.is(error) || error.code !== "full") throw error;
        // It would stay as a run that can be resumed. A store that has no room for what is kept can always delete.
        await store.delete(claim);
        unkept(error);
      }
    });
    onKept();
  }

  /** One after the other, each tried again while the store says that nothing was changed and it may be. */
  #after(action: (claim: Claim) => Promise<void>): Promise<void> {
    const done = this.#last.then(async () => {
      if (this.#broken !== undefined) throw this.#broken;
      const claim = await this.#setup.claim;
      try {
        await persistently(() => answered(action(claim)));
      } catch (error) {
        throw this.#break(error);
      }
    });
    this.#last = done.catch(() => {});
    return done;
  }

  #renew(expiresAt?: number): void {
    const { store, leaseMs } = this.#setup;
    this.#setup.claim
      .then((claim) => store.renew(claim, leaseMs, expiresAt))
      .catch((error: unknown) => {
        // One that cannot be reached may be in time for the next renewal.
        if (!isUnavailable(error)) this.#break(error);
      });
  }

  #break(error: unknown): StoreError {
    const broken =
      this.#broken ??
      (StoreError.is(error) ? error : new StoreError("unavailable", "The store failed", { cause: error }));
    if (this.#broken === undefined) {
      this.#broken = broken;
      clearInterval(this.#renewal);
      this.onBroken(toStoreFailure(broken), broken);
    }
    return broken;
  }
}

/** What a run is told about its store; details of the database stay here. */
export function toStoreFailure(error: unknown): Failure {
  if (CodecellError.is(error)) return error.failure;
  const cause = StoreError.is(error) ? error.cause : error;
  if (cause instanceof Unanswered) {
    return { code: "store_failed", message: "The store did not answer in time" };
  }
  if (!StoreError.is(error)) return { code: "store_failed", message: "The store failed" };
  if (error.code === "stale_claim") {
    return { code: "run_taken", message: "Another process has taken the run over, it goes on there" };
  }
  const why: Partial<Record<StoreError["code"], string>> = {
    full: "it has no room left",
    closed: "it was closed",
    exists: "it holds a run of this id already",
    incompatible: "its database was made by a newer version",
  };
  return { code: "store_failed", message: `The store refused: ${why[error.code] ?? "it cannot be reached"}` };
}
