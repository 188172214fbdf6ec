/**
 * Terms that several statements of the Postgres store are made of. Runs on the host.
 */
const toMs = (time: string): string => `floor(extract(epoch FROM ${time}) * 1000)::bigint`;
/** While the statement runs, also after it waited for a lock. */
export const NOW: string = toMs("clock_timestamp()");
/** When the statement began: an index can be searched for it. Too early at worst, so nobody's lease is cut short. */
export const BEGAN: string = toMs("statement_timestamp()");

/** A run under its claim, `$1` and `$2`. */
export const OWN = "id = $1 AND fence = $2 AND owner IS NOT NULL";

/** A row of `runs` in an answer, with the clock. */
export const RUN_ROW: string = `id, scope, created_at, changed_at, expires_at, facts, fence, owner, lease_until, ${NOW} AS now`;
/** A row of `ended`, likewise. */
export const ENDED_ROW: string = `id, scope, created_at, changed_at, expires_at, facts, ended, ${BEGAN} AS now`;

/** The parameters of a statement that is put together. */
export class StatementParameters {
  readonly values: unknown[];

  constructor(...values: unknown[]) {
    this.values = values;
  }

  add(value: unknown): string {
    return `$${this.values.push(value)}`;
  }
}
