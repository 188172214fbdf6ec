/**
 * Runs on the host. A store in a SQLite file, shared by the processes of one machine.
 *
 * - Every change is one transaction that takes the write lock first, so it decides by what is true when it commits.
 * - SQLite notifies nobody: while runs are watched, the store reads the file's version a few times a second.
 * - The thread never waits for a lock. It does wait for the disk, once for all changes of a turn.
 * - Statements use no numbered parameters (`?1`): Node 22 binds nothing to them.
 */
import { closeSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { type Store, StoreError } from "../contract/store.ts";
import { createStore } from "./create-store.ts";
import { SqliteQueue, whileLocked } from "./sqlite-queue.ts";
import { configure, migrateSqlite, numberOf } from "./sqlite-schema.ts";
import { SqliteStatements } from "./sqlite-statements.ts";
import type { Watchers } from "./watchers.ts";

export interface SqliteStoreOptions {
  /** The file; created if it does not exist. Not on a network drive. */
  readonly path: string;
  /** How long a locked file is tried before it counts as unavailable; default 5,000. */
  readonly busyTimeoutMs?: number;
  /** How often the store looks for changes of other processes while runs are watched; default 50. */
  readonly pollMs?: number;
  /** Most bytes of the file; a change that needs more is refused with `full`. */
  readonly maxBytes?: number;
}

/** How many free pages one transaction of an expiry gives back; fewer are not worth it. */
const VACUUM_PAGES = 512;

export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { path, busyTimeoutMs = 5000, pollMs = 50, maxBytes } = options;
  const db = openFile(path);
  try {
    await whileLocked(busyTimeoutMs, () => configure(db, maxBytes));
    await whileLocked(busyTimeoutMs, () => migrateSqlite(db, path));
  } catch (error) {
    db.close();
    throw error;
  }
  const queue = new SqliteQueue(db, busyTimeoutMs);
  const poll = new SqlitePoll(db, pollMs);
  const run = new SqliteStatements(db);

  return createStore({
    isVolatile: path === ":memory:",
    put: (given, lease) => queue.transact(() => run.put(given, lease)),
    claim: (seen, lease) => queue.transact(() => run.claim(seen, lease)),
    change: (claim, change) => queue.transact(() => run.change(claim, change)),
    post: (id, call, outcome) => queue.transact(() => run.post(id, call, outcome)),
    // Reading does not need the write lock.
    read: (id, part) => queue.attempt(() => run.read(id, part)),
    list: (page) => queue.attempt(() => run.list(page)),
    putNote: (key, note, expiry) => queue.transact(() => run.putNote(key, note, expiry)),
    getNote: (key) => queue.attempt(() => run.getNote(key)),
    expire: async (limit, keep) => {
      const expired = await queue.transact(() => run.expire(limit, keep));
      if (expired.ids.length === limit || expired.ended === limit) return expired;
      while (numberOf(db, "freelist_count") > Math.max(VACUUM_PAGES, numberOf(db, "page_count") / 8)) {
        await queue.transact(() => db.prepare(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`).all());
      }
      return expired;
    },
    startWatching: (watchers) => queue.attempt(() => poll.start(watchers)),
    close: async () => {
      poll.stop();
      db.close();
    },
  });
}

function openFile(path: string): DatabaseSync {
  try {
    // Creates a new file that only its owner can read: it holds what programs saw.
    if (path !== ":memory:") closeSync(openSync(path, "a", 0o600));
    return new DatabaseSync(path, { timeout: 0 });
  } catch (error) {
    if (error instanceof TypeError) throw error;
    const said = error instanceof Error ? error.message : String(error);
    throw new StoreError("unavailable", `Cannot open "${path}": ${said}`, { cause: error });
  }
}

/** Looks for changes other connections made to the runs that are watched. */
class SqlitePoll {
  readonly #version;
  readonly #mark;
  readonly #pollMs: number;
  readonly #marks = new Map<string, string>();
  #seen: unknown;
  #timer: NodeJS.Timeout | undefined;

  constructor(db: DatabaseSync, pollMs: number) {
    this.#version = db.prepare("PRAGMA data_version");
    this.#mark = db.prepare("SELECT fence || '/' || changes AS mark FROM runs WHERE id = ?");
    this.#pollMs = pollMs;
  }

  start(watchers: Watchers): void {
    // A run that is watched later has no mark yet. Its watcher is called once without a change, but never misses one.
    if (this.#timer !== undefined) return;
    this.#seen = this.#version.get()?.["data_version"];
    for (const id of watchers.ids) this.#marks.set(id, this.#markOf(id));
    this.#timer = setInterval(() => this.#look(watchers), this.#pollMs).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#marks.clear();
  }

  #markOf(id: string): string {
    return String(this.#mark.get(id)?.["mark"] ?? "");
  }

  #look(watchers: Watchers): void {
    if (watchers.size === 0) return this.stop();
    try {
      const current = this.#version.get()?.["data_version"];
      if (current === this.#seen) return;
      const ids = new Set(watchers.ids);
      for (const id of this.#marks.keys()) if (!ids.has(id)) this.#marks.delete(id);
      for (const id of ids) {
        const now = this.#markOf(id);
        if (this.#marks.get(id) !== now) watchers.call(id);
        this.#marks.set(id, now);
      }
      // Set this last, so that the next look repeats everything after an error.
      this.#seen = current;
    } catch {
      // The file is locked at the moment.
    }
  }
}
