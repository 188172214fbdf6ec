/**
 * What all stores have in common: the door of a database.
 *
 * - Arguments are checked and bytes are copied here, before anything waits; drivers see only what the contract allows.
 * - What changes a run under one claim reaches the driver one by one, in the order it was asked for.
 * - After disposal everything rejects with `closed`; disposal waits for what had begun.
 */
import {
  type Claim,
  type LastEntry,
  type Lease,
  type ListQuery,
  type NextState,
  type RunSummary,
  type Store,
  STORE_TEXT_BYTES,
  StoreError,
} from "../contract/store.ts";
import type { Watchers } from "./watchers.ts";

/** A list query as a driver sees it: complete. */
export interface ListPage {
  readonly scope: string | undefined;
  readonly claimable: boolean;
  readonly after: string;
  readonly limit: number;
}

/** What a database does for a store. */
export interface Driver extends Omit<Store, "list" | "watch" | typeof Symbol.asyncDispose> {
  list(page: ListPage): ReturnType<Store["list"]>;
  /** Settles when no later change of a run will be missed. */
  startWatching(): Promise<void>;
  close(): Promise<void>;
}

const LIST_DEFAULT = 100;
const LIST_MOST = 1000;

export function createStore(driver: Driver, watchers: Watchers): Store {
  const begun = new Set<Promise<unknown>>();
  const tails = new Map<string, Promise<unknown>>();
  let closing: Promise<void> | undefined;

  /** Rejects instead of throwing, whatever is wrong. */
  async function enter<T>(work: () => Promise<T>): Promise<T> {
    if (closing !== undefined) throw new StoreError("closed", "Cannot use the store: it was closed");
    const promise = work();
    begun.add(promise);
    try {
      return await promise;
    } finally {
      begun.delete(promise);
    }
  }

  function inOrder<T>({ id }: Claim, work: () => Promise<T>): Promise<T> {
    const before = tails.get(id);
    const promise = before === undefined ? work() : before.then(work);
    const tail = promise
      .then(
        () => {},
        () => {},
      )
      .then(() => {
        if (tails.get(id) === tail) tails.delete(id);
      });
    tails.set(id, tail);
    return promise;
  }

  return {
    isVolatile: driver.isVolatile === true,
    put: (run, lease) =>
      enter(async () => {
        checkId(run.id);
        checkText("scope", run.scope);
        checkInteger("expiresAt", run.expiresAt);
        checkLease(lease);
        return driver.put({ ...run, state: copyOf(run.state) }, { ...lease });
      }),
    claim: (id, lease, scope) =>
      enter(async () => {
        checkId(id);
        checkLease(lease);
        if (scope !== undefined) checkText("scope", scope);
        return driver.claim(id, { ...lease }, scope);
      }),
    renew: (claim, ms, expiresAt) =>
      enter(async () => {
        const own = checkClaim(claim);
        checkLeaseMs(ms);
        if (expiresAt !== undefined) checkInteger("expiresAt", expiresAt);
        return inOrder(own, () => driver.renew(own, ms, expiresAt));
      }),
    append: (claim, entries) =>
      enter(async () => {
        const own = checkClaim(claim);
        const copies = entries.map(copyOf);
        return inOrder(own, () => driver.append(own, copies));
      }),
    saveSnapshot: (claim, snapshot) =>
      enter(async () => {
        const own = checkClaim(claim);
        const copy = copyOf(snapshot);
        return inOrder(own, () => driver.saveSnapshot(own, copy));
      }),
    loadSnapshot: (claim) =>
      enter(async () => {
        const own = checkClaim(claim);
        return inOrder(own, () => driver.loadSnapshot(own));
      }),
    post: (id, call, outcome) =>
      enter(async () => {
        checkId(id);
        checkIndex(call);
        return driver.post(id, call, copyOf(outcome));
      }),
    outcomes: (id) =>
      enter(async () => {
        checkId(id);
        return driver.outcomes(id);
      }),
    release: (claim, next) =>
      enter(async () => {
        const own = checkClaim(claim);
        if (next === undefined) return inOrder(own, () => driver.release(own));
        checkInteger("expiresAt", next.expiresAt);
        for (const call of next.absorbed) checkIndex(call);
        const { expiresAt, absorbed } = next;
        const copy = { expiresAt, absorbed: [...absorbed], ...copiesOf(next) };
        return inOrder(own, () => driver.release(own, copy));
      }),
    delete: (claim) =>
      enter(async () => {
        const own = checkClaim(claim);
        return inOrder(own, () => driver.delete(own));
      }),
    list: (query = {}) => enter(async () => driver.list(resolvePage(query))),
    attend: (executor, ms) =>
      enter(async () => {
        checkId(executor);
        checkLeaseMs(ms);
        return driver.attend(executor, ms);
      }),
    attends: (executor) =>
      enter(async () => {
        checkId(executor);
        return driver.attends(executor);
      }),
    putNote: (key, note, expiresAt) =>
      enter(async () => {
        checkId(key);
        checkInteger("expiresAt", expiresAt);
        return driver.putNote(key, copyOf(note), expiresAt);
      }),
    getNote: (key) =>
      enter(async () => {
        checkId(key);
        return driver.getNote(key);
      }),
    expire: () => enter(() => driver.expire()),
    watch: (id, onChange) =>
      enter(async () => {
        checkId(id);
        const end = watchers.add(id, onChange);
        try {
          await driver.startWatching();
        } catch (error) {
          end();
          throw error;
        }
        return end;
      }),
    [Symbol.asyncDispose]: () => {
      closing ??= (async () => {
        watchers.clear();
        await Promise.allSettled(begun);
        await driver.close();
        watchers.clear();
      })();
      return closing;
    },
  };
}

