/**
 * Runs on the host. A store in a Postgres database, shared by processes anywhere.
 *
 * - Time is the server's. A statement that changes a run under a claim checks the fence and locks the run's row. So
 *   it either happens before the next claim, which then sees the change, or it is refused.
 * - A connection may break before anybody knows whether a statement took effect. Every statement is repeated in a way
 *   that finds what its earlier attempt did. So nothing happens twice, and nothing that happened is reported as
 *   refused.
 * - The pool belongs to the caller, who makes and ends it. One of its connections listens while runs are watched.
 */
import { randomUUID } from "node:crypto";
import type { Claim, EndedStatus, Store } from "../contract/store.ts";
import { createStore } from "./create-store.ts";
import type { Change, FoundRun, ListPage, RunRow } from "./driver.ts";
import { toStatement } from "./postgres-change.ts";
import { PostgresListener } from "./postgres-listener.ts";
import {
  persist,
  type PostgresClient,
  type PostgresPool,
  sqlStateOf,
  toStoreError,
  transact,
} from "./postgres-pool.ts";
import { migratePostgres, toPlace } from "./postgres-schema.ts";
import { BEGAN, ENDED_ROW, NOW, StatementParameters, RUN_ROW } from "./postgres-terms.ts";

export type { PostgresClient, PostgresPool, PostgresResult } from "./postgres-pool.ts";

export interface PostgresStoreOptions {
  /** A `Pool` of the package `pg`, with at least two connections. */
  readonly pool: PostgresPool;
  /** The schema of the tables; default `codecell`. Created if it does not exist. */
  readonly schema?: string;
}

type AnswerRow = Record<string, unknown>;

const FOREIGN_KEY_VIOLATION = "23503";

/** The pool replaces idle connections that break. An error event without a listener would end the process. */
function ignore(): void {}

