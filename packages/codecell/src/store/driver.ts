/**
 * Driver: what a database does for a store. Runs on the host; `createStore` makes a store of it.
 *
 * A driver consists of statements. `createStore` checks and copies what goes in, copies what comes out, keeps the
 * order under a claim, decides who may claim, makes results and errors, calls the watchers of this process, repeats
 * expiry until it is done, and closes. A driver guarantees this:
 *
 * - A method happens as a whole or not at all, and at one moment for everybody who uses the database: it is a
 *   transaction or one statement.
 * - Its promise settles when the change is durable. If nothing was changed it rejects with a `StoreError`:
 *   `unavailable` where trying again may help, `full` where there is no room. Answers that say "no" change nothing.
 * - `now` is the database's clock if several machines share the database, in milliseconds since the epoch.
 * - A fence is larger than all fences that this database gave before, and no two claims ever have the same one.
 * - A claim is in force while its run has its fence and has not been released, even long after its lease is over.
 * - Texts are compared by code points, as UTF-8 bytes compare. They have no NUL and no lone surrogate.
 */
import type { Claim, EndedBounds, EndedStatus, Lease } from "../contract/store.ts";
import type { Watchers } from "./watchers.ts";

/** The statements of a database. `createStore` makes a store of them. */
export interface Driver {
  /** True if the data ends with the process: nobody else changes it, so nobody looks for changes of others. */
  readonly isVolatile?: boolean;

  /** Adds a run, claimed, and gives its fence. Undefined when a run with this id exists that has not ended. */
  put(run: DriverPut, lease: Lease): Promise<number | undefined>;

  /**
   * Claims a run that still has the fence in `seen`, whose lease is over (`leaseUntil <= now`) and that has not
   * expired (`expiresAt >= now`). The run gets a new fence, the owner, a lease that begins now, and `changedAt`.
   * Gives the whole run with these changes; undefined when it could not be claimed.
   */
  claim(seen: Claim, lease: Lease): Promise<FoundRun | undefined>;

  /** Changes a run whose claim is in force; false when it is not. */
  change(claim: Claim, change: Change): Promise<boolean>;

  /** Adds an outcome. False when this call has an outcome already, or when there is no such run that has not ended. */
  post(id: string, call: number, outcome: Uint8Array): Promise<boolean>;

  /** Reads a run with one of its parts; undefined when there is no such run. `ended` reads one of the ended runs. */
  read(id: string, part: RunPart): Promise<FoundRun | undefined>;

  /** The rows that a page asks for, in its order. */
  list(page: ListPage): Promise<ListedRows>;

  /**
   * Deletes up to `limit` runs of each kind: runs past their expiry without a lease in force; ended runs past their
   * expiry; with bounds, ended runs beyond the newest `keep.runs` runs and `keep.bytes` bytes. Also deletes expired
   * notes. A run that somebody changes at the moment may be left for the next expiry.
   */
  expire(limit: number, keep: EndedBounds | undefined): Promise<Expired>;

  /** Keeps bytes under a key and replaces earlier bytes. A key has at most `STORE_TEXT_BYTES` and 9 bytes more. */
  putNote(key: string, note: Uint8Array, expiry: NoteExpiry): Promise<void>;

  /** The note under a key; undefined when there is no note or it has expired (`expiresAt < now`). */
  getNote(key: string): Promise<Uint8Array | undefined>;

