/** Runs on the host. Terms that several statements of the Postgres store share. */
const toMs = (time: string): string => `floor(extract(epoch FROM ${time}) * 1000)::bigint`;
/** The clock while the statement runs, also after it waited for a lock. */
export const NOW: string = toMs("clock_timestamp()");
/**
 * When the statement began, which an index can be searched for. At worst this is too early, so it cuts nobody's lease
 * short.
 */
export const BEGAN: string = toMs("statement_timestamp()");

/** Matches a run under its claim, `$1` and `$2`. */
export const OWN = "id = $1 AND fence = $2 AND owner IS NOT NULL";

/** The columns of a row of `runs`, and the clock. */
export const RUN_ROW: string = `id, scope, created_at, changed_at, expires_at, facts, fence, owner, lease_until, ${NOW} AS now`;
/** The columns of a row of `ended`, and the clock. */
export const ENDED_ROW: string = `id, scope, created_at, changed_at, expires_at, facts, ended, ${BEGAN} AS now`;

/** Collects the parameters of a statement that is built from parts. */
export class StatementParameters {
  readonly values: unknown[];

  constructor(...values: unknown[]) {
    this.values = values;
  }

  add(value: unknown): string {
    return `$${this.values.push(value)}`;
  }
}