export async function openPostgresStore({
  pool,
  schema: name = "codecell",
}: PostgresStoreOptions): Promise<Store> {
  const place = toPlace(name);
  if (pool.options?.max !== undefined && pool.options.max < 2) {
    throw new RangeError(
      "Cannot use a pool of one connection: one connection listens, expected at least two",
    );
  }
  pool.on("error", ignore);
  try {
    await migratePostgres(pool, place);
  } catch (error) {
    pool.removeListener("error", ignore);
    throw error;
  }
  const { schema, channel } = place;
  const fences = `'${schema.replaceAll("'", "''")}.fences'`;
  const listener = new PostgresListener(pool, channel);
  const notify = `pg_notify('${channel}', id)`;

  /** Repeats one statement. Right for statements that may happen twice. */
  const query = async (text: string, values: unknown[]): Promise<AnswerRow[]> =>
    (await persist(() => pool.query(text, values))).rows;

  /** Whether an earlier attempt made the change that a later attempt finds impossible. */
  async function isMade({ id, fence }: Claim, change: Change, key: string): Promise<boolean> {
    const found = await pool.query(`SELECT fence, owner, append_key FROM ${schema}.runs WHERE id = $1`, [id]);
    const [row] = found.rows;
    if (change.kind !== "edit") return row === undefined;
    if (Number(row?.["fence"]) !== fence) return false;
    return change.isReleased ? row?.["owner"] === null : row?.["append_key"] === key;
  }

  async function claimOnce(
    client: PostgresClient,
    id: string,
    values: unknown[],
  ): Promise<FoundRun | undefined> {
    const { rows } = await client.query(
      `UPDATE ${schema}.runs
       SET fence = nextval(${fences}), claim_key = $2, owner = $3,
         lease_until = ${NOW} + $4::bigint, changed_at = ${NOW}
       WHERE id = $1 AND (claim_key = $2 OR (fence = $5 AND lease_until <= ${NOW} AND expires_at >= ${NOW}))
       RETURNING ${RUN_ROW}`,
      [id, ...values],
    );
    const [row] = rows;
    if (row === undefined) return undefined;
    // A separate statement sees what the last claimant appended while this claim waited for the lock.
    const { rows: parts } = await client.query(
      `SELECT 0 AS part, 0::bigint AS place, state AS bytes FROM ${schema}.states WHERE run_id = $1
       UNION ALL SELECT 1, position, entry FROM ${schema}.journal WHERE run_id = $1
       UNION ALL SELECT 2, call, outcome FROM ${schema}.outcomes WHERE run_id = $1
       UNION ALL SELECT 3, 0, snapshot FROM ${schema}.snapshots WHERE run_id = $1
       ORDER BY part, place`,
      [id],
    );
    const part = (which: number): AnswerRow[] => parts.filter((one) => one["part"] === which);
    const [snapshot] = part(3);
    return {
      ...toFound(row),
      state: toBytes(part(0)[0]?.["bytes"]),
      journal: part(1).map((one) => toBytes(one["bytes"])),
      snapshot: snapshot && toBytes(snapshot["bytes"]),
      outcomes: new Map(part(2).map((one) => [Number(one["place"]), toBytes(one["bytes"])])),
    };
  }

  return createStore({
    put: async (run, { owner, ms }) => {
      const rows = await query(
        // The clock is read once: a run has not changed before it was created.
        `WITH moment AS MATERIALIZED (SELECT ${NOW} AS at), run AS (
           INSERT INTO ${schema}.runs
             (id, scope, expires_at, created_at, changed_at, fence, owner, lease_until, claim_key, facts)
           VALUES ($1, $2, $3, (SELECT at FROM moment), (SELECT at FROM moment), nextval(${fences}), $4,
             (SELECT at FROM moment) + $5::bigint, $6, $8)
           ON CONFLICT (id) DO UPDATE SET fence = EXCLUDED.fence WHERE runs.claim_key = EXCLUDED.claim_key
           RETURNING id, fence
         ), state AS (
           INSERT INTO ${schema}.states (run_id, state) SELECT id, $7 FROM run ON CONFLICT DO NOTHING
         )
         SELECT fence FROM run`,
        [run.id, run.scope, run.expiresAt, owner, ms, randomUUID(), run.state, run.facts],
      );
      return rows[0] && Number(rows[0]["fence"]);
    },
    claim: ({ id, fence }, { owner, ms }) => {
      const key = randomUUID();
      return persist(() => transact(pool, (client) => claimOnce(client, id, [key, owner, ms, fence])));
    },
    change: (claim, change) => {
      const key = randomUUID();
      const { text, values } = toStatement(place, claim, change, key);
      return persist(async (attempt) => {
        const { rows } = await pool.query(text, values);
        return rows.length > 0 || (attempt > 1 && (await isMade(claim, change, key)));
      });
    },
    post: async (id, call, outcome) => {
      try {
        const rows = await query(
          `WITH posted AS (
             INSERT INTO ${schema}.outcomes (run_id, call, outcome, post_key)
             SELECT id, $2, $3, $4 FROM ${schema}.runs WHERE id = $1
             ON CONFLICT (run_id, call) DO UPDATE SET post_key = EXCLUDED.post_key
               WHERE outcomes.post_key = EXCLUDED.post_key
             RETURNING run_id AS id
           )
           SELECT ${notify} FROM posted`,
          [id, call, outcome, randomUUID()],
        );
        return rows.length > 0;
      } catch (error) {
        // The run was deleted in the meantime.
        if (error instanceof Error && sqlStateOf(error.cause) === FOREIGN_KEY_VIOLATION) return false;
        throw error;
      }
    },
    read: async (id, part) => {
      switch (part) {
        case "row": {
          const [row] = await query(`SELECT ${RUN_ROW} FROM ${schema}.runs WHERE id = $1`, [id]);
          return row && toFound(row);
        }
        case "outcomes": {
          const rows = await query(
            `SELECT ${RUN_ROW}, call, outcome FROM ${schema}.runs LEFT JOIN ${schema}.outcomes ON run_id = id
             WHERE id = $1 ORDER BY call`,
            [id],
          );
          const posted = rows.filter((row) => row["call"] !== null);
          const outcomes = new Map(posted.map((row) => [Number(row["call"]), toBytes(row["outcome"])]));
          return rows[0] && { ...toFound(rows[0]), outcomes };
        }
        case "snapshot": {
          const [row] = await query(
            `SELECT ${RUN_ROW}, snapshot FROM ${schema}.runs LEFT JOIN ${schema}.snapshots ON run_id = id
             WHERE id = $1`,
            [id],
          );
          const snapshot = row?.["snapshot"] ?? undefined;
          return row && { ...toFound(row), snapshot: snapshot && toBytes(snapshot) };
        }
        case "ended": {
          const [row] = await query(`SELECT ${ENDED_ROW}, state FROM ${schema}.ended WHERE id = $1`, [id]);
          return row && { ...toFound(row), state: toBytes(row["state"]) };
        }
        default:
          return part satisfies never;
      }
    },
    list: async (page) => {
      const { text, values } = toListStatement(schema, page);
      const rows = await query(text, values);
      return { rows: rows.map(toRow), now: Number(rows[0]?.["now"] ?? 0) };
    },
    putNote: async (key, note, expiry) => {
      const expiresAt = "at" in expiry ? "$3::bigint" : `${NOW} + $3::bigint`;
      await query(
        `INSERT INTO ${schema}.notes (key, note, expires_at) VALUES ($1, $2, ${expiresAt})
         ON CONFLICT (key) DO UPDATE SET note = EXCLUDED.note, expires_at = EXCLUDED.expires_at`,
        [key, note, "at" in expiry ? expiry.at : expiry.inMs],
      );
    },
    getNote: async (key) => {
      const [row] = await query(`SELECT note FROM ${schema}.notes WHERE key = $1 AND expires_at >= ${NOW}`, [
        key,
      ]);
      return row && toBytes(row["note"]);
    },
    expire: async (limit, keep) => {
      await query(`DELETE FROM ${schema}.notes WHERE expires_at < ${BEGAN}`, []);
      // A run that somebody changes at the moment is left for the next expiry.
      const runs = await query(
        `WITH over AS (
           SELECT id FROM ${schema}.runs WHERE expires_at < ${BEGAN} AND lease_until <= ${BEGAN}
           LIMIT $1 FOR UPDATE SKIP LOCKED
         ), gone AS (DELETE FROM ${schema}.runs USING over WHERE runs.id = over.id RETURNING runs.id)
         SELECT id, ${notify} FROM gone`,
        [limit],
      );
      const over = await query(deleteEnded(schema, `expires_at < ${BEGAN}`), [limit]);
      const left = limit - over.length;
      const beyond =
        keep === undefined || left === 0
          ? []
          : await query(deleteEnded(schema, "(changed_at, id) <= (SELECT changed_at, id FROM cut)", true), [
              left,
              keep.runs,
              keep.bytes,
            ]);
      return { ids: runs.map((row) => String(row["id"])), ended: over.length + beyond.length };
    },
    startWatching: async (watchers) => {
      try {
        await persist(() => listener.start(watchers));
      } catch (error) {
        throw toStoreError(error);
      }
    },
    close: async () => {
      await listener.close();
      pool.removeListener("error", ignore);
    },
  });
}

