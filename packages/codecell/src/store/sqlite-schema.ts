/**
 * Runs on the host. The tables of a SQLite store, and the migrations that make them.
 *
 * - `user_version` counts the migrations that a file has had. A file with more than this version knows is refused,
 *   and so is a file of another program.
 * - Rows of `runs` and `ended` are small and hold no bytes of a run: lists and leases never touch those bytes.
 */
import type { DatabaseSync } from "node:sqlite";
import { StoreError } from "../contract/store.ts";

/** "cell" in ASCII; marks the file as ours. */
const APPLICATION_ID = 0x63656c6c;

/** Migrations are only ever added: entry n takes a file from version n to n + 1. */
export const SQLITE_MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE runs (
    id TEXT NOT NULL PRIMARY KEY,
    scope TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    owner TEXT,                          -- NULL once released: its fence is good for nothing then
    lease_until INTEGER NOT NULL,
    changes INTEGER NOT NULL DEFAULT 0   -- what watchers in other processes compare
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX runs_by_scope ON runs (scope, id);
  CREATE INDEX runs_by_expiry ON runs (expires_at, lease_until);
  CREATE TABLE states (
    run_id TEXT NOT NULL PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    state BLOB NOT NULL
  ) STRICT;
  CREATE TABLE journal (
    run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    position INTEGER NOT NULL,
    entry BLOB NOT NULL,
    PRIMARY KEY (run_id, position)
  ) STRICT;
  CREATE TABLE outcomes (
    run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    call INTEGER NOT NULL,
    outcome BLOB NOT NULL,
    PRIMARY KEY (run_id, call)
  ) STRICT;
  CREATE TABLE fences (last INTEGER NOT NULL) STRICT;
  INSERT INTO fences VALUES (0);
  `,
  `
  CREATE TABLE snapshots (
    run_id TEXT NOT NULL PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
    snapshot BLOB NOT NULL
  ) STRICT;
  CREATE TABLE executors (id TEXT NOT NULL PRIMARY KEY, until INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE notes (
    key TEXT NOT NULL PRIMARY KEY,
    note BLOB NOT NULL,
    expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX notes_by_expiry ON notes (expires_at);
  `,
  `
  ALTER TABLE runs ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE runs ADD COLUMN facts TEXT NOT NULL DEFAULT '';
  UPDATE runs SET created_at = changed_at;
  CREATE INDEX runs_by_creation ON runs (created_at, id);
  CREATE INDEX runs_by_scope_and_creation ON runs (scope, created_at, id);
  CREATE TABLE ended (
    id TEXT NOT NULL PRIMARY KEY,
    scope TEXT NOT NULL,
    ended TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    facts TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX ended_by_scope ON ended (scope, id);
  CREATE INDEX ended_by_creation ON ended (created_at, id, ended);
  CREATE INDEX ended_by_scope_and_creation ON ended (scope, created_at, id, ended);
  CREATE INDEX ended_by_expiry ON ended (expires_at);
  CREATE INDEX ended_by_end ON ended (changed_at, id, bytes);
  CREATE TABLE ended_states (
    run_id TEXT NOT NULL PRIMARY KEY REFERENCES ended ON DELETE CASCADE,
    state BLOB NOT NULL
  ) STRICT;
  -- Executors attend with notes.
  UPDATE notes SET key = 'note:' || key;
  INSERT INTO notes (key, note, expires_at) SELECT 'executor:' || id, x'', until FROM executors;
  DROP TABLE executors;
  `,
];

/** Sets how the connection behaves; called before anything else. The file may be locked. */
export function configure(db: DatabaseSync, maxBytes: number | undefined): void {
  db.exec("PRAGMA foreign_keys = ON");
  // SQLite overwrites freed pages where that needs no further writing.
  db.exec("PRAGMA secure_delete = FAST");
  // Takes effect only in a new file. Expiry gives freed pages back to the file system.
  db.exec("PRAGMA auto_vacuum = INCREMENTAL");
  db.exec("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA journal_size_limit = 8388608");
  // A promise settles when the change is durable, also when the power fails.
  db.exec("PRAGMA synchronous = FULL");
  if (maxBytes !== undefined) {
    const pageBytes = numberOf(db, "page_size");
    db.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageBytes))}`);
  }
}

/** Brings a file up to date, or refuses it. The file may be locked. */
export function migrateSqlite(db: DatabaseSync, path: string): void {
  if (readVersion(db, path) === SQLITE_MIGRATIONS.length) return;
  db.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have migrated in between.
    for (const migration of SQLITE_MIGRATIONS.slice(readVersion(db, path))) db.exec(migration);
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    db.exec(`PRAGMA user_version = ${SQLITE_MIGRATIONS.length}`);
    db.exec("COMMIT");
  } finally {
    if (db.isTransaction) db.exec("ROLLBACK");
  }
}

function readVersion(db: DatabaseSync, path: string): number {
  const version = numberOf(db, "user_version");
  const tables = Number(db.prepare("SELECT count(*) AS n FROM sqlite_schema").get()?.["n"]);
  if (numberOf(db, "application_id") !== APPLICATION_ID && (version !== 0 || tables !== 0)) {
    throw new StoreError("incompatible", `Cannot open "${path}": it belongs to another program`);
  }
  if (version > SQLITE_MIGRATIONS.length) {
    throw new StoreError(
      "incompatible",
      `Cannot open "${path}": its version is ${version}, this package knows versions up to ${SQLITE_MIGRATIONS.length}; update codecell`,
    );
  }
  return version;
}

export function numberOf(db: DatabaseSync, pragma: string): number {
  return Number(Object.values(db.prepare(`PRAGMA ${pragma}`).get() ?? {})[0]);
}
