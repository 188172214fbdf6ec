/**
 * Runs anywhere. The contract of a store, in which runs outlive their process.
 *
 * - One claimant holds a run at a time, for as long as its lease. A claim has a fence, a number that grows with every
 *   claim of its run. A claimant is refused once somebody else has claimed its run, however late it comes. A claimant
 *   whose lease is over may go on until then. A claimant that released its run is refused too: a late append must not
 *   reach the next state. No fence is ever used twice, not even after a run was deleted and another one put under its
 *   id.
 * - A run consists of a state, a journal of what its claimants appended since, perhaps a snapshot taken meanwhile,
 *   and the outcomes of its calls. A store never reads these bytes: the host seals them.
 * - Outcomes are facts: whoever executed a call may post its outcome, claimant or not. The first outcome counts.
 * - An executor is a process that still executes calls of runs it has given back. It attends for a span of time,
 *   again and again. Once it no longer attends, nobody need wait for its outcomes.
 * - A note is bytes under a key, and belongs to no run. The last note counts, until it expires.
 * - A run that has ended is deleted, or kept for a while: sealed, to be read and listed, never to be claimed again.
 * - Without opening a seal, a store knows only the `RunSummary` of a run.
 * - A promise settles when the change is durable. It rejects with a StoreError when nothing was changed.
 * - The store's own clock decides about leases and expiry, since the clocks of its clients differ.
 * - What one claimant asks for without waiting happens in the order in which it was asked for.
 * - An expired run that nobody holds can be neither claimed nor listed. It exists until `expire` deletes it: its id
 *   is taken, outcomes can be posted, and its last claimant may still go on.
 * - Ids, scopes, owners, executors and keys are well-formed text without NUL, of at most `STORE_TEXT_BYTES` in UTF-8,
 *   since databases could not keep other texts apart. An id is never empty. Misuse throws a TypeError or RangeError.
 */

/** Most UTF-8 bytes of an id, a scope, an owner, an executor or a key: an index of any database can hold that many. */
export const STORE_TEXT_BYTES = 1024;

/** Whether every database can keep a text apart from all others. */
export function isStoreText(text: string): boolean {
  // A string has at least as many bytes as units, so a huge string is refused without encoding it.
  if (text.length > STORE_TEXT_BYTES || !text.isWellFormed() || text.includes("\0")) return false;
  return new TextEncoder().encode(text).length <= STORE_TEXT_BYTES;
}

/** Who claims a run, and for how long. */
export interface Lease {
  /** Names the claimant for people. Claimants are not told apart by it. */
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
  /** Calls that the program has made. */
  readonly calls: number;
  /** Calls that failed. */
  readonly failed: number;
  /** Calls that waited for a decision when the run was last suspended. */
  readonly pending: number;
  /**
   * Tools that were called, if the host allows naming them: at most `STORE_TOOL_NAMES`, with at most
   * `STORE_TEXT_BYTES` together.
   */
  readonly tools?: readonly string[];
}

/** Most tools that the facts of a run name. */
export const STORE_TOOL_NAMES = 32;

export interface NewRun {
  readonly id: string;
  /** Whose run it is: a tenant, user or session. A list can be confined to one scope. */
  readonly scope: string;
  /** Milliseconds since the epoch. After this time any `expire` may delete the run. */
  readonly expiresAt: number;
  readonly state: Uint8Array;
  readonly facts?: RunFacts;
}

export interface StoredRun extends Omit<NewRun, "facts"> {
  readonly journal: readonly Uint8Array[];
  /** The latest snapshot that was saved since the state. */
  readonly snapshot?: Uint8Array;
  /** By the index of the call. */
  readonly outcomes: ReadonlyMap<number, Uint8Array>;
}

export type Claimed =
  | { readonly status: "claimed"; readonly claim: Claim; readonly run: StoredRun }
  /** Somebody else's lease is in force. It ends at this time unless it is renewed. */
  | { readonly status: "held"; readonly owner: string; readonly until: number }
  /** The run was never put, was deleted, or has expired with no lease in force. */
  | { readonly status: "absent" };

/**
 * Where a run stands. A run is `running` from its claim until it is given back. If its claimant dies meanwhile it
 * stays `running`, without an owner. A run is `suspended` while nobody has claimed it.
 */
export type RunStatus = "running" | "suspended" | EndedStatus;

export type EndedStatus = "completed" | "failed";

/** All that a store knows of a run without opening a seal. Times are milliseconds since the epoch. */
export interface RunSummary {
  readonly id: string;
  readonly scope: string;
  readonly status: RunStatus;
  readonly createdAt: number;
  /** When the run was last put, claimed or released, or when it ended. */
  readonly changedAt: number;
  /** Only for an ended run. */
  readonly endedAt?: number;
  readonly expiresAt: number;
  /** Who has the lease in force; absent when the run can be claimed or has ended. */
  readonly owner?: string;
  readonly calls: number;
  readonly failed: number;
  readonly pending: number;
  /** Only if the host that wrote it allows naming tools. */
  readonly tools?: readonly string[];
}

