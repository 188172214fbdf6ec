/**
 * Runs on the host. createStore makes a store of a driver, and owns what is the same for all databases.
 *
 * - It checks arguments and copies bytes before anything waits; drivers see only what the contract allows. It also
 *   copies what drivers give: the bytes may be a part of a larger buffer, or belong to the driver.
 * - Changes of a run under one claim reach the driver one by one, in the order in which they were asked for.
 * - After disposal everything rejects with `closed`. Disposal waits for what had begun.
 */
import {
  type Claim,
  type Claimed,
  type EndState,
  type LastEntry,
  type NextState,
  type RunSummary,
  type Store,
  StoreError,
} from "../contract/store.ts";
import {
  checkBounds,
  checkCall,
  checkClaim,
  checkId,
  checkInteger,
  checkLease,
  checkLeaseMs,
  checkText,
  copyOf,
  fromFactsText,
  resolvePages,
  toFactsText,
} from "./arguments.ts";
import type { Change, Driver, Edit, FoundRun, ListedRows, ListPage, RunRow } from "./driver.ts";
import { ChangePoller } from "./change-poller.ts";
import { Watchers } from "./watchers.ts";

export interface StoreOptions {
  /** How often watched runs are read again if the driver cannot tell of changes; default 100. */
  readonly pollMs?: number;
}

/** How many runs a driver deletes at once, so that neither this thread nor other processes wait for a whole expiry. */
const EXPIRY_BATCH = 100;

/**
 * How often a claim reads a run that others claim and release meanwhile. Without this bound, a driver that gives
 * stale rows would keep a claim waiting for ever.
 */
const CLAIM_ROUNDS = 100;

const NO_EDIT: Edit = {
  kind: "edit",
  leaseMs: undefined,
  expiresAt: undefined,
  facts: undefined,
  state: undefined,
  entries: [],
  snapshot: undefined,
  absorbed: [],
  isReleased: false,
};

