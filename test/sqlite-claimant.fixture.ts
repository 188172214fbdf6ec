/** A process that uses a SQLite store: claims runs, or appends until it is killed. Waits for a line before it begins. */
import { once } from "node:events";
import { openSqliteStore } from "../packages/codecell/src/store/sqlite.ts";

const [path = "", job = "", count = ""] = process.argv.slice(2);
const lease = { owner: String(process.pid), ms: 600_000 };
const store = await openSqliteStore({ path });
process.stdout.write("ready\n");
await once(process.stdin, "data");
process.stdin.unref();

if (job === "claim") {
  const won: number[] = [];
  for (let n = 0; n < Number(count); n++) {
    if ((await store.claim(`run ${n}`, lease)).status === "claimed") won.push(n);
  }
  process.stdout.write(`${JSON.stringify(won)}\n`);
} else {
  const result = await store.claim("run 0", lease);
  if (result.status !== "claimed") throw new Error("Not claimed");
  for (let n = 0; ; n++) {
    await store.append(
      result.claim,
      [0, 1, 2].map((part) => Uint8Array.of(n % 256, part)),
    );
    if (n === 20) process.stdout.write("enough\n");
  }
}
await store[Symbol.asyncDispose]();
