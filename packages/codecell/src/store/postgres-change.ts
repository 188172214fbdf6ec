/**
 * Runs on the host. Makes the one statement that changes a run under its claim.
 *
 * - The statement first checks the claim and locks the run's row; all else depends on that row. If it gives no rows,
 *   nothing was changed.
 * - `append_key` prevents adding entries twice when the answer to a first attempt was lost.
 */
import type { Claim } from "../contract/store.ts";
import type { Change, Edit } from "./driver.ts";
import type { PostgresPlace } from "./postgres-schema.ts";
import { NOW, OWN, StatementParameters } from "./postgres-terms.ts";

export interface PostgresStatement {
  readonly text: string;
  readonly values: unknown[];
}

/** The key is different for every change. */
export function toStatement(
  place: PostgresPlace,
  { id, fence }: Claim,
  change: Change,
  key: string,
): PostgresStatement {
  const { schema, channel } = place;
  const notify = `pg_notify('${channel}', id)`;
  switch (change.kind) {
    case "edit":
      return toEdit(place, { id, fence }, change, key);
    case "end": {
      const { ended, expiresAt, bytes, facts, state } = change;
      const columns = "scope, ended, created_at, changed_at, expires_at, bytes, facts, state";
      return {
        text: `WITH gone AS (DELETE FROM ${schema}.runs WHERE ${OWN} RETURNING id, scope, created_at),
           kept AS (
             INSERT INTO ${schema}.ended (id, ${columns})
             SELECT id, scope, $3, created_at, ${NOW}, $4::bigint, $5::bigint, $6, $7::bytea FROM gone
             ON CONFLICT (id) DO UPDATE SET (${columns}) = (${columns.replaceAll(/\w+/gu, "EXCLUDED.$&")})
           )
         SELECT ${notify} FROM gone`,
        values: [id, fence, ended, expiresAt, bytes, facts, state],
      };
    }
    case "delete":
      return {
        text: `DELETE FROM ${schema}.runs WHERE ${OWN} RETURNING ${notify}`,
        values: [id, fence],
      };
    default:
      return change satisfies never;
  }
}

function toEdit(
  { schema, channel }: PostgresPlace,
  claim: Claim,
  edit: Edit,
  key: string,
): PostgresStatement {
  const { leaseMs, expiresAt, facts, state, entries, snapshot, absorbed, isReleased } = edit;
  const given = new StatementParameters(claim.id, claim.fence);
  const sets: string[] = [];
  const parts: string[] = [];
  let own = OWN;
  if (leaseMs !== undefined) sets.push(`lease_until = ${NOW} + ${given.add(leaseMs)}::bigint`);
  if (isReleased) sets.push(`owner = NULL, lease_until = 0, changed_at = ${NOW}`);
  if (expiresAt !== undefined) sets.push(`expires_at = ${given.add(expiresAt)}::bigint`);
  if (facts !== undefined) sets.push(`facts = ${given.add(facts)}`);
  if (state !== undefined) {
    sets.push("journal_length = 0");
    parts.push(
      `stated AS (UPDATE ${schema}.states SET state = ${given.add(state)} FROM run WHERE run_id = run.id)`,
      `emptied AS (DELETE FROM ${schema}.journal USING run WHERE run_id = run.id)`,
      `cleared AS (DELETE FROM ${schema}.snapshots USING run WHERE run_id = run.id)`,
    );
  } else if (entries.length > 0) {
    const added = given.add(entries);
    const ownKey = given.add(key);
    sets.push(`append_key = ${ownKey}::uuid, journal_length = journal_length + ${entries.length}`);
    own += ` AND append_key IS DISTINCT FROM ${ownKey}::uuid`;
    parts.push(
      `added AS (
         INSERT INTO ${schema}.journal (run_id, position, entry)
         SELECT run.id, run.journal_length - ${entries.length} + new.place, new.entry
         FROM run, unnest(${added}::bytea[]) WITH ORDINALITY AS new (entry, place)
       )`,
    );
  }
  if (snapshot !== undefined) {
    parts.push(
      `saved AS (
         INSERT INTO ${schema}.snapshots (run_id, snapshot) SELECT id, ${given.add(snapshot)}::bytea FROM run
         ON CONFLICT (run_id) DO UPDATE SET snapshot = EXCLUDED.snapshot
       )`,
    );
  }
  if (absorbed.length > 0) {
    parts.push(
      `absorbed AS (
         DELETE FROM ${schema}.outcomes USING run
         WHERE run_id = run.id AND call = ANY (${given.add(absorbed)}::bigint[])
       )`,
    );
  }
  const set = sets.length === 0 ? "fence = fence" : sets.join(", ");
  const change = `UPDATE ${schema}.runs SET ${set} WHERE ${own} RETURNING id, journal_length`;
  const news = isReleased ? `pg_notify('${channel}', id)` : "1";
  return {
    text: `WITH ${[`run AS (${change})`, ...parts].join(", ")} SELECT ${news} FROM run`,
    values: given.values,
  };
}