export function createStore(driver: Driver, { pollMs = 100 }: StoreOptions = {}): Store {
  const watchers = new Watchers();
  const poller = new ChangePoller((id) => driver.read(id, "row"), watchers, pollMs);
  const begun = new Set<Promise<unknown>>();
  const tails = new Map<string, Promise<unknown>>();
  let closing: Promise<void> | undefined;

  /** Rejects for every error, and never throws. */
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

  /** The change is made from the arguments before anything waits. */
  const change = (given: Claim, toChange: () => Change): Promise<void> =>
    enter(async () => {
      const claim = checkClaim(given);
      const one = toChange();
      const isMade = await inOrder(claim, () => driver.change(claim, one));
      if (!isMade) throw staleClaim(claim);
      if (one.kind !== "edit" || one.isReleased) watchers.call(claim.id);
    });

  return {
    isVolatile: driver.isVolatile === true,
    put: ({ id, scope, expiresAt, state, facts }, lease) =>
      enter(async () => {
        checkId(id);
        checkText("scope", scope);
        checkInteger("expiresAt", expiresAt);
        const own = checkLease(lease);
        const run = { id, scope, expiresAt, state: copyOf(state), facts: toFactsText(facts) };
        const fence = await driver.put(run, own);
        if (fence !== undefined) return { id, fence };
        throw new StoreError("exists", `Cannot put run "${id}": a run with this id exists already`);
      }),
    claim: (id, lease, scope) =>
      enter(async () => {
        checkId(id);
        const own = checkLease(lease);
        if (scope !== undefined) checkText("scope", scope);
        for (let round = 0; round < CLAIM_ROUNDS; round++) {
          const seen = await driver.read(id, "row");
          const refusal = refusalOf(seen, scope);
          if (seen === undefined || refusal !== undefined) return refusal ?? { status: "absent" };
          const claimed = await driver.claim({ id, fence: seen.row.fence }, own);
          if (claimed !== undefined) return toClaimed(claimed);
          // Somebody else claimed the run first. The next reading shows who.
        }
        throw new StoreError(
          "unavailable",
          `Cannot claim run "${id}": it changed between every reading and claim, try again later`,
        );
      }),
    renew: (claim, ms, expiresAt) =>
      change(claim, () => {
        checkLeaseMs(ms);
        if (expiresAt !== undefined) checkInteger("expiresAt", expiresAt);
        return { ...NO_EDIT, leaseMs: ms, expiresAt };
      }),
    append: (claim, entries, facts) =>
      change(claim, () => ({
        ...NO_EDIT,
        entries: entries.map(copyOf),
        facts: facts && toFactsText(facts),
      })),
    saveSnapshot: (claim, snapshot) => change(claim, () => ({ ...NO_EDIT, snapshot: copyOf(snapshot) })),
    loadSnapshot: (claim) =>
      enter(async () => {
        const own = checkClaim(claim);
        const found = await inOrder(own, () => driver.read(own.id, "snapshot"));
        if (found?.row.fence !== own.fence || found.row.owner === undefined) throw staleClaim(own);
        return found.snapshot && copyOf(found.snapshot);
      }),
    post: (id, call, outcome) =>
      enter(async () => {
        checkId(id);
        checkCall(call);
        const isPosted = await driver.post(id, call, copyOf(outcome));
        if (isPosted) watchers.call(id);
        return isPosted;
      }),
    outcomes: (id) =>
      enter(async () => {
        checkId(id);
        const found = await driver.read(id, "outcomes");
        return found && copiesOf(found.outcomes);
      }),
    release: (claim, next) => change(claim, () => toRelease(next)),
    delete: (claim) => change(claim, () => ({ kind: "delete" })),
    list: (query = {}) =>
      enter(async () => {
        const pages = resolvePages(query);
        const listed: ListedRows[] = [];
        // List live runs before ended ones. A run that ends meanwhile is then in the second list, and never in
        // neither.
        for (const page of pages) listed.push(await driver.list(page));
        return mergePages(pages, listed);
      }),
    readEnded: (id, scope) =>
      enter(async () => {
        checkId(id);
        if (scope !== undefined) checkText("scope", scope);
        const found = await driver.read(id, "ended");
        if (found?.state === undefined || found.row.expiresAt < found.now) return undefined;
        const { ended, changedAt } = found.row;
        if (ended === undefined || (scope !== undefined && scope !== found.row.scope)) return undefined;
        return {
          ...toSummary(found.row, found.now),
          status: ended,
          endedAt: changedAt,
          state: copyOf(found.state),
        };
      }),
    attend: (executor, ms) =>
      enter(async () => {
        checkId(executor);
        checkLeaseMs(ms);
        // Time 0 is in the past by every clock.
        await driver.putNote(`executor:${executor}`, new Uint8Array(), ms === 0 ? { at: 0 } : { inMs: ms });
      }),
    attends: (executor) =>
      enter(async () => {
        checkId(executor);
        return (await driver.getNote(`executor:${executor}`)) !== undefined;
      }),
    putNote: (key, note, expiresAt) =>
      enter(async () => {
        checkId(key);
        checkInteger("expiresAt", expiresAt);
        await driver.putNote(`note:${key}`, copyOf(note), { at: expiresAt });
      }),
    getNote: (key) =>
      enter(async () => {
        checkId(key);
        const note = await driver.getNote(`note:${key}`);
        return note && copyOf(note);
      }),
    expire: (keep) =>
      enter(async () => {
        const bounds = keep && checkBounds(keep);
        for (let count = 0; ;) {
          const { ids, ended } = await driver.expire(EXPIRY_BATCH, bounds);
          for (const id of ids) watchers.call(id);
          count += ids.length + ended;
          if (ids.length < EXPIRY_BATCH && ended < EXPIRY_BATCH) return count;
        }
      }),
    watch: (id, onChange) =>
      enter(async () => {
        checkId(id);
        const end = watchers.add(id, onChange);
        try {
          if (driver.startWatching !== undefined) await driver.startWatching(watchers);
          else if (driver.isVolatile !== true) await poller.start();
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
        poller.stop();
        await driver.close?.();
        watchers.clear();
      })();
      return closing;
    },
  };
}

