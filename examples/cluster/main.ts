/** Three processes on one Postgres: the first starts all orders and is killed in the middle, the others finish them. */
import { deepStrictEqual, ok } from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Pool } from "pg";
import { startPostgres } from "../../test/postgres-server.ts";
import { programOf } from "./program.ts";
import { TABLES } from "./shop.ts";

const ORDERS = Array.from({ length: 12 }, (_, n) => n + 1);
/** The first process gets hardly further than this. */
const CHARGES_BEFORE_DEATH = 7;

const env = { ...process.env, CODECELL_SEAL_KEY: randomBytes(32).toString("base64") };

function title(text: string): void {
  console.log(`\n── ${text} ${"─".repeat(Math.max(0, 72 - text.length))}\n`);
}

/** A process of the cluster; `onNews` hears what it says. */
function start(name: string, orders: readonly number[], onNews: (news: string) => void): ChildProcess {
  const args = [join(import.meta.dirname, "worker.ts"), name, JSON.stringify(server.connection)];
  const child = spawn(process.execPath, [...process.execArgv, ...args, ...orders.map(String)], {
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  createInterface(child.stdout).on("line", (news) => {
    console.log(news);
    onNews(news);
  });
  return child;
}

title("The program, once per order");
console.log(programOf(1).replaceAll(/^/gmu, "  ").trimEnd());

title("Three processes on one database");
const server = await startPostgres();
const pool = new Pool(server.connection);
// Idle connections may still be closing when the server stops at the end.
pool.on("error", () => {});
await pool.query(TABLES);

let isUp = 0;
const othersUp = Promise.withResolvers<void>();
const onOther = (news: string): void => {
  if (news.endsWith("is up") && ++isUp === 2) othersUp.resolve();
};
const others = ["B", "C"].map((name) => start(name, [], onOther));
await othersUp.promise;

async function count(table: string): Promise<number> {
  const { rows } = await pool.query<{ n: string }>(`SELECT count(*) AS n FROM ${table}`);
  return Number(rows[0]?.n);
}

let charges = 0;
const first = start("A", ORDERS, (news) => {
  if (news.includes("charged order") && ++charges === CHARGES_BEFORE_DEATH) void killFirst();
});

/** Not before the store holds all orders: what A had only in its head would be gone. */
async function killFirst(): Promise<void> {
  while ((await count("codecell.runs")) + (await count("shipped")) < ORDERS.length) await sleep(5);
  first.kill("SIGKILL");
}

const [, signal] = (await once(first, "close")) as [unknown, string];
console.log(`A  is dead: ${signal}`);

// Once its leases have run out the others finish what it began.
while ((await count("codecell.runs")) > 0) await sleep(50);
for (const { stdin } of others) stdin?.end();
await Promise.all(others.map((child) => once(child, "close")));

title("What became of the orders");
const { rows } = await pool.query<{ order_id: number; charged: string; process: string; how: string }>(`
  SELECT order_id, process, how, (SELECT count(*) FROM charges c WHERE c.order_id = s.order_id) AS charged
  FROM shipped s ORDER BY order_id`);
for (const row of rows) console.log(`order ${row.order_id}: ${row.how}, shipped by ${row.process}`);
await pool.end();

deepStrictEqual(signal, "SIGKILL");
deepStrictEqual(
  rows.map((row) => row.order_id),
  ORDERS,
);
deepStrictEqual(
  rows.map((row) => Number(row.charged)),
  ORDERS.map(() => 1),
);
ok(rows.some((row) => row.process !== "A" && row.how === "found charged after a crash"));
console.log("\nEvery order was charged once and shipped, though the process that began them is gone.");
await server[Symbol.asyncDispose]();
console.log("\nAll as expected.");
