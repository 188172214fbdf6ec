/**
 * Runs on the host. Declares what a Postgres store needs of `pg`, and handles its errors.
 *
 * - Types are written here and not imported: the caller gives a pool, and no package is loaded.
 * - After a transient error the work is done again. It learns which attempt it is, and has to find out whether an
 *   earlier attempt took effect.
 */
import { setTimeout as delay } from "node:timers/promises";
import { StoreError } from "../contract/store.ts";

export interface PostgresResult {
  readonly rows: Record<string, unknown>[];
}

export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<PostgresResult>;
  on(event: "error" | "end", listener: (error?: Error) => void): unknown;
  on(event: "notification", listener: (message: { payload?: string | undefined }) => void): unknown;
  removeListener(event: "error", listener: () => void): unknown;
  /** `true` destroys the connection. */
  release(destroy?: boolean): void;
  /** Lets the process end while the connection is open. */
  unref?(): void;
}

/** A `Pool` of the package `pg`, or anything that behaves like it. */
export interface PostgresPool {
  query(text: string, values?: unknown[]): Promise<PostgresResult>;
  connect(): Promise<PostgresClient>;
  on(event: "error", listener: () => void): unknown;
  removeListener(event: "error", listener: () => void): unknown;
  readonly options?: { readonly max?: number | undefined };
}

/** How long work is tried again. Broken connections are replaced at once, and servers restart within seconds. */
const RETRY_MS = 3000;

/** SQL states of transient errors: of connections and resources, of operators, and of transactions that collide. */
const TRANSIENT = /^(?:08|57P0[123]|40001$|40P01$|53300$|55P03$|25006$)/u;
const FULL = /^(?:53100|54000)$/u;

/**
 * Repeats work until it succeeds or fails for good. The work itself has to find out whether a failed attempt took
 * effect.
 */
export async function persist<T>(work: (attempt: number) => Promise<T>): Promise<T> {
  const deadline = performance.now() + RETRY_MS;
  for (let attempt = 1, pauseMs = 10; ; attempt++, pauseMs = Math.min(pauseMs * 2, 500)) {
    try {
      return await work(attempt);
    } catch (error) {
      if (!isTransient(error) || performance.now() >= deadline) throw toStoreError(error);
    }
    await delay(pauseMs * (0.5 + Math.random()));
  }
}

/** Runs statements in a transaction. Each statement sees what was committed before it. */
export async function transact<T>(
  pool: PostgresPool,
  work: (client: PostgresClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken = false;
  const onError = (): void => {
    broken = true;
  };
  client.on("error", onError);
  try {
    await client.query("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE");
    const value = await work(client);
    await client.query("COMMIT");
    return value;
  } catch (error) {
    await client.query("ROLLBACK").catch(onError);
    throw error;
  } finally {
    client.removeListener("error", onError);
    client.release(broken);
  }
}

/** The SQL state of an error: five characters; undefined when the error does not come from the server. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined;
  return /^[0-9A-Z]{5}$/u.test(error.code) && "severity" in error ? error.code : undefined;
}

function isTransient(error: unknown): boolean {
  if (StoreError.is(error) || error instanceof TypeError || error instanceof RangeError) return false;
  const state = sqlStateOf(error);
  // An error that does not come from the server is an error of the connection.
  return state === undefined || TRANSIENT.test(state);
}

export function toStoreError(error: unknown): unknown {
  if (StoreError.is(error) || error instanceof TypeError) return error;
  const state = sqlStateOf(error);
  const said = `${error instanceof Error ? error.message : String(error)}${state === undefined ? "" : ` (${state})`}`;
  // A RangeError means more bytes than a message to the server can hold.
  if (error instanceof RangeError || (state !== undefined && FULL.test(state))) {
    return new StoreError("full", `Cannot change the database: ${said}`, { cause: error });
  }
  return new StoreError("unavailable", `Cannot use the database: ${said}`, { cause: error });
}
