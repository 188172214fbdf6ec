/**
 * Runs on the host. The tables of a Postgres store, and the migrations that make them.
 *
 * - `meta.version` counts the migrations that a schema has had. A schema with more than this version knows is
 *   refused.
 * - An advisory lock keeps processes that start together from migrating at the same time.
 * - Texts are compared by their bytes, so that lists have the same order everywhere.
 * - The columns named `…_key` tell our own attempt from somebody else's change: a statement that is repeated after a
 *   lost connection finds what its first attempt did.
 */
import { createHash } from "node:crypto";
import { StoreError } from "../contract/store.ts";
import { persist, type PostgresPool, transact } from "./postgres-pool.ts";

/** Migrations are only ever added: entry n takes a schema from version n to n + 1. */
export const POSTGRES_MIGRATIONS: readonly ((schema: string) => string)[] = [
  (schema) => `
  CREATE SEQUENCE ${schema}.fences;
  CREATE TABLE ${schema}.runs (
    id text COLLATE "C" PRIMARY KEY,
    scope text COLLATE "C" NOT NULL,
    expires_at bigint NOT NULL,
    changed_at bigint NOT NULL,
    fence bigint NOT NULL,
    owner text,
    lease_until bigint NOT NULL,
    claim_key uuid NOT NULL,
    append_key uuid,
    journal_length bigint NOT NULL DEFAULT 0
  ) WITH (fillfactor = 80);
  CREATE INDEX runs_by_scope ON ${schema}.runs (scope, id);
  CREATE INDEX runs_by_expiry ON ${schema}.runs (expires_at);
  CREATE TABLE ${schema}.states (
    run_id text COLLATE "C" PRIMARY KEY REFERENCES ${schema}.runs ON DELETE CASCADE,
    state bytea NOT NULL
  );
  CREATE TABLE ${schema}.journal (
    run_id text COLLATE "C" NOT NULL REFERENCES ${schema}.runs ON DELETE CASCADE,
    position bigint NOT NULL,
    entry bytea NOT NULL,
    PRIMARY KEY (run_id, position)
  );
  CREATE TABLE ${schema}.outcomes (
    run_id text COLLATE "C" NOT NULL REFERENCES ${schema}.runs ON DELETE CASCADE,
    call bigint NOT NULL,
    outcome bytea NOT NULL,
    post_key uuid NOT NULL,
    PRIMARY KEY (run_id, call)
  );`,
  (schema) => `
  CREATE TABLE ${schema}.snapshots (
    run_id text COLLATE "C" PRIMARY KEY REFERENCES ${schema}.runs ON DELETE CASCADE,
    snapshot bytea NOT NULL
  );
  CREATE TABLE ${schema}.executors (id text COLLATE "C" PRIMARY KEY, until bigint NOT NULL);
  CREATE TABLE ${schema}.notes (
    key text COLLATE "C" PRIMARY KEY,
    note bytea NOT NULL,
    expires_at bigint NOT NULL
  );
  CREATE INDEX notes_by_expiry ON ${schema}.notes (expires_at);`,
  (schema) => `
  ALTER TABLE ${schema}.runs ADD COLUMN created_at bigint NOT NULL DEFAULT 0,
    ADD COLUMN facts text NOT NULL DEFAULT '';
  UPDATE ${schema}.runs SET created_at = changed_at;
  CREATE INDEX runs_by_creation ON ${schema}.runs (created_at, id);
  CREATE INDEX runs_by_scope_and_creation ON ${schema}.runs (scope, created_at, id);
  CREATE TABLE ${schema}.ended (
    id text COLLATE "C" PRIMARY KEY,
    scope text COLLATE "C" NOT NULL,
    ended text NOT NULL,
    created_at bigint NOT NULL,
    changed_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    bytes bigint NOT NULL,
    facts text NOT NULL,
    state bytea NOT NULL
  );
  CREATE INDEX ended_by_scope ON ${schema}.ended (scope, id);
  CREATE INDEX ended_by_creation ON ${schema}.ended (created_at, id);
  CREATE INDEX ended_by_scope_and_creation ON ${schema}.ended (scope, created_at, id);
  CREATE INDEX ended_by_expiry ON ${schema}.ended (expires_at);
  CREATE INDEX ended_by_end ON ${schema}.ended (changed_at, id) INCLUDE (bytes);
  -- Executors attend with notes.
  UPDATE ${schema}.notes SET key = 'note:' || key;
  INSERT INTO ${schema}.notes (key, note, expires_at) SELECT 'executor:' || id, ''::bytea, until FROM ${schema}.executors;
  DROP TABLE ${schema}.executors;`,
];

/** A schema's name, the name as SQL, and its channel for notifications. */
export interface PostgresPlace {
  readonly name: string;
  readonly schema: string;
  readonly channel: string;
}

export function toPlace(name: string): PostgresPlace {
  const bytes = Buffer.byteLength(name);
  if (bytes === 0 || bytes > 63 || name.includes("\0")) {
    throw new RangeError(`Cannot use "${name}" as a schema: a name has 1 to 63 bytes`);
  }
  // Postgres allows only short names of channels.
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 32);
  return { name, schema: `"${name.replaceAll('"', '""')}"`, channel: `codecell_${hash}` };
}

export async function migratePostgres(pool: PostgresPool, { name, schema }: PostgresPlace): Promise<void> {
  await persist(async () => {
    if ((await readVersion(pool, name, schema)) === POSTGRES_MIGRATIONS.length) return;
    await transact(pool, async (client) => {
      await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`codecell ${name}`]);
      // Another process may have migrated in between.
      const version = await readVersion(client, name, schema);
      if (version === POSTGRES_MIGRATIONS.length) return;
      // Look first: creating a schema needs a right that the user of an existing schema may lack.
      const { rows } = await client.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [name]);
      if (rows.length === 0) await client.query(`CREATE SCHEMA ${schema}`);
      for (const migration of POSTGRES_MIGRATIONS.slice(version)) await client.query(migration(schema));
      await client.query(`CREATE TABLE IF NOT EXISTS ${schema}.meta (version integer NOT NULL)`);
      await client.query(`DELETE FROM ${schema}.meta`);
      await client.query(`INSERT INTO ${schema}.meta VALUES ($1)`, [POSTGRES_MIGRATIONS.length]);
    });
  });
}

async function readVersion(
  client: Pick<PostgresPool, "query">,
  name: string,
  schema: string,
): Promise<number> {
  // `to_regclass` would not do: it remembers that there was no table, even past the wait for the lock.
  const table = await client.query(
    `SELECT 1 FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid
     WHERE nspname = $1 AND relname = 'meta'`,
    [name],
  );
  if (table.rows.length === 0) return 0;
  const { rows } = await client.query(`SELECT version FROM ${schema}.meta`);
  const version = Number(rows[0]?.["version"] ?? 0);
  if (version > POSTGRES_MIGRATIONS.length) {
    throw new StoreError(
      "incompatible",
      `Cannot open schema "${name}": its version is ${version}, this package knows versions up to ${POSTGRES_MIGRATIONS.length}; update codecell`,
    );
  }
  return version;
}
