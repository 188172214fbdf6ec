/**
 * A store in a Postgres database, shared by processes anywhere.
 *
 * - Time is the server's. A change under a claim names its fence in the statement that makes it, and locks the run's
 *   row: it comes either before the next claim, which then sees it, or it is refused.
 * - A connection may break when nobody knows whether a statement took effect. Everything is repeated in a way that
 *   finds its own trace, so nothing happens twice and nothing that happened is reported as refused.
 * - The pool is the caller's: it is neither made nor ended here. One of its connections listens while runs are watched.
 */
import { randomUUID } from "node:crypto";
import type { Claim, Claimed, Store } from "../contract/store.ts";
import { createStore, runExists, staleClaim, toSummary } from "./create-store.ts";
import { PostgresListener } from "./postgres-listener.ts";
import {
  persist,
  type PostgresClient,
  type PostgresPool,
  sqlStateOf,
  toStoreError,
  transact,
} from "./postgres-pool.ts";
import { release } from "./postgres-release.ts";
import { hashOf, migrate, toPlace } from "./postgres-schema.ts";
import { BEGAN, notifyOf, NOW, OWN } from "./postgres-terms.ts";
import { Watchers } from "./watchers.ts";

export type { PostgresClient, PostgresPool, PostgresResult } from "./postgres-pool.ts";

export interface PostgresStoreOptions {
  /** A `Pool` of the package `pg`, of at least two connections. */
  readonly pool: PostgresPool;
  /** Where the tables are; `codecell` unless said otherwise. It is made when there is none. */
  readonly schema?: string;
}

/** Runs deleted in one transaction of an expiry. */
const EXPIRY_BATCH = 500;

const FOREIGN_KEY_VIOLATION = "23503";

/** The pool replaces idle connections that break; nobody else needs to know, and nobody listening ends the process. */
function ignore(): void {}

