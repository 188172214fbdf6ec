/** The connection that listens, where the pool gives connections that break. */
import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { PostgresListener } from "./postgres-listener.ts";
import type { PostgresClient, PostgresPool } from "./postgres-pool.ts";
import { Watchers } from "./watchers.ts";

/** A pool whose one client does this when it is told to listen. As pg does, it refuses a second release. */
function poolOf(listen: (client: EventEmitter) => Promise<void>): {
  readonly pool: PostgresPool;
  readonly released: () => number;
} {
  const client = new EventEmitter();
  let releases = 0;
  const release = (): void => {
    if (++releases > 1) throw new Error("Release called on client which has already been released");
  };
  const query = async (): Promise<{ rows: [] }> => {
    await listen(client);
    return { rows: [] };
  };
  Object.assign(client, { release, query });
  const pool = { connect: async () => client as unknown as PostgresClient };
  return { pool: pool as unknown as PostgresPool, released: () => releases };
}

test("a connection that breaks while it begins to listen is released once, and its error is told", async () => {
  const { pool, released } = poolOf(async (client) => {
    client.emit("error", new Error("reset"));
    throw new Error("terminated unexpectedly");
  });
  const listener = new PostgresListener(pool, "channel");
  await expect(listener.start(new Watchers())).rejects.toThrow("terminated unexpectedly");
  expect(released()).toBe(1);
  await listener.close();
});

test("a connection that broke although its query succeeded does not count as one that listens", async () => {
  const { pool, released } = poolOf(async (client) => void client.emit("end"));
  const listener = new PostgresListener(pool, "channel");
  await expect(listener.start(new Watchers())).rejects.toThrow("broke before it listened");
  expect(released()).toBe(1);
  await listener.close();
});
