/**
 * Runs on the host. Runs the transactions of one SQLite connection, in the order in which they were asked for.
 *
 * - Transactions of one turn of the event loop are committed together, since a commit waits for the disk and blocks
 *   the thread meanwhile. A transaction that refuses (throws a StoreError) is undone alone.
 * - A locked database is tried again later, without blocking the thread, until it counts as unavailable.
 * - After an error of the database nothing is changed, and the caller gets a StoreError.
 */
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { StoreError } from "../contract/store.ts";

interface Task {
  readonly work: () => unknown;
  /** Settles the caller's promise. Called when the change is durable. */
  readonly settle: (outcome: Outcome) => void;
}

type Outcome = { readonly value: unknown } | { readonly error: unknown };

/** How many transactions at most share a commit: together they block the thread. */
const BATCH = 64;

const SQLITE_BUSY = 5;
const SQLITE_LOCKED = 6;
const SQLITE_FULL = 13;
const SQLITE_TOOBIG = 18;

export class SqliteQueue {
  readonly #db: DatabaseSync;
  readonly #busyTimeoutMs: number;
  #waiting: Task[] = [];
  #flushing = false;

  constructor(db: DatabaseSync, busyTimeoutMs: number) {
    this.#db = db;
    this.#busyTimeoutMs = busyTimeoutMs;
  }

  /** Runs synchronous work in a transaction. */
  transact<T>(work: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const settle = (outcome: Outcome): void => {
        if ("error" in outcome) reject(toStoreError(outcome.error));
        else resolve(outcome.value as T);
      };
      this.#waiting.push({ work, settle });
      if (this.#flushing) return;
      this.#flushing = true;
      setImmediate(() => void this.#flush());
    });
  }

  /** Runs synchronous work that needs no transaction: a single statement. */
  attempt<T>(work: () => T): Promise<T> {
    return whileLocked(this.#busyTimeoutMs, work);
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH);
      let outcomes = await this.#commit(batch);
      // The whole batch failed, not one of its transactions: each may succeed alone.
      if (outcomes === undefined && batch.length > 1) {
        outcomes = [];
        for (const task of batch) outcomes.push(...((await this.#commit([task])) ?? []));
      }
      for (const [index, { settle }] of batch.entries()) settle(outcomes?.[index] ?? UNSETTLED);
    }
    this.#flushing = false;
  }

  /** Undefined when a batch of several failed as a whole. */
  async #commit(batch: readonly Task[]): Promise<Outcome[] | undefined> {
    try {
      return await whileLocked(this.#busyTimeoutMs, () => this.#run(batch));
    } catch (error) {
      const alone = batch.length === 1 || isLocked(error);
      return alone ? batch.map(() => ({ error })) : undefined;
    }
  }

  #run(batch: readonly Task[]): Outcome[] {
    const db = this.#db;
    db.exec("BEGIN IMMEDIATE");
    try {
      const outcomes = batch.map(({ work }): Outcome => {
        db.exec("SAVEPOINT task");
        try {
          return { value: work() };
        } catch (error) {
          if (!StoreError.is(error)) throw error;
          db.exec("ROLLBACK TO task");
          return { error };
        } finally {
          if (db.isTransaction) db.exec("RELEASE task");
        }
      });
      db.exec("COMMIT");
      return outcomes;
    } finally {
      // SQLite may already have undone the transaction when the disk is full.
      if (db.isTransaction) db.exec("ROLLBACK");
    }
  }
}

const UNSETTLED: Outcome = { error: new Error("A transaction has no outcome") };

/** Tries again while the database is locked. The thread is free in between. */
export async function whileLocked<T>(timeoutMs: number, work: () => T): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 32)) {
    try {
      return work();
    } catch (error) {
      if (!isLocked(error) || performance.now() >= deadline) throw toStoreError(error);
    }
    // Random pauses, so that processes that collided do not collide again.
    await delay(1 + Math.random() * pauseMs);
  }
}

function primaryCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number")
    return undefined;
  return error.errcode & 0xff;
}

function isLocked(error: unknown): boolean {
  const code = primaryCodeOf(StoreError.is(error) ? error.cause : error);
  return code === SQLITE_BUSY || code === SQLITE_LOCKED;
}

function toStoreError(error: unknown): unknown {
  const code = primaryCodeOf(error);
  if (code === undefined) return error;
  const { message } = error as Error;
  if (code === SQLITE_FULL || code === SQLITE_TOOBIG) {
    return new StoreError("full", `Cannot change the database: ${message}`, { cause: error });
  }
  return new StoreError("unavailable", `Cannot use the database: ${message}`, { cause: error });
}
