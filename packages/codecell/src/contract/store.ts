/**
 * Store: where runs outlive their process.
 *
 * - One claimant holds a run at a time, for as long as its lease. A claim carries a fence, a number that grows with
 *   every claim of its run: a claimant whose lease ran out and whose run was claimed again is refused, however late
 *   it comes. A claimant whose lease ran out but whose run nobody else has claimed may still go on. Whoever released a
 *   run is refused as well: an append that comes late must not reach the next state. No fence is ever used twice, not
 *   even after a run was deleted and another one put under its id.
 * - A run is a state, a journal of what its claimants appended since, perhaps a snapshot taken meanwhile, and the
 *   outcomes of its calls. All of it is opaque here: the host seals it, a store never reads it.
 * - Outcomes are facts: whoever executed the call may post its outcome, claimant or not. The first one counts.
 * - An executor is a process that still executes calls of runs it has given back. It attends for a span of time, again
 *   and again; once it attends no more, nobody need wait for its outcomes.
 * - A note is bytes under a key, and belongs to no run: the last one counts, until it expires.
 * - A run that has ended is deleted, or kept for a while: sealed, to be read and listed, never to be claimed again.
 * - What a store knows of a run in the open is its `RunSummary` and nothing else.
 * - A promise settles when the change is durable; it rejects with a StoreError when nothing was changed.
 * - Leases and expiry are judged by the store's own clock: those of its clients differ.
 * - What one claimant asks for without waiting happens in the order it was asked for.
 * - A run past its expiry that nobody holds can neither be claimed nor is it listed. It is there until `expire`
 *   deletes it: its id is taken, outcomes can be posted, and its last claimant may still go on.
 * - Ids, scopes, owners, executors and keys are well-formed text without NUL, of at most `STORE_TEXT_BYTES` in UTF-8; an id is never
 *   empty. Databases could not keep other texts apart. Misuse throws a TypeError or RangeError.
 */

/** UTF-8 bytes of an id, a scope, an owner, an executor or a key: what an index of any database can hold. */
export const STORE_TEXT_BYTES = 1024;

/** Whether every database can keep a text apart from all others. */
export function isStoreText(text: string): boolean {
  // A string has at least as many bytes as units, so a huge one is not encoded to be refused.
  if (text.length > STORE_TEXT_BYTES || !text.isWellFormed() || text.includes("\0")) return false;
  return new TextEncoder().encode(text).length <= STORE_TEXT_BYTES;
}

/** Who claims a run, and for how long. */
export interface Lease {
  /** Names the claimant to people; not used to tell claimants apart. */
  readonly owner: string;
  readonly ms: number;
}

/** The right to change a run. */
export interface Claim {
  readonly id: string;
  readonly fence: number;
}

/** What a store may say of a run's calls without opening a seal. */
export interface RunFacts {
  /** Calls the program has made. */
  readonly calls: number;
  /** Those of them that failed. */
  readonly failed: number;
  /** Those that waited for a decision when the run was last suspended. */
  readonly pending: number;
  /** Tools that were called, where the host allows it: at most `STORE_TOOL_NAMES`, of at most `STORE_TEXT_BYTES` together. */
  readonly tools?: readonly string[];
}

/** How many tools the facts of a run name at most. */
export const STORE_TOOL_NAMES = 32;

export interface NewRun {
  readonly id: string;
  /** Whose run it is: tenant, user or session. Lists can be confined to one. */
  readonly scope: string;
  /** Milliseconds since the epoch; after it the run may be deleted by anybody's `expire`. */
  readonly expiresAt: number;
  readonly state: Uint8Array;
  readonly facts?: RunFacts;
}

export interface StoredRun extends Omit<NewRun, "facts"> {
  readonly journal: readonly Uint8Array[];
  /** The latest that was saved since the state. */
  readonly snapshot?: Uint8Array;
  /** By index of the call. */
  readonly outcomes: ReadonlyMap<number, Uint8Array>;
}

export type Claimed =
  | { readonly status: "claimed"; readonly claim: Claim; readonly run: StoredRun }
  /** Somebody else's lease is in force; it ends at this time unless it is renewed. */
  | { readonly status: "held"; readonly owner: string; readonly until: number }
  /** Never put, deleted, or past its expiry with no lease in force. */
  | { readonly status: "absent" };

/**
 * Where a run stands. A run is `running` from its claim until it is given back, also when its claimant died meanwhile: then
 * it has no owner. A run is `suspended` while nobody has claimed it.
 */
export type RunStatus = "running" | "suspended" | EndedStatus;

export type EndedStatus = "completed" | "failed";

/** All that can be said of a run without opening a seal. Times are milliseconds since the epoch. */
export interface RunSummary {
  readonly id: string;
  readonly scope: string;
  readonly status: RunStatus;
  readonly createdAt: number;
  /** When it was last put, claimed or released, or when it ended. */
  readonly changedAt: number;
  /** Only of a run that has ended. */
  readonly endedAt?: number;
  readonly expiresAt: number;
  /** Whose lease is in force; absent when the run can be claimed, or has ended. */
  readonly owner?: string;
  readonly calls: number;
  readonly failed: number;
  readonly pending: number;
  /** Only where the host that wrote it allows it. */
  readonly tools?: readonly string[];
}

