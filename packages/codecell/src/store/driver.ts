/**
 * Driver: what a database does for a store. Runs on the host; `createStore` makes a store of it.
 *
 * A driver is statements and nothing else. `createStore` checks and copies what it is given, copies what it gives, keeps the
 * order under a claim, decides who may claim, turns answers into results and errors, calls watchers of this process, repeats
 * expiry until it is done, and closes. A driver guarantees this:
 *
 * - A method happens whole or not at all, and at one moment, whoever else uses the database: a transaction, or one statement.
 * - Its promise settles when the change is durable. It rejects with a `StoreError` when nothing was changed: `unavailable`
 *   where trying again may help, `full` where there is no room. Answers that say "no" change nothing.
 * - `now` is the database's clock where several machines share it, in milliseconds since the epoch.
 * - A fence is a number that no other claim of this database ever had or will have, and is larger than all before.
 * - A claim is in force while its run has its fence and has not been released, however long its lease is over.
 * - Texts are compared by code points, as UTF-8 bytes compare. They have no NUL and no lone surrogate.
 */
import type { Claim, EndedBounds, EndedStatus, Lease } from "../contract/store.ts";
import type { Watchers } from "./watchers.ts";

/** The statements of a database. `createStore` makes a store of them. */
export interface Driver {
  /** True for one that ends with its process: nobody else changes it, so nobody looks for changes of others. */
  readonly isVolatile?: boolean;

  /** Adds a run, claimed, and gives its fence; undefined when there is one of this id that has not ended. */
  put(run: DriverPut, lease: Lease): Promise<number | undefined>;

  /**
   * Claims a run that still has the fence it was seen with, whose lease is over (`leaseUntil <= now`) and that has not
   * expired (`expiresAt >= now`): it gets a new fence, the owner, a lease from now on, and `changedAt`. Gives the whole run
   * as it is then; undefined when it could not be claimed.
   */
  claim(seen: Claim, lease: Lease): Promise<FoundRun | undefined>;

  /** Changes a run whose claim is in force; false when it is not. */
  change(claim: Claim, change: Change): Promise<boolean>;

  /** Adds an outcome; false when there is one of this call, or no such run that has not ended. */
  post(id: string, call: number, outcome: Uint8Array): Promise<boolean>;

  /** Looks a run up, with one of its parts; undefined when there is none. `ended` looks among those that were kept. */
  read(id: string, part: RunPart): Promise<FoundRun | undefined>;

  /** The rows that a page asks for, in its order. */
  list(page: ListPage): Promise<ListedRows>;

  /**
   * Deletes up to `limit` runs of each kind: past their expiry with no lease in force; ended and past their expiry; with
   * bounds, ended and not among the newest of `keep.runs` runs and `keep.bytes` bytes. Deletes expired notes. Runs that
   * somebody changes at the moment may be left to the next time.
   */
  expire(limit: number, keep: EndedBounds | undefined): Promise<Expired>;

  /** Keeps bytes under a key, in place of earlier ones. A key has at most `STORE_TEXT_BYTES` and 9 bytes more. */
  putNote(key: string, note: Uint8Array, expiry: NoteExpiry): Promise<void>;

  /** The note of a key; undefined when there is none, or it has expired (`expiresAt < now`). */
  getNote(key: string): Promise<Uint8Array | undefined>;

  /**
   * Where the database tells of changes, or can be asked for all of them at once: begins to call `watchers` for what others
   * change, and settles when nothing later is missed. Called with every new watch; it ends with `close`. Without this
   * method `createStore` reads the rows of watched runs again and again.
   */
  startWatching?(watchers: Watchers): Promise<void>;

  close?(): Promise<void>;
}

/** A run to be added. */
export interface DriverPut {
  readonly id: string;
  readonly scope: string;
  readonly expiresAt: number;
  readonly state: Uint8Array;
  readonly facts: string;
}