export async function openPostgresStore({
  pool,
  schema: name = "codecell",
}: PostgresStoreOptions): Promise<Store> {
  const place = toPlace(name);
  if (pool.options?.max !== undefined && pool.options.max < 2) {
    throw new RangeError("Cannot use a pool of one connection: one listens, others have to work");
  }
  pool.on("error", ignore);
  try {
    await migrate(pool, place);
  } catch (error) {
    pool.removeListener("error", ignore);
    throw error;
  }
  const { schema, channel } = place;
  const fences = `'${schema.replaceAll("'", "''")}.fences'`;
  const watchers = new Watchers(hashOf);
  const listener = new PostgresListener(pool, channel, watchers);
  const notify = (id: string): string => notifyOf(place, id);

  /** Repeats one statement; right for those that may happen twice. */
  const query = async (text: string, values: unknown[]): Promise<Record<string, unknown>[]> =>
    (await persist(() => pool.query(text, values))).rows;

  /** Makes a change under a claim. On a later attempt the change may have been made by an earlier one. */
  async function fenced(
    claim: Claim,
    change: () => Promise<{ readonly rows: readonly unknown[] }>,
    made: (row: Record<string, unknown> | undefined) => boolean,
  ): Promise<void> {
    await persist(async (attempt) => {
      const { rows } = await change();
      if (rows.length > 0) return;
      if (attempt > 1) {
        const found = await pool.query(`SELECT fence, owner, append_key FROM ${schema}.runs WHERE id = $1`, [
          claim.id,
        ]);
        if (made(found.rows[0])) return;
      }
      throw staleClaim(claim);
    });
  }

  async function claimOnce(
    client: PostgresClient,
    id: string,
    values: unknown[],
  ): Promise<Claimed | undefined> {
    const { rows } = await client.query(
      `UPDATE ${schema}.runs
       SET fence = nextval(${fences}), claim_key = $2, owner = $3,
         lease_until = ${NOW} + $4::bigint, changed_at = ${NOW}
       WHERE id = $1 AND scope = coalesce($5, scope) AND (claim_key = $2 OR (lease_until <= ${NOW} AND expires_at >= ${NOW}))
       RETURNING fence, scope, expires_at`,
      [id, ...values],
    );
    const [row] = rows;
    if (row === undefined) return undefined;
    // A statement of its own: it sees what the last claimant appended while this one waited for it.
    const { rows: parts } = await client.query(
      `SELECT 0 AS part, 0::bigint AS place, state AS bytes FROM ${schema}.states WHERE run_id = $1
       UNION ALL SELECT 1, position, entry FROM ${schema}.journal WHERE run_id = $1
       UNION ALL SELECT 2, call, outcome FROM ${schema}.outcomes WHERE run_id = $1
       UNION ALL SELECT 3, 0, snapshot FROM ${schema}.snapshots WHERE run_id = $1
       ORDER BY part, place`,
      [id],
    );
    const part = (which: number): Record<string, unknown>[] => parts.filter((one) => one["part"] === which);
    const [snapshot] = part(3);
    return {
      status: "claimed",
      claim: { id, fence: Number(row["fence"]) },
      run: {
        id,
        scope: String(row["scope"]),
        expiresAt: Number(row["expires_at"]),
        state: toBytes(part(0)[0]?.["bytes"]),
        journal: part(1).map((one) => toBytes(one["bytes"])),
        ...(snapshot === undefined ? {} : { snapshot: toBytes(snapshot["bytes"]) }),
        outcomes: new Map(part(2).map((one) => [Number(one["place"]), toBytes(one["bytes"])])),
      },
    };
  }

  return createStore(
    {
      put: async (run, { owner, ms }) => {
        const rows = await query(
          `WITH run AS (
             INSERT INTO ${schema}.runs (id, scope, expires_at, changed_at, fence, owner, lease_until, claim_key)
             VALUES ($1, $2, $3, ${NOW}, nextval(${fences}), $4, ${NOW} + $5::bigint, $6)
             ON CONFLICT (id) DO UPDATE SET fence = EXCLUDED.fence WHERE runs.claim_key = EXCLUDED.claim_key
             RETURNING id, fence
           ), state AS (
             INSERT INTO ${schema}.states (run_id, state) SELECT id, $7 FROM run ON CONFLICT DO NOTHING
           )
           SELECT fence FROM run`,
          [run.id, run.scope, run.expiresAt, owner, ms, randomUUID(), run.state],
        );
        if (rows[0] === undefined) throw runExists(run.id);
        return { id: run.id, fence: Number(rows[0]["fence"]) };
      },
      claim: async (id, { owner, ms }, scope) => {
        const key = randomUUID();
        for (;;) {
          const refused = await query(
            `SELECT owner, lease_until, lease_until > ${NOW} AS held, expires_at < ${NOW} AS expired,
               claim_key = $2 AS own FROM ${schema}.runs WHERE id = $1 AND scope = coalesce($3, scope)`,
            [id, key, scope],
          );
          const [row] = refused;
          if (row === undefined) return { status: "absent" };
          if (row["own"] !== true) {
            if (row["held"] === true) {
              return {
                status: "held",
                owner: (row["owner"] as string | null) ?? "",
                until: Number(row["lease_until"]),
              };
            }
            if (row["expired"] === true) return { status: "absent" };
          }
          const claimed = await persist(() =>
            transact(pool, (client) => claimOnce(client, id, [key, owner, ms, scope])),
          );
          // Somebody else came first; who, says the next look.
          if (claimed !== undefined) return claimed;
        }
      },
      renew: async (claim, ms, expiresAt) => {
        const { id, fence } = claim;
        const rows = await query(
          `UPDATE ${schema}.runs
           SET lease_until = ${NOW} + $3::bigint, expires_at = coalesce($4::bigint, expires_at)
           WHERE ${OWN} RETURNING 1`,
          [id, fence, ms, expiresAt],
        );
        if (rows.length === 0) throw staleClaim(claim);
      },
      append: (claim, entries) => {
        const key = randomUUID();
        return fenced(
          claim,
          () =>
            pool.query(
              `WITH run AS (
                 UPDATE ${schema}.runs SET append_key = $3, journal_length = journal_length + cardinality($4::bytea[])
                 WHERE ${OWN} AND append_key IS DISTINCT FROM $3
                 RETURNING id, journal_length - cardinality($4::bytea[]) AS base
               ), added AS (
                 INSERT INTO ${schema}.journal (run_id, position, entry)
                 SELECT run.id, run.base + new.place, new.entry
                 FROM run, unnest($4::bytea[]) WITH ORDINALITY AS new (entry, place)
               )
               SELECT 1 FROM run`,
              [claim.id, claim.fence, key, entries],
            ),
          (row) => isOf(row, claim) && row?.["append_key"] === key,
        );
      },
      saveSnapshot: async (claim, snapshot) => {
        const rows = await query(
          `WITH run AS (UPDATE ${schema}.runs SET fence = fence WHERE ${OWN} RETURNING id)
           INSERT INTO ${schema}.snapshots (run_id, snapshot) SELECT id, $3 FROM run
           ON CONFLICT (run_id) DO UPDATE SET snapshot = EXCLUDED.snapshot RETURNING 1`,
          [claim.id, claim.fence, snapshot],
        );
        if (rows.length === 0) throw staleClaim(claim);
      },
      loadSnapshot: async (claim) => {
        const rows = await query(
          `SELECT snapshot FROM ${schema}.runs LEFT JOIN ${schema}.snapshots ON run_id = id WHERE ${OWN}`,
          [claim.id, claim.fence],
        );
        if (rows[0] === undefined) throw staleClaim(claim);
        const { snapshot } = rows[0];
        return snapshot === null ? undefined : toBytes(snapshot);
      },
      post: async (id, call, outcome) => {
        try {
          const rows = await query(
            `WITH posted AS (
               INSERT INTO ${schema}.outcomes (run_id, call, outcome, post_key)
               SELECT id, $2, $3, $4 FROM ${schema}.runs WHERE id = $1
               ON CONFLICT (run_id, call) DO UPDATE SET post_key = EXCLUDED.post_key
                 WHERE outcomes.post_key = EXCLUDED.post_key
               RETURNING 1
             )
             SELECT ${notify(id)} FROM posted`,
            [id, call, outcome, randomUUID()],
          );
          return rows.length > 0;
        } catch (error) {
          // Deleted in the moment between.
          if (error instanceof Error && sqlStateOf(error.cause) === FOREIGN_KEY_VIOLATION) return false;
          throw error;
        }
      },
      outcomes: async (id) => {
        const rows = await query(
          `SELECT call, outcome FROM ${schema}.runs LEFT JOIN ${schema}.outcomes ON run_id = id
           WHERE id = $1 ORDER BY call`,
          [id],
        );
        if (rows.length === 0) return undefined;
        const posted = rows.filter((row) => row["call"] !== null);
        return new Map(posted.map((row) => [Number(row["call"]), toBytes(row["outcome"])]));
      },
      release: (claim, next) =>
        fenced(
          claim,
          () => transact(pool, (client) => release(client, place, claim, next)),
          (row) => isOf(row, claim) && row?.["owner"] === null,
        ),
      delete: (claim) =>
        fenced(
          claim,
          () =>
            pool.query(`DELETE FROM ${schema}.runs WHERE ${OWN} RETURNING ${notify(claim.id)}`, [
              claim.id,
              claim.fence,
            ]),
          (row) => row === undefined,
        ),
      list: async ({ scope, claimable, after, limit }) => {
        const alive = claimable
          ? `lease_until <= ${BEGAN} AND expires_at >= ${BEGAN}`
          : `(lease_until > ${BEGAN} OR expires_at >= ${BEGAN})`;
        const within = scope === undefined ? "" : "scope = $3 AND";
        const rows = await query(
          `SELECT id, scope, expires_at, changed_at, owner, lease_until > ${BEGAN} AS held FROM ${schema}.runs
           WHERE ${within} id > $1 AND ${alive} ORDER BY id LIMIT $2`,
          [after, limit, ...(scope === undefined ? [] : [scope])],
        );
        return rows.map((row) => {
          const run = {
            id: String(row["id"]),
            scope: String(row["scope"]),
            expiresAt: Number(row["expires_at"]),
            changedAt: Number(row["changed_at"]),
          };
          return toSummary(run, row["owner"] as string | null, row["held"] === true);
        });
      },
      attend: async (executor, ms) => {
        if (ms === 0) await query(`DELETE FROM ${schema}.executors WHERE id = $1`, [executor]);
        else {
          await query(
            `INSERT INTO ${schema}.executors (id, until) VALUES ($1, ${NOW} + $2::bigint)
             ON CONFLICT (id) DO UPDATE SET until = EXCLUDED.until`,
            [executor, ms],
          );
        }
      },
      attends: async (executor) => {
        const found = await query(`SELECT 1 FROM ${schema}.executors WHERE id = $1 AND until > ${NOW}`, [
          executor,
        ]);
        return found.length > 0;
      },
      putNote: async (key, note, expiresAt) => {
        await query(
          `INSERT INTO ${schema}.notes (key, note, expires_at) VALUES ($1, $2, $3)
           ON CONFLICT (key) DO UPDATE SET note = EXCLUDED.note, expires_at = EXCLUDED.expires_at`,
          [key, note, expiresAt],
        );
      },
      getNote: async (key) => {
        const [row] = await query(
          `SELECT note FROM ${schema}.notes WHERE key = $1 AND expires_at >= ${NOW}`,
          [key],
        );
        return row && toBytes(row["note"]);
      },
      expire: async () => {
        await query(`DELETE FROM ${schema}.executors WHERE until <= ${BEGAN}`, []);
        await query(`DELETE FROM ${schema}.notes WHERE expires_at < ${BEGAN}`, []);
        let count = 0;
        for (;;) {
          // Runs that somebody is changing at the moment are left to the next expiry.
          const rows = await query(
            `WITH over AS (
               SELECT id FROM ${schema}.runs WHERE expires_at < ${BEGAN} AND lease_until <= ${BEGAN}
               LIMIT ${EXPIRY_BATCH} FOR UPDATE SKIP LOCKED
             ), gone AS (DELETE FROM ${schema}.runs USING over WHERE runs.id = over.id RETURNING runs.id)
             SELECT pg_notify('${channel}', left(encode(sha256(convert_to(id, 'UTF8')), 'hex'), 32)) FROM gone`,
            [],
          );
          count += rows.length;
          if (rows.length < EXPIRY_BATCH) return count;
        }
      },
      startWatching: async () => {
        try {
          await persist(() => listener.start());
        } catch (error) {
          throw toStoreError(error);
        }
      },
      close: async () => {
        await listener.close();
        pool.removeListener("error", ignore);
      },
    },
    watchers,
  );
}

function isOf(row: Record<string, unknown> | undefined, { fence }: Claim): boolean {
  return Number(row?.["fence"]) === fence;
}

/** A copy: what the driver gives is a part of a larger buffer. */
function toBytes(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array))
    throw new TypeError("Cannot read the database: no bytes where bytes belong");
  return new Uint8Array(value);
}
