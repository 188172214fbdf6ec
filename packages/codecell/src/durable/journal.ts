/**
 * Journal: writes a run's ledger to the store ahead of what the run does. Runs on the host; owns the claim of its run.
 *
 * - A call is written before it is dispatched, an outcome before the guest sees it.
 * - Entries that come while a write is under way join the next write: a busy run makes few large writes.
 * - The journal breaks once, when the store refuses or does not answer. Then it writes nothing more, and the run must not
 *   go on here.
 */
import type { CellSnapshot } from "../protocol/messages.ts";
import {
  type Claim,
  type EndState,
  type LastEntry,
  type NextState,
  type RunFacts,
  type Store,
  StoreError,
} from "../contract/store.ts";
import type { JournalEntry } from "./journal-entry.ts";
import type { WrittenJournal } from "./stored-bytes.ts";
import type { Failure } from "../contract/failure.ts";
import { answered } from "./answered.ts";
import { isUnavailable, persistently, RENEWALS } from "./persistently.ts";
import { addFacts } from "./run-facts.ts";
import { toStoreFailure } from "./store-failure.ts";

export interface JournalSetup extends WrittenJournal {
  readonly store: Store;
  /** Settles when the store has given the claim. */
  readonly claim: Promise<Claim>;
  readonly leaseMs: number;
  /** Calls whose outcome others may have posted. */
  readonly posted: ReadonlySet<number>;
  /** What lists show about the run's calls so far. */
  readonly facts: RunFacts;
}

export class Journal {
  /** Called when the journal breaks. */
  onBroken: (failure: Failure, error: unknown) => void = () => {};
  readonly #setup: JournalSetup;
  readonly #renewal: NodeJS.Timeout;
  #length: number;
  #size: number;
  #facts: RunFacts;
  /** Entries that go into the next write. */
  #waiting: JournalEntry[] = [];
  /** The write that entries added now will be part of. */
  #next: Promise<void> | undefined;
  /** The run's new expiry. The next write moves it, after its entries. */
  #expiry: number | undefined;
  /** Settles when everything that was begun has ended. Never rejects. */
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

  /** Calls whose outcome the store may hold until the run is given back. */
  get posted(): ReadonlySet<number> {
    return this.#setup.posted;
  }

  get mayStay(): boolean {
    return this.#setup.mayStay;
  }

  /**
   * Settles when the entry is durable; rejects when the journal is broken. With `expiresAt` it also moves the run's
   * expiry, after the entry is written: a reader does not trust a later expiry than the sealed entries allow.
   */
  write(entry: JournalEntry, expiresAt?: number): Promise<void> {
    this.#waiting.push(entry);
    this.#expiry ??= expiresAt;
    if (this.#next === undefined) {
      // Taken once: a second attempt writes the same entries. Entries that came meanwhile are written after them.
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
          const { bytes, size } = await this.#setup.bytes.sealEntries(place, entries);
          written = bytes;
          this.#size += size;
        }
        await this.#setup.store.append(claim, [written], facts);
        if (expiry !== undefined) this.#renew(expiry);
      });
      this.#next = next;
      // Callers may await the write, but do not have to.
      next.catch(() => {});
    }
    return this.#next;
  }

  /** Keeps a snapshot in the store. False if that fails, which does no harm. */
  async saveSnapshot(snapshot: CellSnapshot): Promise<boolean> {
    try {
      const bytes = await this.#setup.bytes.sealSnapshot(snapshot);
      // After the entries that the snapshot stands on, and not without them.
      await this.#last;
      if (this.#broken !== undefined) return false;
      await answered(this.#setup.store.saveSnapshot(await this.#setup.claim, bytes));
      return true;
    } catch {
      return false;
    }
  }

  /** The saved snapshot; undefined if the store cannot give it. */
  async loadSnapshot(): Promise<CellSnapshot | undefined> {
    try {
      const bytes = await answered(this.#setup.store.loadSnapshot(await this.#setup.claim));
      const opened = bytes && (await this.#setup.bytes.openSnapshot(bytes));
      return opened === undefined || "code" in opened ? undefined : opened;
    } catch {
      return undefined;
    }
  }

  /**
   * The entry and snapshot with which the run can be given back. `size` is what the store will hold of the run,
   * decompressed.
   */
  async lastEntry(
    entry: JournalEntry,
    snapshot: CellSnapshot,
  ): Promise<Pick<LastEntry, "entry" | "snapshot"> & { readonly size: number }> {
    // The entry comes after all others.
    await this.#last;
    const { bytes, size } = await this.#setup.bytes.sealEntries(this.#length, [entry]);
    return {
      entry: bytes,
      snapshot: await this.#setup.bytes.sealSnapshot(snapshot),
      size: this.#size + size + snapshot.bytes.length,
    };
  }

  /** Gives the run back to the store: with a new state, with one more entry, unchanged, or ended. */
  async release(next?: NextState | LastEntry | EndState): Promise<void> {
    clearInterval(this.#renewal);
    await this.#after((claim) => this.#setup.store.release(claim, next));
  }

  /** Deletes the run from the store. */
  async delete(): Promise<void> {
    clearInterval(this.#renewal);
    await this.#after((claim) => this.#setup.store.delete(claim));
  }

  /**
   * Ends the run; the store keeps it in this state. If the store has no room, its error is returned and the run is
   * deleted, because a run left as it is would be resumed.
   */
  async end(state: EndState): Promise<StoreError | undefined> {
    clearInterval(this.#renewal);
    let full: StoreError | undefined;
    await this.#after(async (claim) => {
      try {
        await this.#setup.store.release(claim, state);
      } catch (error) {
        if (!StoreError.is(error) || error.code !== "full") throw error;
        // A store without room can still delete.
        await this.#setup.store.delete(claim);
        full = error;
      }
    });
    return full;
  }

  get isBroken(): boolean {
    return this.#broken !== undefined;
  }

  /**
   * Runs one action after the other. An action is tried again while the store says that nothing changed and that trying
   * again may help.
   */
  async #after(action: (claim: Claim) => Promise<void>): Promise<void> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    try {
      await before;
      if (this.#broken !== undefined) throw this.#broken;
      const claim = await this.#setup.claim;
      await persistently(() => answered(action(claim)));
    } catch (error) {
      throw this.#break(error);
    } finally {
      resolve();
    }
  }

  #renew(expiresAt?: number): void {
    const { store, leaseMs } = this.#setup;
    this.#setup.claim
      .then((claim) => store.renew(claim, leaseMs, expiresAt))
      .catch((error: unknown) => {
        // A store that cannot be reached may be back in time for the next renewal.
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
