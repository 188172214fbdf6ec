/**
 * Runs on the host, synchronously. The statements of a SQLite store.
 *
 * - The caller of a method that changes something holds the write lock: each method is a part of one transaction.
 * - A method that reads several tables reads them at one moment.
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { Claim, EndedBounds, EndedStatus, Lease } from "../contract/store.ts";
import type {
  Change,
  DriverPut,
  Edit,
  Expired,
  FoundRun,
  ListedRows,
  ListPage,
  NoteExpiry,
  RunPart,
  RunRow,
} from "./driver.ts";

interface SqliteRow {
  readonly id: string;
  readonly scope: string;
  readonly created_at: number;
  readonly changed_at: number;
  readonly expires_at: number;
  readonly facts: string;
  readonly ended?: EndedStatus;
  readonly fence?: number;
  readonly owner?: string | null;
  readonly lease_until?: number;
}

const OWN = "WHERE id = ? AND fence = ? AND owner IS NOT NULL";

export class SqliteStatements {
  readonly #db: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  put({ id, scope, expiresAt, state, facts }: DriverPut, { owner, ms }: Lease): number | undefined {
    if (this.#get("SELECT 1 FROM runs WHERE id = ?", id) !== undefined) return undefined;
    const now = Date.now();
    const fence = this.#nextFence();
    this.#run(
      `INSERT INTO runs (id, scope, expires_at, created_at, changed_at, fence, owner, lease_until, facts)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      scope,
      expiresAt,
      now,
      now,
      fence,
      owner,
      now + ms,
      facts,
    );
    this.#run("INSERT INTO states (run_id, state) VALUES (?, ?)", id, state);
    return fence;
  }

  claim({ id, fence }: Claim, { owner, ms }: Lease): FoundRun | undefined {
    const now = Date.now();
    const isFree = this.#get(
      "SELECT 1 FROM runs WHERE id = ? AND fence = ? AND lease_until <= ? AND expires_at >= ?",
      id,
      fence,
      now,
      now,
    );
    if (isFree === undefined) return undefined;
    this.#run(
      "UPDATE runs SET fence = ?, owner = ?, lease_until = ?, changed_at = ? WHERE id = ?",
      this.#nextFence(),
      owner,
      now + ms,
      now,
      id,
    );
    const entries = this.#all("SELECT entry FROM journal WHERE run_id = ? ORDER BY position", id);
    return {
      row: this.#rowOf(id),
      now,
      state: this.#get("SELECT state FROM states WHERE run_id = ?", id)?.["state"] as Uint8Array,
      journal: entries.map((entry) => entry["entry"] as Uint8Array),
      snapshot: this.#snapshotOf(id),
      outcomes: this.#outcomesOf(id),
    };
  }

  change(claim: Claim, change: Change): boolean {
    const { id, fence } = claim;
    switch (change.kind) {
      case "edit":
        return this.#edit(claim, change);
      case "end": {
        const row = this.#get(`SELECT scope, created_at FROM runs ${OWN}`, id, fence);
        if (row === undefined) return false;
        const { ended, state, expiresAt, facts, bytes } = change;
        this.#run("DELETE FROM runs WHERE id = ?", id);
        this.#run("DELETE FROM ended WHERE id = ?", id);
        this.#run(
          `INSERT INTO ended (id, scope, ended, created_at, changed_at, expires_at, bytes, facts)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
          ...[id, row["scope"], ended, row["created_at"], Date.now(), expiresAt, bytes, facts].map(toInput),
        );
        this.#run("INSERT INTO ended_states (run_id, state) VALUES (?, ?)", id, state);
        return true;
      }
      case "delete":
        return this.#run(`DELETE FROM runs ${OWN}`, id, fence) > 0;
      default:
        return change satisfies never;
    }
  }

  #edit({ id, fence }: Claim, change: Edit): boolean {
    const { leaseMs, expiresAt, facts, state, entries, snapshot, absorbed, isReleased } = change;
    const now = Date.now();
    const sets = [
      ...(leaseMs === undefined ? [] : [["lease_until = ?", now + leaseMs] as const]),
      ...(expiresAt === undefined ? [] : [["expires_at = ?", expiresAt] as const]),
      ...(facts === undefined ? [] : [["facts = ?", facts] as const]),
      ...(isReleased
        ? [["owner = NULL, lease_until = 0, changes = changes + 1, changed_at = ?", now] as const]
        : []),
    ];
    // An edit that sets no column still has to check the claim.
    const set = sets.length === 0 ? "fence = fence" : sets.map(([text]) => text).join(", ");
    const values = sets.map(([, value]) => value);
    if (this.#run(`UPDATE runs SET ${set} ${OWN}`, ...values, id, fence) === 0) return false;
    if (state !== undefined) {
      this.#run("UPDATE states SET state = ? WHERE run_id = ?", state, id);
      this.#run("DELETE FROM journal WHERE run_id = ?", id);
      this.#run("DELETE FROM snapshots WHERE run_id = ?", id);
    }
    for (const entry of entries) {
      this.#run(
        `INSERT INTO journal (run_id, position, entry)
         SELECT ?, coalesce(max(position), 0) + 1, ? FROM journal WHERE run_id = ?`,
        id,
        entry,
        id,
      );
    }
    if (snapshot !== undefined) {
      this.#run("INSERT OR REPLACE INTO snapshots (run_id, snapshot) VALUES (?, ?)", id, snapshot);
    }
    for (const call of absorbed) this.#run("DELETE FROM outcomes WHERE run_id = ? AND call = ?", id, call);
    return true;
  }

  post(id: string, call: number, outcome: Uint8Array): boolean {
    const changes = this.#run(
      `INSERT INTO outcomes (run_id, call, outcome) SELECT id, ?, ? FROM runs WHERE id = ?
       ON CONFLICT DO NOTHING`,
      call,
      outcome,
      id,
    );
    if (changes === 0) return false;
    this.#run("UPDATE runs SET changes = changes + 1 WHERE id = ?", id);
    return true;
  }

  read(id: string, part: RunPart): FoundRun | undefined {
    // In one transaction, since otherwise the run could change in between.
    this.#db.exec("BEGIN");
    try {
      const now = Date.now();
      if (part === "ended") {
        const found = this.#get("SELECT * FROM ended JOIN ended_states ON run_id = id WHERE id = ?", id);
        return found && { row: toRow(found as unknown as SqliteRow), now, state: toBytes(found["state"]) };
      }
      const row = this.#get("SELECT * FROM runs WHERE id = ?", id);
      if (row === undefined) return undefined;
      const found = { row: toRow(row as unknown as SqliteRow), now };
      switch (part) {
        case "row":
          return found;
        case "outcomes":
          return { ...found, outcomes: this.#outcomesOf(id) };
        case "snapshot":
          return { ...found, snapshot: this.#snapshotOf(id) };
        default:
          return part satisfies never;
      }
    } finally {
      this.#db.exec("COMMIT");
    }
  }

  list(page: ListPage): ListedRows {
    const { isEnded, status, scope, isClaimable, createdFrom, createdBefore, order, after, limit } = page;
    const now = Date.now();
    const terms: string[] = [];
    const values: SQLInputValue[] = [];
    const where = (term: string, ...given: SQLInputValue[]): void => {
      terms.push(term);
      values.push(...given);
    };
    if (scope !== undefined) where("scope = ?", scope);
    if (order === "id") where("id > ?", after?.id ?? "");
    else if (after !== undefined) where("(created_at, id) < (?, ?)", after.createdAt, after.id);
    // The plus makes the planner use the order of the list instead of sorting.
    const created = order === "id" ? "+created_at" : "created_at";
    if (createdFrom > 0) where(`${created} >= ?`, createdFrom);
    if (createdBefore < Number.MAX_SAFE_INTEGER) where(`${created} < ?`, createdBefore);
    if (isEnded) {
      if (status !== undefined) where("ended = ?", status);
      where("+expires_at >= ?", now);
    } else {
      if (status !== undefined) where(status === "running" ? "owner IS NOT NULL" : "owner IS NULL");
      if (isClaimable) where("lease_until <= ? AND +expires_at >= ?", now, now);
      else where("(lease_until > ? OR +expires_at >= ?)", now, now);
    }
    const rows = this.#all(
      `SELECT * FROM ${isEnded ? "ended" : "runs"} WHERE ${terms.join(" AND ")}
       ORDER BY ${order === "id" ? "id" : "created_at DESC, id DESC"} LIMIT ?`,
      ...values,
      limit,
    );
    return { rows: rows.map((row) => toRow(row as unknown as SqliteRow)), now };
  }

  expire(limit: number, keep: EndedBounds | undefined): Expired {
    const now = Date.now();
    this.#run("DELETE FROM notes WHERE expires_at < ?", now);
    // The index gives the order, so that a run with a lease does not hold up those after it.
    const runs = this.#all(
      "SELECT id FROM runs INDEXED BY runs_by_expiry WHERE expires_at < ? AND lease_until <= ? LIMIT ?",
      now,
      now,
      limit,
    );
    const over = this.#all("SELECT id FROM ended WHERE expires_at < ? LIMIT ?", now, limit);
    const left = limit - over.length;
    const beyond = keep === undefined || left === 0 ? [] : this.#beyond(keep, left);
    for (const { id } of runs) this.#run("DELETE FROM runs WHERE id = ?", toInput(id));
    let ended = 0;
    for (const { id } of [...over, ...beyond])
      ended += this.#run("DELETE FROM ended WHERE id = ?", toInput(id));
    return { ids: runs.map(({ id }) => id as string), ended };
  }

  /** The oldest ended runs beyond the bounds. Reads no more rows than may be kept, plus the rows that it gives. */
  #beyond({ runs, bytes }: EndedBounds, limit: number): Record<string, unknown>[] {
    const cut = this.#get(
      `SELECT changed_at, id FROM (
         SELECT changed_at, id, row_number() OVER newest AS place, sum(bytes) OVER newest AS total
         FROM (SELECT changed_at, id, bytes FROM ended ORDER BY changed_at DESC, id DESC LIMIT ?)
         WINDOW newest AS (ORDER BY changed_at DESC, id DESC ROWS UNBOUNDED PRECEDING)
       ) WHERE place > ? OR total > ? ORDER BY changed_at DESC, id DESC LIMIT 1`,
      runs + 1,
      runs,
      bytes,
    );
    if (cut === undefined) return [];
    return this.#all(
      "SELECT id FROM ended WHERE (changed_at, id) <= (?, ?) ORDER BY changed_at, id LIMIT ?",
      ...[cut["changed_at"], cut["id"], limit].map(toInput),
    );
  }

  putNote(key: string, note: Uint8Array, expiry: NoteExpiry): void {
    const expiresAt = "at" in expiry ? expiry.at : Date.now() + expiry.inMs;
    this.#run("INSERT OR REPLACE INTO notes (key, note, expires_at) VALUES (?, ?, ?)", key, note, expiresAt);
  }

  getNote(key: string): Uint8Array | undefined {
    const row = this.#get("SELECT note FROM notes WHERE key = ? AND expires_at >= ?", key, Date.now());
    return row?.["note"] as Uint8Array | undefined;
  }

  #rowOf(id: string): RunRow {
    return toRow(this.#get("SELECT * FROM runs WHERE id = ?", id) as unknown as SqliteRow);
  }

  #outcomesOf(id: string): Map<number, Uint8Array> {
    const rows = this.#all("SELECT call, outcome FROM outcomes WHERE run_id = ? ORDER BY call", id);
    return new Map(rows.map((row) => [row["call"] as number, row["outcome"] as Uint8Array]));
  }

  #snapshotOf(id: string): Uint8Array | undefined {
    const row = this.#get("SELECT snapshot FROM snapshots WHERE run_id = ?", id);
    return row?.["snapshot"] as Uint8Array | undefined;
  }

  #nextFence(): number {
    return Number(this.#get("UPDATE fences SET last = last + 1 RETURNING last")?.["last"]);
  }

  #prepare(sql: string): StatementSync {
    const one = this.#prepared.get(sql) ?? this.#db.prepare(sql);
    this.#prepared.set(sql, one);
    return one;
  }

  #get(sql: string, ...values: SQLInputValue[]): Record<string, unknown> | undefined {
    return this.#prepare(sql).get(...values);
  }

  #all(sql: string, ...values: SQLInputValue[]): Record<string, unknown>[] {
    return this.#prepare(sql).all(...values);
  }

  /** Gives the number of changed rows. */
  #run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes);
  }
}

function toRow(row: SqliteRow): RunRow {
  return {
    id: row.id,
    scope: row.scope,
    createdAt: row.created_at,
    changedAt: row.changed_at,
    expiresAt: row.expires_at,
    facts: row.facts,
    ended: row.ended,
    fence: row.fence ?? 0,
    owner: row.owner ?? undefined,
    leaseUntil: row.lease_until ?? 0,
  };
}

function toBytes(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array))
    throw new TypeError("Cannot read the database: a column has another type, expected bytes");
  return value;
}

/** Passes a column's value back into a statement. */
function toInput(value: unknown): SQLInputValue {
  return value as SQLInputValue;
}