function staleClaim({ id }: Claim): StoreError {
  return new StoreError(
    "stale_claim",
    `Cannot change run "${id}": it was released, claimed by somebody else, or deleted`,
  );
}

/** Why a run cannot be claimed; undefined if it can. */
function refusalOf(found: FoundRun | undefined, scope: string | undefined): Claimed | undefined {
  if (found === undefined) return { status: "absent" };
  const { row, now } = found;
  if (scope !== undefined && scope !== row.scope) return { status: "absent" };
  if (row.leaseUntil > now) return { status: "held", owner: row.owner ?? "", until: row.leaseUntil };
  return row.expiresAt < now ? { status: "absent" } : undefined;
}

function toClaimed({ row, state, journal = [], snapshot, outcomes }: FoundRun): Claimed {
  const { id, scope, expiresAt, fence } = row;
  if (state === undefined) throw new TypeError("Cannot claim a run: the driver gave no state");
  return {
    status: "claimed",
    claim: { id, fence },
    run: {
      id,
      scope,
      expiresAt,
      state: copyOf(state),
      journal: journal.map(copyOf),
      ...(snapshot === undefined ? {} : { snapshot: copyOf(snapshot) }),
      outcomes: copiesOf(outcomes),
    },
  };
}

function toRelease(next: NextState | LastEntry | EndState | undefined): Change {
  if (next === undefined) return { ...NO_EDIT, isReleased: true };
  const { expiresAt } = next;
  checkInteger("expiresAt", expiresAt);
  if ("ended" in next) {
    const { ended } = next;
    if (ended !== "completed" && ended !== "failed")
      throw new TypeError(`Cannot end a run as "${String(ended)}"`);
    const state = copyOf(next.state);
    const facts = toFactsText(next.facts);
    return { kind: "end", ended, state, expiresAt, facts, bytes: state.length + facts.length };
  }
  for (const call of next.absorbed) checkCall(call);
  const facts = next.facts && toFactsText(next.facts);
  const given = { ...NO_EDIT, expiresAt, facts, absorbed: [...next.absorbed], isReleased: true };
  if ("state" in next) return { ...given, state: copyOf(next.state) };
  return { ...given, entries: [copyOf(next.entry)], snapshot: copyOf(next.snapshot) };
}

/** Merges the pages, each of which is in order. */
function mergePages([page, other]: readonly ListPage[], listed: readonly ListedRows[]): RunSummary[] {
  const summaries = listed.flatMap(({ rows, now }) => rows.map((row) => toSummary(row, now)));
  if (page === undefined || other === undefined) return summaries;
  const ended = new Map(summaries.filter(({ endedAt }) => endedAt !== undefined).map((run) => [run.id, run]));
  const hasEnded = ({ id, createdAt, endedAt }: RunSummary): boolean =>
    endedAt === undefined && ended.get(id)?.createdAt === createdAt;
  return summaries
    .filter((run) => !hasEnded(run))
    .map((run) => ({ run, key: Buffer.from(run.id) }))
    .sort((a, b) =>
      page.order === "id" ? a.key.compare(b.key) : b.run.createdAt - a.run.createdAt || b.key.compare(a.key),
    )
    .slice(0, page.limit)
    .map(({ run }) => run);
}

function toSummary(row: RunRow, now: number): RunSummary {
  const { id, scope, createdAt, changedAt, expiresAt, ended, owner } = row;
  const { calls, failed, pending, tools } = fromFactsText(row.facts);
  const status = ended ?? (owner === undefined ? "suspended" : "running");
  return {
    id,
    scope,
    status,
    createdAt,
    changedAt,
    ...(ended === undefined ? {} : { endedAt: changedAt }),
    expiresAt,
    ...(owner === undefined || row.leaseUntil <= now ? {} : { owner }),
    calls,
    failed,
    pending: status === "suspended" ? pending : 0,
    ...(tools === undefined ? {} : { tools }),
  };
}

function copiesOf(outcomes: FoundRun["outcomes"]): Map<number, Uint8Array> {
  return new Map([...(outcomes ?? [])].map(([call, outcome]) => [call, copyOf(outcome)]));
}