export interface ListQuery {
  readonly scope?: string;
  /** Default `running` and `suspended`. Ended runs are listed only if `status` asks for them. */
  readonly status?: RunStatus | readonly RunStatus[];
  /** Only runs that have not ended and have no lease in force. */
  readonly claimable?: boolean;
  /** Only runs created at this time or later. */
  readonly createdFrom?: number;
  /** Only runs created before this time. */
  readonly createdBefore?: number;
  /**
   * Default `id`: by id, as code points compare. `newest`: the newest first; runs of the same moment by id,
   * descending.
   */
  readonly order?: "id" | "newest";
  /** Lists what comes after this run, even if the run is gone: its id, or the last summary of the page before. */
  readonly after?: string | Pick<RunSummary, "id" | "createdAt">;
  /** Most runs in the list; default 100, at most 1000. */
  readonly limit?: number;
}

/** Bounds of all ended runs together: the newest within both bounds are kept. */
export interface EndedBounds {
  readonly runs: number;
  /** Bytes of the sealed states and facts. */
  readonly bytes: number;
}

interface GivenBack {
  readonly expiresAt: number;
  /** Calls whose outcomes are no longer needed; these outcomes are deleted. */
  readonly absorbed: readonly number[];
  /** Replaces the earlier facts. Without it they stay. */
  readonly facts?: RunFacts;
}

/** The state in which a run is given back. Its journal is then empty, and it has no snapshot. */
export interface NextState extends GivenBack {
  readonly state: Uint8Array;
}

/** One last entry with which a run is given back. Its state and journal stay as they are. */
export interface LastEntry extends GivenBack {
  readonly entry: Uint8Array;
  /** Replaces an earlier snapshot. */
  readonly snapshot: Uint8Array;
}

/** What is kept of an ended run. Its journal, snapshot and outcomes are deleted. */
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
  /** True if the data ends with the process. Then keys need not outlive it either. */
  readonly isVolatile?: boolean;
  /** Adds a run, claimed. Rejects with `exists` when a run has this id. */
  put(run: NewRun, lease: Lease): Promise<Claim>;
  /** With a scope, only a run of that scope can be claimed; any other run is absent and stays unchanged. */
  claim(id: string, lease: Lease, scope?: string): Promise<Claimed>;
  /** Makes the lease last this long from now. Also moves the run's expiry if one is given. */
  renew(claim: Claim, ms: number, expiresAt?: number): Promise<void>;
  /** Adds all entries to the journal, or none. Replaces the facts if some are given. */
  append(claim: Claim, entries: readonly Uint8Array[], facts?: RunFacts): Promise<void>;
  /** Keeps a snapshot beside the state and replaces an earlier one. */
  saveSnapshot(claim: Claim, snapshot: Uint8Array): Promise<void>;
  /** The snapshot that was saved since the state; undefined without one. */
  loadSnapshot(claim: Claim): Promise<Uint8Array | undefined>;
  /** Records the outcome of a call. False when the call has an outcome already or the run does not exist. */
  post(id: string, call: number, outcome: Uint8Array): Promise<boolean>;
  /** The outcomes posted so far; undefined when the run does not exist. */
  outcomes(id: string): Promise<ReadonlyMap<number, Uint8Array> | undefined>;
  /**
   * Gives a run back: in a new state, with one more entry, unchanged, or ended. An ended run can be read and listed
   * until it expires. In every other way it is gone, and its id is free again.
   */
  release(claim: Claim, next?: NextState | LastEntry | EndState): Promise<void>;
  /** Deletes a run with all that belongs to it. */
  delete(claim: Claim): Promise<void>;
  /** A page of a list. Going on after the last run of each page misses no run that was there all the time. */
  list(query?: ListQuery): Promise<readonly RunSummary[]>;
  /** An ended run that was kept. With a scope, only a run of that scope. Undefined without such a run. */
  readEnded(id: string, scope?: string): Promise<EndedRun | undefined>;
  /** Says that an executor attends for this long from now; 0 ends it. */
  attend(executor: string, ms: number): Promise<void>;
  /** Whether an executor attends at the moment. */
  attends(executor: string): Promise<boolean>;
  /** Keeps a note and replaces an earlier note under this key. */
  putNote(key: string, note: Uint8Array, expiresAt: number): Promise<void>;
  /** Undefined when there is no note or it has expired. */
  getNote(key: string): Promise<Uint8Array | undefined>;
  /**
   * Deletes expired runs that nobody holds, and expired notes. With bounds, also deletes the oldest ended runs beyond
   * them. Gives the number of deleted runs.
   */
  expire(keep?: EndedBounds): Promise<number>;
  /**
   * Calls back after anybody changed a run: posted an outcome, released the run or deleted it. A callback may come
   * without a change, but a change never goes without a callback. Read the run to see what changed. Gives a function
   * that ends the watch.
   */
  watch(id: string, onChange: () => void): Promise<() => void>;
}

/** All codes with which a store refuses, and what they mean. */
export const STORE_ERROR_CODES = {
  exists: "A run with this id exists already",
  stale_claim: "The run was released, claimed by somebody else, or deleted",
  closed: "The store was closed",
  unavailable: "The database cannot be reached or is locked; trying again is safe",
  full: "There is no room for the change",
  incompatible: "The database was made by a newer version of this package",
} as const;

export type StoreErrorCode = keyof typeof STORE_ERROR_CODES;

const BRAND = "codecell.store-error";

export class StoreError extends Error {
  /** Marks instances, also those of another copy of this package. */
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
