import { Pool } from "pg";
import { afterAll, beforeAll } from "vitest";
import { type PostgresServer, startPostgres } from "../../../../test/postgres-server.ts";
import type { Store } from "../contract/store.ts";
import { testStore } from "../testing/store-suite.ts";
import { openPostgresStore } from "./postgres.ts";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
}, 60_000);
afterAll(() => server[Symbol.asyncDispose]());

/** Every handle has a pool of its own, as if in a process of its own. */
async function openApart(schema: string): Promise<Store> {
  const pool = new Pool({ ...server.connection, max: 4 });
  const store = await openPostgresStore({ pool, schema });
  return {
    ...store,
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]();
      if (!pool.ended) await pool.end();
    },
  };
}

testStore("postgres", openApart);
