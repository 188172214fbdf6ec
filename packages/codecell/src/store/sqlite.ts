/**
 * A store in a SQLite file, shared by the processes of one machine.
 *
 * - Every change is one transaction that takes the write lock first, so it decides on what is true when it commits.
 * - SQLite notifies nobody: while runs are watched, the file is asked for its version a few times a second. Changes
 *   made through this store call back at once.
 * - The thread never waits for a lock; it does wait for the disk, once for all changes of a turn.
 * - Statements number no parameters (`?1`): Node 22 binds those to nothing.
 */
import { closeSync, openSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { type Claim, type Claimed, type RunSummary, type Store, StoreError } from "../contract/store.ts";
import { createStore, type ListPage, runExists, staleClaim, toSummary } from "./create-store.ts";
import { SqliteQueue, whileLocked } from "./sqlite-queue.ts";
import { configure, migrate, numberOf } from "./sqlite-schema.ts";
import { Watchers } from "./watchers.ts";

export interface SqliteStoreOptions {
  /** The file; it is made when there is none. Not on a network drive. */
  readonly path: string;
  /** How long a locked file is tried before it counts as unavailable; 5,000 unless said otherwise. */
  readonly busyTimeoutMs?: number;
  /** How often the changes of other processes are looked for while runs are watched; 50 unless said otherwise. */
  readonly pollMs?: number;
  /** What the file may grow to; beyond it changes are refused with `full`. */
  readonly maxBytes?: number;
}

/** Runs deleted in one transaction of an expiry. */
const EXPIRY_BATCH = 50;
/** Free pages given back in one transaction of an expiry, and how many are worth it. */
const VACUUM_PAGES = 512;

interface RunRow {
  readonly id: string;
  readonly scope: string;
  readonly expires_at: number;
  readonly changed_at: number;
  readonly fence: number;
  readonly owner: string | null;
  readonly lease_until: number;
  readonly changes: number;
}

export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { path, busyTimeoutMs = 5000, pollMs = 50, maxBytes } = options;
  const db = openFile(path);
  try {
    await whileLocked(busyTimeoutMs, () => configure(db, maxBytes));
    await whileLocked(busyTimeoutMs, () => migrate(db, path));
  } catch (error) {
    db.close();
    throw error;
  }
  const watchers = new Watchers();
  const queue = new SqliteQueue(db, busyTimeoutMs);
  const poll = startPolling(db, watchers, pollMs);
  const statement = statementsOf(db);

  const runOf = (id: string): RunRow | undefined =>
    statement("SELECT * FROM runs WHERE id = ?").get(id) as RunRow | undefined;

  const nextFence = (): number =>
    Number(statement("UPDATE fences SET last = last + 1 RETURNING last").get()?.["last"]);

  /** Changes a run under its claim, or refuses. */
  function fenced({ id, fence }: Claim, change: string, values: readonly (number | string)[]): void {
    const where = "WHERE id = ? AND fence = ? AND owner IS NOT NULL";
    const { changes } = statement(`${change} ${where}`).run(...values, id, fence);
    if (changes === 0) throw staleClaim({ id, fence });
  }

  /** Changes nothing but asks for the claim. */
  const assertClaimed = (claim: Claim): void => fenced(claim, "UPDATE runs SET fence = fence", []);

  function outcomesOf(id: string): Map<number, Uint8Array> {
    const rows = statement("SELECT call, outcome FROM outcomes WHERE run_id = ? ORDER BY call").all(id);
    return new Map(rows.map((row) => [row["call"] as number, row["outcome"] as Uint8Array]));
  }

  function addEntry({ id }: Claim, entry: Uint8Array): void {
    statement(
      `INSERT INTO journal (run_id, position, entry)
       SELECT ?, coalesce(max(position), 0) + 1, ? FROM journal WHERE run_id = ?`,
    ).run(id, entry, id);
  }

  function keepSnapshot({ id }: Claim, snapshot: Uint8Array): void {
    statement("INSERT OR REPLACE INTO snapshots (run_id, snapshot) VALUES (?, ?)").run(id, snapshot);
  }

  function expireSome(): string[] {
    const now = Date.now();
    // With the index, and in its order: a run that is held keeps nobody waiting behind it.
    const gone = statement(
      "SELECT id FROM runs INDEXED BY runs_by_expiry WHERE expires_at < ? AND lease_until <= ? LIMIT ?",
    ).all(now, now, EXPIRY_BATCH);
    const ids = gone.map((row) => row["id"] as string);
    for (const id of ids) statement("DELETE FROM runs WHERE id = ?").run(id);
    return ids;
  }

  return createStore(
    {
      isVolatile: path === ":memory:",
      put: (run, { owner, ms }) =>
        queue.transact(() => {
          if (runOf(run.id) !== undefined) throw runExists(run.id);
          const now = Date.now();
          const fence = nextFence();
          statement(
            `INSERT INTO runs (id, scope, expires_at, changed_at, fence, owner, lease_until)
             VALUES (?, ?, ?, ?, ?, ?, ?)`,
          ).run(run.id, run.scope, run.expiresAt, now, fence, owner, now + ms);
          statement("INSERT INTO states (run_id, state) VALUES (?, ?)").run(run.id, run.state);
          return { id: run.id, fence };
        }),
      claim: async (id, { owner, ms }, scope) => {
        // Whoever comes for a run that is held does not ask for the write lock.
        const refused = await queue.attempt(() => refusalOf(runOf(id), scope, Date.now()));
        if (refused !== undefined) return refused;
        return queue.transact((): Claimed => {
          const row = runOf(id);
          const now = Date.now();
          const late = refusalOf(row, scope, now);
          if (late !== undefined || row === undefined) return late ?? { status: "absent" };
          const fence = nextFence();
          statement("UPDATE runs SET fence = ?, owner = ?, lease_until = ?, changed_at = ? WHERE id = ?").run(
            fence,
            owner,
            now + ms,
            now,
            id,
          );
          const state = statement("SELECT state FROM states WHERE run_id = ?").get(id)?.[
            "state"
          ] as Uint8Array;
          const entries = statement("SELECT entry FROM journal WHERE run_id = ? ORDER BY position").all(id);
          const journal = entries.map((entry) => entry["entry"] as Uint8Array);
          const kept = statement("SELECT snapshot FROM snapshots WHERE run_id = ?").get(id);
          const run = {
            id,
            scope: row.scope,
            expiresAt: row.expires_at,
            state,
            journal,
            ...(kept === undefined ? {} : { snapshot: kept["snapshot"] as Uint8Array }),
            outcomes: outcomesOf(id),
          };
          return { status: "claimed", claim: { id, fence }, run };
        });
      },
      renew: (claim, ms, expiresAt) =>
        queue.transact(() => {
          const until = Date.now() + ms;
          if (expiresAt === undefined) fenced(claim, "UPDATE runs SET lease_until = ?", [until]);
          else fenced(claim, "UPDATE runs SET lease_until = ?, expires_at = ?", [until, expiresAt]);
        }),
      append: (claim, entries) =>
        queue.transact(() => {
          assertClaimed(claim);
          for (const entry of entries) addEntry(claim, entry);
        }),
      saveSnapshot: (claim, snapshot) =>
        queue.transact(() => {
          assertClaimed(claim);
          keepSnapshot(claim, snapshot);
        }),
      loadSnapshot: (claim) =>
        queue.attempt(() => {
          const row = statement(
            `SELECT snapshot FROM runs LEFT JOIN snapshots ON run_id = id
             WHERE id = ? AND fence = ? AND owner IS NOT NULL`,
          ).get(claim.id, claim.fence);
          if (row === undefined) throw staleClaim(claim);
          return (row["snapshot"] as Uint8Array | null) ?? undefined;
        }),
      post: async (id, call, outcome) => {
        const posted = await queue.transact(() => {
          const { changes } = statement(
            `INSERT INTO outcomes (run_id, call, outcome) SELECT id, ?, ? FROM runs WHERE id = ?
             ON CONFLICT DO NOTHING`,
          ).run(call, outcome, id);
          if (changes === 0) return false;
          statement("UPDATE runs SET changes = changes + 1 WHERE id = ?").run(id);
          return true;
        });
        if (posted) watchers.call(id);
        return posted;
      },
      outcomes: (id) =>
        // In one transaction, or a run could be deleted in between.
        queue.attempt(() => {
          db.exec("BEGIN");
          try {
            return runOf(id) && outcomesOf(id);
          } finally {
            db.exec("COMMIT");
          }
        }),
      release: async (claim, next) => {
        await queue.transact(() => {
          const change =
            "UPDATE runs SET owner = NULL, lease_until = 0, changes = changes + 1, changed_at = ?";
          if (next === undefined) {
            fenced(claim, change, [Date.now()]);
            return;
          }
          fenced(claim, `${change}, expires_at = ?`, [Date.now(), next.expiresAt]);
          if ("state" in next) {
            statement("UPDATE states SET state = ? WHERE run_id = ?").run(next.state, claim.id);
            statement("DELETE FROM journal WHERE run_id = ?").run(claim.id);
            statement("DELETE FROM snapshots WHERE run_id = ?").run(claim.id);
          } else {
            addEntry(claim, next.entry);
            keepSnapshot(claim, next.snapshot);
          }
          const absorb = statement("DELETE FROM outcomes WHERE run_id = ? AND call = ?");
          for (const call of next.absorbed) absorb.run(claim.id, call);
        });
        watchers.call(claim.id);
      },
      delete: async (claim) => {
        await queue.transact(() => fenced(claim, "DELETE FROM runs", []));
        watchers.call(claim.id);
      },
      list: (page) => queue.attempt(() => list(statement, page)),
      attend: (executor, ms) =>
        queue.transact(() => {
          if (ms === 0) statement("DELETE FROM executors WHERE id = ?").run(executor);
          else {
            const until = Date.now() + ms;
            statement("INSERT OR REPLACE INTO executors (id, until) VALUES (?, ?)").run(executor, until);
          }
        }),
      attends: (executor) =>
        queue.attempt(
          () =>
            statement("SELECT 1 FROM executors WHERE id = ? AND until > ?").get(executor, Date.now()) !==
            undefined,
        ),
      putNote: (key, note, expiresAt) =>
        queue.transact(() => {
          statement("INSERT OR REPLACE INTO notes (key, note, expires_at) VALUES (?, ?, ?)").run(
            key,
            note,
            expiresAt,
          );
        }),
      getNote: (key) =>
        queue.attempt(() => {
          const row = statement("SELECT note FROM notes WHERE key = ? AND expires_at >= ?").get(
            key,
            Date.now(),
          );
          return row?.["note"] as Uint8Array | undefined;
        }),
      expire: async () => {
        await queue.transact(() => {
          statement("DELETE FROM executors WHERE until <= ?").run(Date.now());
          statement("DELETE FROM notes WHERE expires_at < ?").run(Date.now());
        });
        let count = 0;
        for (let full = true; full;) {
          // Several short transactions: neither this thread nor other processes wait for all of it.
          const ids = await queue.transact(expireSome);
          for (const id of ids) watchers.call(id);
          count += ids.length;
          full = ids.length === EXPIRY_BATCH;
        }
        while (numberOf(db, "freelist_count") > Math.max(VACUUM_PAGES, numberOf(db, "page_count") / 8)) {
          await queue.transact(() => db.prepare(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`).all());
        }
        return count;
      },
      startWatching: () => queue.attempt(() => poll.start()),
      close: async () => {
        poll.stop();
        db.close();
      },
    },
    watchers,
  );
}

/** Why a run cannot be claimed, if so. */
function refusalOf(row: RunRow | undefined, scope: string | undefined, now: number): Claimed | undefined {
  if (row === undefined || (scope !== undefined && scope !== row.scope)) return { status: "absent" };
  if (row.lease_until > now) return { status: "held", owner: row.owner ?? "", until: row.lease_until };
  return row.expires_at < now ? { status: "absent" } : undefined;
}

function openFile(path: string): DatabaseSync {
  try {
    // Made here when it is new, for its owner only: it holds what programs saw.
    if (path !== ":memory:") closeSync(openSync(path, "a", 0o600));
    return new DatabaseSync(path, { timeout: 0 });
  } catch (error) {
    if (error instanceof TypeError) throw error;
    const said = error instanceof Error ? error.message : String(error);
    throw new StoreError("unavailable", `Cannot open "${path}": ${said}`, { cause: error });
  }
}

function statementsOf(db: DatabaseSync): (sql: string) => StatementSync {
  const prepared = new Map<string, StatementSync>();
  return (sql) => {
    const one = prepared.get(sql) ?? db.prepare(sql);
    prepared.set(sql, one);
    return one;
  };
}

function list(
  statement: (sql: string) => StatementSync,
  { scope, claimable, after, limit }: ListPage,
): RunSummary[] {
  const now = Date.now();
  // The plus keeps the planner on the order of ids instead of sorting by expiry.
  const alive = claimable
    ? "lease_until <= :now AND +expires_at >= :now"
    : "(lease_until > :now OR +expires_at >= :now)";
  const within = scope === undefined ? "" : "scope = :scope AND";
  const rows = statement(
    `SELECT id, scope, expires_at, changed_at, owner, lease_until FROM runs
     WHERE ${within} id > :after AND ${alive} ORDER BY id LIMIT :limit`,
  ).all({ now, after, limit, ...(scope === undefined ? {} : { scope }) }) as unknown as RunRow[];
  return rows.map((row) => {
    const { id, scope: of, expires_at: expiresAt, changed_at: changedAt } = row;
    return toSummary({ id, scope: of, expiresAt, changedAt }, row.owner, row.lease_until > now);
  });
}

/** Looks for changes other connections made to the runs that are watched. */
function startPolling(db: DatabaseSync, watchers: Watchers, pollMs: number): { start(): void; stop(): void } {
  const version = db.prepare("PRAGMA data_version");
  const mark = db.prepare("SELECT fence || '/' || changes AS mark FROM runs WHERE id = ?");
  const marks = new Map<string, string>();
  let seen: unknown;
  let timer: NodeJS.Timeout | undefined;
  const markOf = (id: string): string => String(mark.get(id)?.["mark"] ?? "");

  function stop(): void {
    clearInterval(timer);
    timer = undefined;
    marks.clear();
  }

  function look(): void {
    if (watchers.size === 0) return stop();
    try {
      const current = version.get()?.["data_version"];
      if (current === seen) return;
      const ids = new Set(watchers.keys);
      for (const id of marks.keys()) if (!ids.has(id)) marks.delete(id);
      for (const id of ids) {
        const now = markOf(id);
        if (marks.get(id) !== now) watchers.call(id);
        marks.set(id, now);
      }
      // Last, so that whatever goes wrong before is done again.
      seen = current;
    } catch {
      // Locked at the moment.
    }
  }

  return {
    start: () => {
      // A run that is watched later has no mark yet; it is called once without cause, never too rarely.
      if (timer !== undefined) return;
      seen = version.get()?.["data_version"];
      for (const id of watchers.keys) marks.set(id, markOf(id));
      timer = setInterval(look, pollMs).unref();
    },
    stop,
  };
}
