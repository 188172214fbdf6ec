/**
 * Terms that several statements of the Postgres store are made of.
 */
import { hashOf, type PostgresPlace } from "./postgres-schema.ts";

const toMs = (time: string): string => `floor(extract(epoch FROM ${time}) * 1000)::bigint`;
/** While the statement runs, also after it waited for a lock. */
export const NOW: string = toMs("clock_timestamp()");
/** When the statement began: an index can be searched for it. Too early at worst, so nobody's lease is cut short. */
export const BEGAN: string = toMs("statement_timestamp()");

/** A run under its claim, `$1` and `$2`. */
export const OWN = "id = $1 AND fence = $2 AND owner IS NOT NULL";

/** Tells whoever watches the run, when the transaction is through. */
export function notifyOf({ channel }: PostgresPlace, id: string): string {
  return `pg_notify('${channel}', '${hashOf(id)}')`;
}