/** A run as a list shows it: with its owner while the lease is in force. */
export function toSummary(
  { id, scope, expiresAt, changedAt }: RunSummary,
  owner: string | null | undefined,
  held: boolean,
): RunSummary {
  const summary = { id, scope, expiresAt, changedAt };
  return held && typeof owner === "string" ? { ...summary, owner } : summary;
}

export function staleClaim({ id }: Claim): StoreError {
  return new StoreError(
    "stale_claim",
    `Cannot change run "${id}": it was released or claimed by somebody else since, or is gone`,
  );
}

export function runExists(id: string): StoreError {
  return new StoreError("exists", `Cannot put run "${id}": there is one of this id already`);
}

function resolvePage({ scope, claimable = false, after, limit = LIST_DEFAULT }: ListQuery): ListPage {
  if (scope !== undefined) checkText("scope", scope);
  if (after !== undefined) checkText("after", after);
  checkInteger("limit", limit);
  return { scope, claimable, after: after ?? "", limit: Math.min(Math.max(limit, 1), LIST_MOST) };
}

function checkClaim({ id, fence }: Claim): Claim {
  checkId(id);
  checkInteger("fence", fence);
  return { id, fence };
}

function checkLease({ owner, ms }: Lease): void {
  checkText("owner", owner);
  checkLeaseMs(ms);
}

function checkLeaseMs(ms: number): void {
  checkInteger("lease", ms);
  // Added to a clock, it has to stay a safe integer.
  if (ms < 0 || ms > Number.MAX_SAFE_INTEGER / 2) {
    throw new RangeError(`Cannot lease for ${ms} ms: it is not a span of time`);
  }
}

function checkIndex(call: number): void {
  checkInteger("call", call);
  if (call < 0) throw new RangeError(`Cannot use ${call} as the index of a call: it is negative`);
}

function checkInteger(name: string, value: number): void {
  if (!Number.isSafeInteger(value)) throw new RangeError(`Cannot use ${value} as ${name}: no whole number`);
}

function checkId(id: string): void {
  checkText("id", id);
  if (id === "") throw new RangeError("Cannot use an empty id: give it a name");
}

function checkText(name: string, text: string): void {
  if (typeof text !== "string") throw new TypeError(`Cannot use a ${typeof text} as ${name}: no string`);
  if (!text.isWellFormed() || text.includes("\0")) {
    throw new TypeError(`Cannot use this ${name}: it has a lone surrogate or NUL`);
  }
  // A string has at least as many bytes as units, so a huge one is not encoded to be refused.
  if (text.length > STORE_TEXT_BYTES || Buffer.byteLength(text) > STORE_TEXT_BYTES) {
    throw new RangeError(`Cannot use this ${name}: more than ${STORE_TEXT_BYTES} bytes in UTF-8`);
  }
}

function copiesOf(
  next: NextState | LastEntry,
): Pick<NextState, "state"> | Pick<LastEntry, "entry" | "snapshot"> {
  if ("state" in next) return { state: copyOf(next.state) };
  return { entry: copyOf(next.entry), snapshot: copyOf(next.snapshot) };
}

function copyOf(bytes: Uint8Array): Uint8Array {
  if (!(bytes instanceof Uint8Array)) throw new TypeError("Cannot store this: no Uint8Array");
  return new Uint8Array(bytes);
}