export interface ListQuery {
  readonly scope?: string;
  /** `running` and `suspended` unless said otherwise: ended runs are listed only when they are asked for. */
  readonly status?: RunStatus | readonly RunStatus[];
  /** Only runs on which no lease is in force, and that have not ended. */
  readonly claimable?: boolean;
  /** Only runs created at this time or later. */
  readonly createdFrom?: number;
  /** Only runs created before this time. */
  readonly createdBefore?: number;
  /** By id, as code points compare, unless said otherwise; or the newest first, those of one moment by id from the last to the first. */
  readonly order?: "id" | "newest";
  /** Goes on behind this run, also when it is gone: its id, or the last summary of the page before. */
  readonly after?: string | Pick<RunSummary, "id" | "createdAt">;
  /** At most so many; 100 unless said otherwise, 1000 at most. */
  readonly limit?: number;
}

/** What is kept of all ended runs together: the newest ones within both bounds. */
export interface EndedBounds {
  readonly runs: number;
  /** Of their sealed states and facts. */
  readonly bytes: number;
}

interface GivenBack {
  readonly expiresAt: number;
  /** Calls whose outcomes are no longer needed; they are deleted. */
  readonly absorbed: readonly number[];
  /** In place of those before; they stay as they are without it. */
  readonly facts?: RunFacts;
}

/** What a run becomes when it is given back: its journal is empty then, and it has no snapshot. */
export interface NextState extends GivenBack {
  readonly state: Uint8Array;
}

/** What a run ends on when it is given back with its state and journal as they are. */
export interface LastEntry extends GivenBack {
  readonly entry: Uint8Array;
  /** In place of an earlier one. */
  readonly snapshot: Uint8Array;
}

/** What is kept of a run that has ended: its journal, snapshot and outcomes are deleted. */
export interface EndState {
  readonly ended: EndedStatus;
  readonly state: Uint8Array;
  readonly expiresAt: number;
  readonly facts?: RunFacts;
}

export interface EndedRun extends RunSummary {
  readonly status: EndedStatus;
  readonly endedAt: number;
  readonly state: Uint8Array;
}

export interface Store extends AsyncDisposable {
  /** True for one that ends with its process, so that keys need not outlive it either. */
  readonly isVolatile?: boolean;
  /** Adds a run, claimed. Rejects with `exists` when there is one of this id. */
  put(run: NewRun, lease: Lease): Promise<Claim>;
  /** With a scope only a run of that scope; any other is absent, and nothing happens to it. */
  claim(id: string, lease: Lease, scope?: string): Promise<Claimed>;
  /** Makes the lease last for so long from now, and moves the run's expiry if one is given. */
  renew(claim: Claim, ms: number, expiresAt?: number): Promise<void>;
  /** Adds to the journal, all entries or none, and puts the facts in place of those before if some are given. */
  append(claim: Claim, entries: readonly Uint8Array[], facts?: RunFacts): Promise<void>;
  /** Keeps a snapshot beside the state, in place of an earlier one. */
  saveSnapshot(claim: Claim, snapshot: Uint8Array): Promise<void>;
  /** The snapshot that was saved since the state; undefined when there is none. */
  loadSnapshot(claim: Claim): Promise<Uint8Array | undefined>;
  /** Records the outcome of a call. False when there is one already, or no such run. */
  post(id: string, call: number, outcome: Uint8Array): Promise<boolean>;
  /** The outcomes posted so far; undefined when there is no such run. */
  outcomes(id: string): Promise<ReadonlyMap<number, Uint8Array> | undefined>;
  /**
   * Gives a run back: in a new state, with one more entry, or as it is. One that has ended can be read and listed until it
   * expires, and in every other way it is gone: its id is free again.
   */
  release(claim: Claim, next?: NextState | LastEntry | EndState): Promise<void>;
  /** Removes a run with everything that belongs to it. */
  delete(claim: Claim): Promise<void>;
  /** A page of a list. Whoever goes on behind the last of each page misses no run that was there all the time. */
  list(query?: ListQuery): Promise<readonly RunSummary[]>;
  /** A run that ended and was kept. With a scope only a run of that scope. Undefined when there is none. */
  readEnded(id: string, scope?: string): Promise<EndedRun | undefined>;
  /** Says that an executor is there, for so long from now; 0 ends it. */
  attend(executor: string, ms: number): Promise<void>;
  /** Whether an executor said so, and its time is not over. */
  attends(executor: string): Promise<boolean>;
  /** Keeps a note, in place of an earlier one of the same key. */
  putNote(key: string, note: Uint8Array, expiresAt: number): Promise<void>;
  /** Undefined when there is none, or it has expired. */
  getNote(key: string): Promise<Uint8Array | undefined>;
  /**
   * Deletes the runs past their expiry that nobody holds, and notes past theirs; with bounds also the oldest ended runs
   * beyond them. Returns how many runs.
   */
  expire(keep?: EndedBounds): Promise<number>;
  /**
   * Calls back after a run was changed by anybody: an outcome posted, released, deleted. Sometimes without cause,
   * never too rarely; what changed has to be read. Returns the end of it.
   */
  watch(id: string, onChange: () => void): Promise<() => void>;
}

/** Every way a store refuses, with what it means. */
export const STORE_ERROR_CODES = {
  exists: "There is a run of this id already",
  stale_claim: "The run was released or claimed by somebody else since, or is gone",
  closed: "The store was closed",
  unavailable: "The database cannot be reached or is locked; trying again is safe",
  full: "There is no room for the change",
  incompatible: "The database was made by a newer version of this package",
} as const;

export type StoreErrorCode = keyof typeof STORE_ERROR_CODES;

const BRAND = "codecell.store-error";

export class StoreError extends Error {
  /** Marks instances across duplicate copies of this package. */
  readonly brand: string = BRAND;
  override readonly name = "StoreError";
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  static is(value: unknown): value is StoreError {
    return typeof value === "object" && value !== null && "brand" in value && value.brand === BRAND;
  }
}
