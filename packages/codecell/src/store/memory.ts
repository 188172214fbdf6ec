/**
 * A store in this process's memory: for tests, and where runs need not outlive the process.
 *
 * - Every change is made between two turns of the event loop, so each is whole.
 * - Lists look at every run; it is no store for hundreds of thousands.
 */
import type { NewRun, Store } from "../contract/store.ts";
import { createStore, runExists, staleClaim, toSummary } from "./create-store.ts";
import { Watchers } from "./watchers.ts";

interface MemoryRun {
  run: NewRun;
  changedAt: number;
  fence: number;
  /** Undefined once released. */
  owner: string | undefined;
  leaseUntil: number;
  journal: Uint8Array[];
  snapshot: Uint8Array | undefined;
  readonly outcomes: Map<number, Uint8Array>;
}

export function createMemoryStore(): Store {
  const runs = new Map<string, MemoryRun>();
  /** When each executor's time is over. */
  const executors = new Map<string, number>();
  const notes = new Map<string, { readonly note: Uint8Array; readonly expiresAt: number }>();
  const watchers = new Watchers();
  // One for all runs: an id that is used again must not meet its old fences.
  let fences = 0;

  function claimed({ id, fence }: { readonly id: string; readonly fence: number }): MemoryRun {
    const entry = runs.get(id);
    if (entry === undefined || entry.fence !== fence || entry.owner === undefined) {
      throw staleClaim({ id, fence });
    }
    return entry;
  }

  function remove(id: string): void {
    runs.delete(id);
    watchers.call(id);
  }

  return createStore(
    {
      isVolatile: true,
      put: async (run, { owner, ms }) => {
        if (runs.has(run.id)) throw runExists(run.id);
        const now = Date.now();
        const fence = ++fences;
        const leaseUntil = now + ms;
        const contents = { journal: [], snapshot: undefined, outcomes: new Map() };
        runs.set(run.id, { run, changedAt: now, fence, owner, leaseUntil, ...contents });
        return { id: run.id, fence };
      },
      claim: async (id, { owner, ms }, scope) => {
        const entry = runs.get(id);
        const now = Date.now();
        if (entry === undefined || (scope !== undefined && scope !== entry.run.scope)) {
          return { status: "absent" };
        }
        if (isHeld(entry, now)) return { status: "held", owner: entry.owner ?? "", until: entry.leaseUntil };
        if (isExpired(entry, now)) return { status: "absent" };
        Object.assign(entry, { fence: ++fences, owner, leaseUntil: now + ms, changedAt: now });
        return {
          status: "claimed",
          claim: { id, fence: entry.fence },
          run: {
            ...entry.run,
            state: entry.run.state.slice(),
            journal: entry.journal.map((one) => one.slice()),
            ...(entry.snapshot === undefined ? {} : { snapshot: entry.snapshot.slice() }),
            outcomes: copyOf(entry.outcomes),
          },
        };
      },
      renew: async (claim, ms, expiresAt) => {
        const entry = claimed(claim);
        entry.leaseUntil = Date.now() + ms;
        if (expiresAt !== undefined) entry.run = { ...entry.run, expiresAt };
      },
      append: async (claim, entries) => {
        const entry = claimed(claim);
        entry.journal = entry.journal.concat(entries);
      },
      saveSnapshot: async (claim, snapshot) => {
        claimed(claim).snapshot = snapshot;
      },
      loadSnapshot: async (claim) => claimed(claim).snapshot?.slice(),
      post: async (id, call, outcome) => {
        const entry = runs.get(id);
        if (entry === undefined || entry.outcomes.has(call)) return false;
        entry.outcomes.set(call, outcome);
        watchers.call(id);
        return true;
      },
      outcomes: async (id) => {
        const entry = runs.get(id);
        return entry && copyOf(entry.outcomes);
      },
      release: async (claim, next) => {
        const entry = claimed(claim);
        if (next !== undefined) {
          const { expiresAt } = next;
          const isNew = "state" in next;
          entry.run = { ...entry.run, expiresAt, ...(isNew ? { state: next.state } : {}) };
          entry.journal = isNew ? [] : entry.journal.concat([next.entry]);
          entry.snapshot = isNew ? undefined : next.snapshot;
          for (const call of next.absorbed) entry.outcomes.delete(call);
        }
        Object.assign(entry, { owner: undefined, leaseUntil: 0, changedAt: Date.now() });
        watchers.call(claim.id);
      },
      delete: async (claim) => {
        claimed(claim);
        remove(claim.id);
      },
      list: async ({ scope, claimable, after, limit }) => {
        const now = Date.now();
        const from = Buffer.from(after);
        return [...runs.values()]
          .filter((entry) => {
            if (scope !== undefined && entry.run.scope !== scope) return false;
            return isHeld(entry, now) ? !claimable : !isExpired(entry, now);
          })
          .map((entry) => ({ entry, key: Buffer.from(entry.run.id) }))
          .filter(({ key }) => key.compare(from) > 0)
          .sort((a, b) => a.key.compare(b.key))
          .slice(0, limit)
          .map(({ entry }) => {
            const { run, changedAt, owner } = entry;
            return toSummary({ ...run, changedAt }, owner, isHeld(entry, now));
          });
      },
      attend: async (executor, ms) => {
        if (ms === 0) executors.delete(executor);
        else executors.set(executor, Date.now() + ms);
      },
      attends: async (executor) => (executors.get(executor) ?? 0) > Date.now(),
      putNote: async (key, note, expiresAt) => void notes.set(key, { note, expiresAt }),
      getNote: async (key) => {
        const found = notes.get(key);
        return found === undefined || found.expiresAt < Date.now() ? undefined : found.note.slice();
      },
      expire: async () => {
        const now = Date.now();
        for (const [key, { expiresAt }] of notes) if (expiresAt < now) notes.delete(key);
        for (const [executor, until] of executors) if (until <= now) executors.delete(executor);
        const gone = [...runs].filter(([, entry]) => isExpired(entry, now) && !isHeld(entry, now));
        for (const [id] of gone) remove(id);
        return gone.length;
      },
      startWatching: async () => {},
      close: async () => runs.clear(),
    },
    watchers,
  );
}

function isHeld({ leaseUntil }: MemoryRun, now: number): boolean {
  return leaseUntil > now;
}

function isExpired({ run }: MemoryRun, now: number): boolean {
  return run.expiresAt < now;
}

function copyOf(outcomes: ReadonlyMap<number, Uint8Array>): Map<number, Uint8Array> {
  return new Map([...outcomes].map(([call, outcome]) => [call, outcome.slice()]));
}
