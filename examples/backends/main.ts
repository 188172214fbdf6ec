/** Runs one program over several backends, lets a person decide about what destroys something, and checks the outcome. */
import { deepStrictEqual, equal } from "node:assert/strict";
import { connectTools } from "@codecell/connectors";
import { createHost, type ToolSet } from "codecell";
import { createCatalog } from "codecell/catalog";
import { connectors, orders } from "./backends.ts";
import { PROGRAM } from "./program.ts";

function title(text: string): void {
  console.log(`\n── ${text} ${"─".repeat(Math.max(0, 72 - text.length))}\n`);
}

title("Which backends are ready");
const signal = AbortSignal.timeout(60_000);
for (const connector of connectors) {
  const said = await connector.check({ signal }).then(
    ({ tools }) => `ready, ${tools} tools`,
    (error: Error) => error.message,
  );
  console.log(`${connector.id}: ${said}`);
  equal(said.startsWith("ready"), connector.id === "warehouse");
}

title("Their tools, in one catalog");
const { sources, unready } = await connectTools(connectors);
deepStrictEqual(unready, []);
const catalog = createCatalog([...sources, orders], { policy: { deny: ["cli:printer:*"] } });
for (const { id } of catalog.entries) console.log(id);
deepStrictEqual(
  catalog.entries.map(({ id }) => id),
  ["cli:warehouse:drop_goods", "cli:warehouse:list_stock", "core:orders:sold_last_month"],
);

const [found] = await catalog.search("what is running out?");
console.log(`\nWhat tells what is running out? ${found?.signature}`);
equal(found?.id, "cli:warehouse:list_stock");

title("The program a model wrote");
console.log(PROGRAM.replaceAll(/^/gmu, "  ").trimEnd());

// The tools by the names that programs have for them.
const named = [...catalog.names].flatMap(([name, id]) => {
  const entry = catalog.get(id);
  return entry === undefined ? [] : [[name, entry.tool] as const];
});
const tools: ToolSet = Object.fromEntries(named);
const host = createHost();

title("The run stops before anything is destroyed");
const asked = await host.start({ source: PROGRAM, tools }).result;
if (asked.status !== "suspended") throw new Error(`Expected a suspended run: ${JSON.stringify(asked)}`);
const { token, pending } = asked.suspension;
for (const { payload } of pending) console.log(JSON.stringify(payload));
deepStrictEqual(
  pending.map(({ payload }) => payload),
  [{ connector: "warehouse", tool: "drop_goods", input: { sku: "ink" } }],
);

title("Somebody says yes");
const resolutions = Object.fromEntries(pending.map(({ callId }) => [callId, { resolution: true }]));
const done = await host.resume({ token, resolutions, tools }).result;
console.log(done.status === "completed" ? JSON.stringify(done.value, null, 2) : done);
deepStrictEqual(done.status === "completed" ? done.value : done, {
  reorder: [{ sku: "pen", count: 87 }],
  dropped: ["dropped ink\n"],
});

await host[Symbol.asyncDispose]();
for (const connector of connectors) await connector[Symbol.asyncDispose]();
console.log("\nAll as expected.");