/** What is known of a run in the open. Lists and claims read nothing else, so keep its bytes apart from it. */
export interface RunRow {
  readonly id: string;
  readonly scope: string;
  readonly createdAt: number;
  /** When it was last put, claimed or released, or when it ended. */
  readonly changedAt: number;
  readonly expiresAt: number;
  /** A short text to be given back as it is. */
  readonly facts: string;
  /** Undefined of a run that has not ended. */
  readonly ended: EndedStatus | undefined;
  /** This and the next two: of an ended run 0, undefined and 0. */
  readonly fence: number;
  /** Undefined once the run is released. */
  readonly owner: string | undefined;
  /** 0 once the run is released. */
  readonly leaseUntil: number;
}

/** What `read` is asked for beside the row; it may give more. */
export type RunPart = "row" | "outcomes" | "snapshot" | "ended";

/** A run as it was at one moment. What was not asked for is left out. */
export interface FoundRun {
  readonly row: RunRow;
  /** The clock at that moment. */
  readonly now: number;
  /** How many outcomes there are, of "row"; a driver with `startWatching` leaves it out. */
  readonly posted?: number;
  /** Of `claim` and `ended`. */
  readonly state?: Uint8Array | undefined;
  /** Of `claim`, in the order of appending. */
  readonly journal?: readonly Uint8Array[];
  /** Of `claim` and `snapshot`. */
  readonly snapshot?: Uint8Array | undefined;
  /** Of `claim` and `outcomes`, by the index of the call. */
  readonly outcomes?: ReadonlyMap<number, Uint8Array>;
}

export type Change =
  /** Changes what is given and leaves the rest. It never has both a state and entries. */
  | {
      readonly kind: "edit";
      /** The lease ends so many milliseconds from now. */
      readonly leaseMs: number | undefined;
      readonly expiresAt: number | undefined;
      readonly facts: string | undefined;
      /** In place of the state; journal and snapshot are deleted. */
      readonly state: Uint8Array | undefined;
      /** Added to the journal. */
      readonly entries: readonly Uint8Array[];
      /** In place of an earlier one. */
      readonly snapshot: Uint8Array | undefined;
      /** Calls whose outcomes are deleted. */
      readonly absorbed: readonly number[];
      /** Ends the claim: no owner, no lease, and `changedAt` is now. */
      readonly isReleased: boolean;
    }
  /** Deletes the run with all its parts, and keeps this among the ended ones, in place of an earlier one of this id. */
  | {
      readonly kind: "end";
      readonly ended: EndedStatus;
      readonly state: Uint8Array;
      readonly expiresAt: number;
      readonly facts: string;
      /** What it counts for in `EndedBounds`. */
      readonly bytes: number;
    }
  /** Deletes the run with all its parts. */
  | { readonly kind: "delete" };

export type Edit = Extract<Change, { kind: "edit" }>;

export interface ListPage {
  /** Runs that have ended, or runs that have not; never both. */
  readonly isEnded: boolean;
  /** `running` has an owner, `suspended` has none; undefined for all. */
  readonly status: "running" | "suspended" | EndedStatus | undefined;
  readonly scope: string | undefined;
  /** Only without a lease in force. */
  readonly isClaimable: boolean;
  /** `createdFrom <= createdAt < createdBefore` */
  readonly createdFrom: number;
  readonly createdBefore: number;
  /** By id; or by creation and then id, both descending. Left out are runs past their expiry without a lease in force. */
  readonly order: "id" | "newest";
  /** Only what comes behind this in that order. */
  readonly after: { readonly id: string; readonly createdAt: number } | undefined;
  readonly limit: number;
}

export interface ListedRows {
  readonly rows: readonly RunRow[];
  /** The clock by which they were chosen. */
  readonly now: number;
}

export interface Expired {
  /** Runs that had not ended. */
  readonly ids: readonly string[];
  /** How many that had. */
  readonly ended: number;
}

/** At a time, or so long from now. */
export type NoteExpiry = { readonly at: number } | { readonly inMs: number };
