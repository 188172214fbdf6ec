/**
 * What a Postgres store needs of `pg`, and how its errors are met.
 *
 * - Shapes are written here instead of imported: a pool is given, no package is loaded.
 * - Work that met a transient error is done again only if it says that it may be: it learns which attempt it is.
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
  /** True destroys the connection. */
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

/** How long work is done again; connections that broke are replaced at once, servers restart in seconds. */
const RETRY_MS = 3000;

/** Classes of errors that say: not now. Connections, resources, operators; transactions that met each other. */
const TRANSIENT = /^(?:08|57P0[123]|40001$|40P01$|53300$|55P03$|25006$)/u;
const FULL = /^(?:53100|54000)$/u;

/** Does work until it succeeds or fails for good. Whether an attempt that failed took effect is for the work to find. */
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

/** Runs statements in a transaction in which each sees what was committed before it. */
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

/** The five characters a server calls an error; undefined when it was not the server that spoke. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined;
  return /^[0-9A-Z]{5}$/u.test(error.code) && "severity" in error ? error.code : undefined;
}

function isTransient(error: unknown): boolean {
  if (StoreError.is(error) || error instanceof TypeError || error instanceof RangeError) return false;
  const state = sqlStateOf(error);
  // Without a word of the server it is the connection.
  return state === undefined || TRANSIENT.test(state);
}

export function toStoreError(error: unknown): unknown {
  if (StoreError.is(error) || error instanceof TypeError) return error;
  const state = sqlStateOf(error);
  const said = `${error instanceof Error ? error.message : String(error)}${state === undefined ? "" : ` (${state})`}`;
  // A RangeError: more bytes than a message to the server can hold.
  if (error instanceof RangeError || (state !== undefined && FULL.test(state))) {
    return new StoreError("full", `Cannot change the database: ${said}`, { cause: error });
  }
  return new StoreError("unavailable", `Cannot use the database: ${said}`, { cause: error });
}