function toListStatement(schema: string, page: ListPage): { text: string; values: unknown[] } {
  const { isEnded, status, scope, isClaimable, createdFrom, createdBefore, order, after, limit } = page;
  const given = new StatementParameters();
  const terms = [`created_at >= ${given.add(createdFrom)}`, `created_at < ${given.add(createdBefore)}`];
  if (scope !== undefined) terms.push(`scope = ${given.add(scope)}`);
  if (order === "id") terms.push(`id > ${given.add(after?.id ?? "")}`);
  else if (after !== undefined) {
    terms.push(`(created_at, id) < (${given.add(after.createdAt)}, ${given.add(after.id)})`);
  }
  if (isEnded) {
    if (status !== undefined) terms.push(`ended = ${given.add(status)}`);
    terms.push(`expires_at >= ${BEGAN}`);
  } else {
    if (status !== undefined) terms.push(status === "running" ? "owner IS NOT NULL" : "owner IS NULL");
    if (isClaimable) terms.push(`lease_until <= ${BEGAN} AND expires_at >= ${BEGAN}`);
    else terms.push(`(lease_until > ${BEGAN} OR expires_at >= ${BEGAN})`);
  }
  const [row, table] = isEnded ? [ENDED_ROW, "ended"] : [RUN_ROW.replace(NOW, BEGAN), "runs"];
  const by = order === "id" ? "id" : "created_at DESC, id DESC";
  return {
    text: `SELECT ${row} FROM ${schema}.${table} WHERE ${terms.join(" AND ")} ORDER BY ${by} LIMIT ${given.add(limit)}`,
    values: given.values,
  };
}

/** Deletes up to `$1` ended runs, the oldest first; with a cut, the runs beyond the newest `$2` runs and `$3` bytes. */
function deleteEnded(schema: string, term: string, hasCut = false): string {
  const cut = `cut AS (
    SELECT changed_at, id FROM (
      SELECT changed_at, id, row_number() OVER newest AS place, sum(bytes) OVER newest AS total
      FROM (SELECT changed_at, id, bytes FROM ${schema}.ended ORDER BY changed_at DESC, id DESC LIMIT $2::bigint + 1) AS kept
      WINDOW newest AS (ORDER BY changed_at DESC, id DESC ROWS UNBOUNDED PRECEDING)
    ) AS summed WHERE place > $2::bigint OR total > $3::bigint ORDER BY changed_at DESC, id DESC LIMIT 1
  ), `;
  return `WITH ${hasCut ? cut : ""}over AS (
      SELECT id FROM ${schema}.ended WHERE ${term} ORDER BY ${hasCut ? "changed_at, id" : "expires_at"}
      LIMIT $1 FOR UPDATE SKIP LOCKED
    )
    DELETE FROM ${schema}.ended USING over WHERE ended.id = over.id RETURNING ended.id`;
}

function toFound(row: AnswerRow): FoundRun {
  return { row: toRow(row), now: Number(row["now"]) };
}

function toRow(row: AnswerRow): RunRow {
  return {
    id: String(row["id"]),
    scope: String(row["scope"]),
    createdAt: Number(row["created_at"]),
    changedAt: Number(row["changed_at"]),
    expiresAt: Number(row["expires_at"]),
    facts: String(row["facts"]),
    ended: (row["ended"] as EndedStatus | undefined) ?? undefined,
    fence: Number(row["fence"] ?? 0),
    owner: (row["owner"] as string | null | undefined) ?? undefined,
    leaseUntil: Number(row["lease_until"] ?? 0),
  };
}

function toBytes(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array))
    throw new TypeError("Cannot read the database: a column has another type, expected bytes");
  return value;
}
