/**
 * One process of the cluster: starts the orders it is given on the command line, and takes up whatever run nobody
 * holds, until it is told to end.
 */
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { createHost } from "codecell";
import { openPostgresStore } from "codecell/store/postgres";
import { Pool } from "pg";
import { programOf } from "./program.ts";
import { toolsOf } from "./shop.ts";

const [name = "", database = "{}", ...orders] = process.argv.slice(2);
const told = (news: string): void => console.log(`${name}  ${news}`);
const pool = new Pool(JSON.parse(database) as object);
const tools = toolsOf(pool, name, told);
const ended = once(process.stdin.resume(), "end");

const store = await openPostgresStore({ pool });
// A process that has not been heard of for so long has lost its runs.
const host = createHost({ workers: 1, store, leaseMs: 500 });
told("is up");
await Promise.all(orders.map((order) => host.start({ source: programOf(Number(order)), tools }).result));
while (!process.stdin.readableEnded) {
  // A few at a time: the others want some too.
  const claimable = await store.list({ claimable: true, limit: 3 });
  await Promise.all(
    claimable.map(async ({ id }) => {
      const result = await host.resume({ id, tools }).result;
      // Somebody else was faster, and may even be done.
      const isLost = result.status === "failed" && ["run_held", "run_unknown"].includes(result.failure.code);
      if (!isLost) told(`finished run ${id.slice(0, 8)}: ${result.status}`);
    }),
  );
  await Promise.race([sleep(50), ended]);
}
await host[Symbol.asyncDispose]();
await store[Symbol.asyncDispose]();
await pool.end();
