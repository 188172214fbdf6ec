/** The driver that docs/guide/write-a-store.md shows. It keeps everything in one JSON file, for one process. */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createStore, listRows, StoreError, type FoundRun, type RunRow, type Store } from "codecell/store";

interface JsonRun {
  row: RunRow;
  state: string;
  journal: string[];
  snapshot?: string;
  outcomes: Record<string, string>;
}

interface JsonData {
  fence: number;
  runs: Record<string, JsonRun>;
  ended: Record<string, { row: RunRow; state: string; bytes: number }>;
  notes: Record<string, { note: string; expiresAt: number }>;
}

const toText = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const toBytes = (text: string): Uint8Array => Buffer.from(text, "base64");

export function openJsonStore(path: string): Store {
  // Without a prototype: an id may be any text, "__proto__" too.
  const records = <T>(from: Record<string, T> = {}): Record<string, T> =>
    Object.assign(Object.create(null) as Record<string, T>, from);
  const read = (): JsonData => {
    const kept = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Partial<JsonData>) : {};
    const { fence = 0, runs, ended, notes } = kept;
    return { fence, runs: records(runs), ended: records(ended), notes: records(notes) };
  };

  let waiting: {
    work: (data: JsonData) => unknown;
    resolve: (answer: never) => void;
    reject: (error: unknown) => void;
  }[] = [];

  function transact<T>(work: (data: JsonData) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      waiting.push({ work, resolve, reject });
      // What is asked for in one turn is written together: each write waits for the disk.
      if (waiting.length === 1) setImmediate(commit);
    });
  }

  function commit(): void {
    const tasks = waiting;
    waiting = [];
    try {
      const data = read();
      const answers = tasks.map(({ work }) => work(data));
      writeFileSync(`${path}.new`, JSON.stringify(data), { flush: true });
      // Whole or not at all: the new file takes the place of the old one in one step.
      renameSync(`${path}.new`, path);
      for (const [index, { resolve }] of tasks.entries()) resolve(answers[index] as never);
    } catch (cause) {
      const error = new StoreError("unavailable", `Cannot write ${path}`, { cause });
      for (const { reject } of tasks) reject(error);
    }
  }

  return createStore({
    put: ({ id, scope, expiresAt, state, facts }, { owner, ms }) =>
      transact((data) => {
        if (Object.hasOwn(data.runs, id)) return undefined;
        const now = Date.now();
        const fence = ++data.fence;
        const times = { createdAt: now, changedAt: now, expiresAt, leaseUntil: now + ms };
        const row = { id, scope, facts, fence, owner, ended: undefined, ...times };
        data.runs[id] = { row, state: toText(state), journal: [], outcomes: {} };
        return fence;
      }),

    claim: ({ id, fence }, { owner, ms }) =>
      transact((data) => {
        const run = find(data.runs, id);
        const now = Date.now();
        if (run?.row.fence !== fence || run.row.leaseUntil > now || run.row.expiresAt < now) return undefined;
        run.row = { ...run.row, fence: ++data.fence, owner, leaseUntil: now + ms, changedAt: now };
        return toFound(run);
      }),

    change: ({ id, fence }, change) =>
      transact((data) => {
        const run = find(data.runs, id);
        if (run?.row.fence !== fence || run.row.owner === undefined) return false;
        const now = Date.now();
        if (change.kind !== "edit") {
          delete data.runs[id];
          if (change.kind === "end") {
            const { ended, state, expiresAt, facts, bytes } = change;
            const over = { fence: 0, owner: undefined, leaseUntil: 0, changedAt: now };
            const row = { ...run.row, ...over, ended, expiresAt, facts };
            data.ended[id] = { row, state: toText(state), bytes };
          }
          return true;
        }
        const { leaseMs, expiresAt, facts, state, entries, snapshot, absorbed, isReleased } = change;
        run.row = {
          ...run.row,
          leaseUntil: leaseMs === undefined ? run.row.leaseUntil : now + leaseMs,
          expiresAt: expiresAt ?? run.row.expiresAt,
          facts: facts ?? run.row.facts,
          ...(isReleased ? { owner: undefined, leaseUntil: 0, changedAt: now } : {}),
        };
        if (state !== undefined) {
          run.state = toText(state);
          run.journal = [];
          delete run.snapshot;
        }
        for (const entry of entries) run.journal.push(toText(entry));
        if (snapshot !== undefined) run.snapshot = toText(snapshot);
        for (const call of absorbed) delete run.outcomes[call];
        return true;
      }),

    post: (id, call, outcome) =>
      transact((data) => {
        const run = find(data.runs, id);
        if (run === undefined || Object.hasOwn(run.outcomes, call)) return false;
        run.outcomes[call] = toText(outcome);
        return true;
      }),

    read: async (id, part) => {
      const data = read();
      const run = find(data.runs, id);
      if (part !== "ended") return run && toFound(run);
      const ended = find(data.ended, id);
      return ended && { row: ended.row, state: toBytes(ended.state), now: Date.now() };
    },

    list: async (page) => {
      const { runs, ended } = read();
      const those: { row: RunRow }[] = Object.values(page.isEnded ? ended : runs);
      return listRows(
        those.map(({ row }) => row),
        page,
      );
    },

    expire: (limit, keep) =>
      transact((data) => {
        const now = Date.now();
        const isOver = ({ row }: { row: RunRow }): boolean => row.expiresAt < now && row.leaseUntil <= now;
        for (const [key, { expiresAt }] of Object.entries(data.notes)) {
          if (expiresAt < now) delete data.notes[key];
        }
        const runs = Object.values(data.runs).filter(isOver).slice(0, limit);
        for (const { row } of runs) delete data.runs[row.id];
        const newest = Object.values(data.ended).sort(
          (a, b) => b.row.changedAt - a.row.changedAt || (a.row.id < b.row.id ? 1 : -1),
        );
        let bytes = 0;
        const gone = newest.filter((one, place) => {
          bytes += one.bytes;
          return isOver(one) || (keep !== undefined && (place >= keep.runs || bytes > keep.bytes));
        });
        for (const { row } of gone.slice(-limit)) delete data.ended[row.id];
        return { ids: runs.map(({ row }) => row.id), ended: Math.min(gone.length, limit) };
      }),

    putNote: (key, note, expiry) =>
      transact((data) => {
        const expiresAt = "at" in expiry ? expiry.at : Date.now() + expiry.inMs;
        data.notes[key] = { note: toText(note), expiresAt };
      }),

    getNote: async (key) => {
      const found = find(read().notes, key);
      return found === undefined || found.expiresAt < Date.now() ? undefined : toBytes(found.note);
    },
  });
}

/** An id may be any text, also the name of what every object has: "toString". */
function find<T>(record: Record<string, T>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function toFound({ row, state, journal, snapshot, outcomes }: JsonRun): FoundRun {
  return {
    row,
    now: Date.now(),
    posted: Object.keys(outcomes).length,
    state: toBytes(state),
    journal: journal.map(toBytes),
    snapshot: snapshot === undefined ? undefined : toBytes(snapshot),
    outcomes: new Map(Object.entries(outcomes).map(([call, outcome]) => [Number(call), toBytes(outcome)])),
  };
}
