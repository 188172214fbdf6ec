/**
 * Runs on the host. Owns the one connection of the pool that listens for changes while the store is open.
 *
 * - A connection that breaks is replaced. Notifications may have been missed meanwhile, so every watcher is called.
 * - Now and then it sends a query, to find a connection that broke without notice.
 * - It keeps no process alive.
 */
import type { PostgresClient, PostgresPool } from "./postgres-pool.ts";
import type { Watchers } from "./watchers.ts";

const CHECK_MS = 15_000;
const FIRST_PAUSE_MS = 100;
const RECONNECT_MOST_MS = 5000;

export class PostgresListener {
  readonly #pool: PostgresPool;
  readonly #channel: string;
  /** The watchers of the last start. */
  #watchers: Watchers | undefined;
  /** Settles once the connection listens; undefined without a connection. */
  #connecting: Promise<void> | undefined;
  #drop: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasListened = false;
  #closed = false;

  constructor(pool: PostgresPool, channel: string) {
    this.#pool = pool;
    this.#channel = channel;
  }

  /** Settles when the connection listens. */
  async start(watchers: Watchers): Promise<void> {
    this.#watchers = watchers;
    try {
      await this.#listen();
    } catch (error) {
      // Earlier watches go on.
      if (this.#hasListened) this.#reconnect(FIRST_PAUSE_MS);
      throw error;
    }
  }

  #listen(): Promise<void> {
    // While there is a connection, the timer checks that connection; leave it running.
    if (this.#connecting !== undefined) return this.#connecting;
    clearTimeout(this.#timer);
    this.#connecting = this.#connect().catch((error: unknown) => {
      this.#connecting = undefined;
      throw error;
    });
    return this.#connecting;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#connecting?.catch(() => {});
    this.#drop?.();
    clearTimeout(this.#timer);
  }

  async #connect(): Promise<void> {
    const client = await this.#pool.connect();
    let isListening = false;
    let isLost = false;
    /** Releases the connection, once: a connection that breaks also fails its query. */
    const lose = (): void => {
      if (isLost) return;
      isLost = true;
      client.release(true);
      if (!isListening) return;
      this.#drop = undefined;
      this.#connecting = undefined;
      this.#reconnect(FIRST_PAUSE_MS);
    };
    // This listener stays for good: an error of a closing connection must not end the process.
    client.on("error", lose);
    client.on("end", lose);
    client.on("notification", ({ payload }) => this.#watchers?.call(payload ?? ""));
    try {
      await client.query(`LISTEN ${this.#channel}`);
    } catch (error) {
      lose();
      throw error;
    }
    if (isLost) throw new Error("The connection broke before it listened");
    isListening = true;
    client.unref?.();
    this.#drop = lose;
    this.#check(client, lose);
    // Earlier watchers may have missed a change while there was no connection.
    if (this.#hasListened) this.#watchers?.callAll();
    this.#hasListened = true;
  }

  #reconnect(pauseMs: number): void {
    if (this.#closed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#listen().catch(() => this.#reconnect(Math.min(pauseMs * 2, RECONNECT_MOST_MS)));
    }, pauseMs).unref();
  }

  #check(client: PostgresClient, drop: () => void): void {
    this.#timer = setTimeout(() => {
      const silent = setTimeout(drop, CHECK_MS).unref();
      client.query("SELECT 1").then(
        () => {
          clearTimeout(silent);
          if (this.#drop === drop) this.#check(client, drop);
        },
        () => {
          clearTimeout(silent);
          drop();
        },
      );
    }, CHECK_MS).unref();
  }
}