  /**
   * For a database that tells of changes, or can be asked for all changes at once. Begins to call `watchers` for what
   * others change, and settles when no later change can be missed. Called with every new watch; ends with `close`.
   * Without this method `createStore` reads the rows of watched runs again and again.
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

/**
 * What everybody may read of a run. Lists, and the look at a run before a claim, read nothing else: keep the run's bytes
 * apart from this row.
 */
export interface RunRow {
  readonly id: string;
  readonly scope: string;
  readonly createdAt: number;
  /** When the run was last put, claimed or released, or when it ended. */
  readonly changedAt: number;
  readonly expiresAt: number;
  /** A short text; give it back unchanged. */
  readonly facts: string;
  /** Undefined if the run has not ended. */
  readonly ended: EndedStatus | undefined;
  /** An ended run has fence 0, no owner and lease 0. */
  readonly fence: number;
  /** Undefined once the run is released. */
  readonly owner: string | undefined;
  /** 0 once the run is released. */
  readonly leaseUntil: number;
}

/** What `read` is asked for beside the row; it may give more. */
export type RunPart = "row" | "outcomes" | "snapshot" | "ended";

/** A run as it was at one moment. Parts that were not asked for are left out. */
export interface FoundRun {
  readonly row: RunRow;
  /** The clock at that moment. */
  readonly now: number;
  /** The number of outcomes, for the part "row". A driver with `startWatching` leaves it out. */
  readonly posted?: number;
  /** For `claim` and for the part "ended". */
  readonly state?: Uint8Array | undefined;
  /** For `claim`, in the order in which entries were appended. */
  readonly journal?: readonly Uint8Array[];
  /** For `claim` and for the part "snapshot". */
  readonly snapshot?: Uint8Array | undefined;
  /** For `claim` and for the part "outcomes", by the index of the call. */
  readonly outcomes?: ReadonlyMap<number, Uint8Array>;
}

export type Change =
  /** Changes what is given and leaves the rest. Never has both a state and entries. */
  | {
      readonly kind: "edit";
      /** The lease ends this many milliseconds from now. */
      readonly leaseMs: number | undefined;
      readonly expiresAt: number | undefined;
      readonly facts: string | undefined;
      /** Replaces the state; journal and snapshot are deleted. */
      readonly state: Uint8Array | undefined;
      /** Appended to the journal. */
      readonly entries: readonly Uint8Array[];
      /** Replaces an earlier snapshot. */
      readonly snapshot: Uint8Array | undefined;
      /** Calls whose outcomes are deleted. */
      readonly absorbed: readonly number[];
      /** Ends the claim: no owner, no lease, and `changedAt` is now. */
      readonly isReleased: boolean;
    }
  /**
   * Deletes the run with all its parts, and adds this to the ended runs. Replaces an earlier ended run with this id.
   */
  | {
      readonly kind: "end";
      readonly ended: EndedStatus;
      readonly state: Uint8Array;
      readonly expiresAt: number;
      readonly facts: string;
      /** How many bytes it counts for in `EndedBounds`. */
      readonly bytes: number;
    }
  /** Deletes the run with all its parts. */
  | { readonly kind: "delete" };

export type Edit = Extract<Change, { kind: "edit" }>;

export interface ListPage {
  /** True for ended runs, false for all others; a page never has both. */
  readonly isEnded: boolean;
  /** A `running` run has an owner, a `suspended` run has none. Undefined for all. */
  readonly status: "running" | "suspended" | EndedStatus | undefined;
  readonly scope: string | undefined;
  /** Only runs without a lease in force. */
  readonly isClaimable: boolean;
  /** `createdFrom <= createdAt < createdBefore` */
  readonly createdFrom: number;
  readonly createdBefore: number;
  /**
   * By id, or by creation and then by id, both descending. Runs past their expiry without a lease in force are left
   * out.
   */
  readonly order: "id" | "newest";
  /** Only runs that come after this one in that order. */
  readonly after: { readonly id: string; readonly createdAt: number } | undefined;
  readonly limit: number;
}

export interface ListedRows {
  readonly rows: readonly RunRow[];
  /** The clock by which the rows were chosen. */
  readonly now: number;
}

export interface Expired {
  /** Ids of deleted runs that had not ended. */
  readonly ids: readonly string[];
  /** How many ended runs were deleted. */
  readonly ended: number;
}

/** At a point in time, or so many milliseconds from now. */
export type NoteExpiry = { readonly at: number } | { readonly inMs: number };
