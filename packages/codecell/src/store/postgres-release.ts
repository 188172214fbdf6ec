/**
 * The transaction that gives a run back.
 *
 * - Its first statement asks for the claim and locks the run's row: no rows, and nothing was changed.
 */
import type { Claim, LastEntry, NextState } from "../contract/store.ts";
import type { PostgresClient, PostgresResult } from "./postgres-pool.ts";
import type { PostgresPlace } from "./postgres-schema.ts";
import { notifyOf, NOW, OWN } from "./postgres-terms.ts";

export async function release(
  client: PostgresClient,
  place: PostgresPlace,
  { id, fence }: Claim,
  next: NextState | LastEntry | undefined,
): Promise<PostgresResult> {
  const { schema } = place;
  const change = `UPDATE ${schema}.runs SET owner = NULL, lease_until = 0, changed_at = ${NOW}`;
  if (next === undefined) {
    return client.query(`${change} WHERE ${OWN} RETURNING ${notifyOf(place, id)}`, [id, fence]);
  }
  const isNew = "state" in next;
  const released = await client.query(
    `${change}, expires_at = $3, journal_length = ${isNew ? "0" : "journal_length + 1"}
     WHERE ${OWN} RETURNING journal_length, ${notifyOf(place, id)}`,
    [id, fence, next.expiresAt],
  );
  const [row] = released.rows;
  if (row === undefined) return released;
  const absorbed = `absorbed AS (DELETE FROM ${schema}.outcomes WHERE run_id = $1 AND call = ANY ($2::bigint[]))`;
  if (isNew) {
    await client.query(
      `WITH ${absorbed},
         gone AS (DELETE FROM ${schema}.journal WHERE run_id = $1),
         past AS (DELETE FROM ${schema}.snapshots WHERE run_id = $1)
       UPDATE ${schema}.states SET state = $3 WHERE run_id = $1`,
      [id, next.absorbed, next.state],
    );
  } else {
    await client.query(
      `WITH ${absorbed},
         added AS (INSERT INTO ${schema}.journal (run_id, position, entry) VALUES ($1, $3, $4))
       INSERT INTO ${schema}.snapshots (run_id, snapshot) VALUES ($1, $5)
       ON CONFLICT (run_id) DO UPDATE SET snapshot = EXCLUDED.snapshot`,
      [id, next.absorbed, row["journal_length"], next.entry, next.snapshot],
    );
  }
  return released;
}
