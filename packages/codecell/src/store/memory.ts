/**
 * Runs on the host. A store in this process's memory: for tests, and where runs need not outlive the process.
 *
 * - Every change is made within one turn of the event loop, so each happens as a whole.
 * - Lists look at every run, so this store is not for hundreds of thousands of runs.
 */
import type { Claim, Store } from "../contract/store.ts";
import { createStore } from "./create-store.ts";
import type { Change, Edit, FoundRun, RunRow } from "./driver.ts";
import { listRows } from "./list-rows.ts";

interface MemoryRun {
  row: RunRow;
  state: Uint8Array;
  journal: readonly Uint8Array[];
  snapshot: Uint8Array | undefined;
  readonly outcomes: Map<number, Uint8Array>;
}

interface MemoryEnded {
  readonly row: RunRow;
  readonly state: Uint8Array;
  readonly bytes: number;
}

export function createMemoryStore(): Store {
  const runs = new Map<string, MemoryRun>();
  /** Oldest first. */
  const ended = new Map<string, MemoryEnded>();
  let endedBytes = 0;
  const notes = new Map<string, { readonly note: Uint8Array; readonly expiresAt: number }>();
  // One counter for all runs: a run with a reused id must never have an old fence.
  let fences = 0;

  function claimed({ id, fence }: Claim): MemoryRun | undefined {
    const run = runs.get(id);
    return run?.row.fence === fence && run.row.owner !== undefined ? run : undefined;
  }

  function forget(id: string): void {
    endedBytes -= ended.get(id)?.bytes ?? 0;
    ended.delete(id);
  }

  function end({ row }: MemoryRun, { ended: status, state, expiresAt, facts, bytes }: EndChange): void {
    forget(row.id);
    endedBytes += bytes;
    const over = { fence: 0, owner: undefined, leaseUntil: 0, changedAt: Date.now() };
    ended.set(row.id, { row: { ...row, ...over, ended: status, expiresAt, facts }, state, bytes });
  }

  return createStore({
    isVolatile: true,
    put: async ({ id, scope, expiresAt, state, facts }, { owner, ms }) => {
      if (runs.has(id)) return undefined;
      const now = Date.now();
      const lease = { fence: ++fences, owner, leaseUntil: now + ms };
      const row = { id, scope, createdAt: now, changedAt: now, expiresAt, facts, ended: undefined, ...lease };
      runs.set(id, { row, state, journal: [], snapshot: undefined, outcomes: new Map() });
      return row.fence;
    },
    claim: async ({ id, fence }, { owner, ms }) => {
      const run = runs.get(id);
      const now = Date.now();
      if (run?.row.fence !== fence || run.row.leaseUntil > now || run.row.expiresAt < now) return undefined;
      run.row = { ...run.row, fence: ++fences, owner, leaseUntil: now + ms, changedAt: now };
      return toFound(run, now);
    },
    change: async (claim, change) => {
      const run = claimed(claim);
      if (run === undefined) return false;
      if (change.kind === "edit") edit(run, change);
      else runs.delete(claim.id);
      if (change.kind === "end") end(run, change);
      return true;
    },
    post: async (id, call, outcome) => {
      const outcomes = runs.get(id)?.outcomes;
      if (outcomes === undefined || outcomes.has(call)) return false;
      outcomes.set(call, outcome);
      return true;
    },
    read: async (id, part) => {
      const run = runs.get(id);
      if (part !== "ended") return run && toFound(run, Date.now());
      const over = ended.get(id);
      return over && { row: over.row, state: over.state, now: Date.now() };
    },
    list: async (page) => {
      const those: Iterable<{ readonly row: RunRow }> = (page.isEnded ? ended : runs).values();
      return listRows(
        [...those].map(({ row }) => row),
        page,
      );
    },
    expire: async (limit, keep) => {
      const now = Date.now();
      for (const [key, { expiresAt }] of notes) if (expiresAt < now) notes.delete(key);
      const isOver = ({ row }: { readonly row: RunRow }): boolean =>
        row.expiresAt < now && row.leaseUntil <= now;
      const ids = [...runs.values()].filter(isOver).slice(0, limit);
      for (const { row } of ids) runs.delete(row.id);
      let count = 0;
      for (const [id, one] of ended) {
        const isBeyond = keep !== undefined && (ended.size > keep.runs || endedBytes > keep.bytes);
        if (count === limit) break;
        if (!isBeyond && !isOver(one)) continue;
        forget(id);
        count++;
      }
      return { ids: ids.map(({ row }) => row.id), ended: count };
    },
    putNote: async (key, note, expiry) => {
      notes.set(key, { note, expiresAt: "at" in expiry ? expiry.at : Date.now() + expiry.inMs });
    },
    getNote: async (key) => {
      const found = notes.get(key);
      return found === undefined || found.expiresAt < Date.now() ? undefined : found.note;
    },
    close: async () => {
      runs.clear();
      ended.clear();
    },
  });
}

type EndChange = Extract<Change, { kind: "end" }>;

function toFound({ row, ...parts }: MemoryRun, now: number): FoundRun {
  return { row, now, ...parts };
}

function edit(run: MemoryRun, change: Edit): void {
  const { leaseMs, expiresAt, facts, state, entries, snapshot, absorbed, isReleased } = change;
  const now = Date.now();
  run.row = {
    ...run.row,
    ...(leaseMs === undefined ? {} : { leaseUntil: now + leaseMs }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(facts === undefined ? {} : { facts }),
    ...(isReleased ? { owner: undefined, leaseUntil: 0, changedAt: now } : {}),
  };
  if (state !== undefined) Object.assign(run, { state, journal: [], snapshot: undefined });
  if (entries.length > 0) run.journal = run.journal.concat(entries);
  run.snapshot = snapshot ?? run.snapshot;
  for (const call of absorbed) run.outcomes.delete(call);
}
