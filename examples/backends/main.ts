/** Runs one program over several backends, lets a person decide about what destroys something, and checks the outcome. */
import { deepStrictEqual, equal } from "node:assert/strict";
import { createHandles } from "@codecell/connectors";
import { createHost, run, unwrap } from "codecell";
import { openBackends } from "./backends.ts";
import { PROGRAM } from "./program.ts";
import { startSalesApi } from "./sales-api.ts";

function title(text: string): void {
  console.log(`\n── ${text} ${"─".repeat(Math.max(0, 72 - text.length))}\n`);
}

const api = await startSalesApi();
const backends = openBackends(api.origin);

title("Which backends are ready");
const signal = AbortSignal.timeout(60_000);
for (const backend of backends) {
  const said = await backend.check({ signal }).then(
    ({ tools }) => `ready, ${tools} tool${tools === 1 ? "" : "s"}`,
    (error: Error) => error.message,
  );
  console.log(`${backend.id}: ${said}`);
  equal(said.startsWith("ready"), backend.id !== "printer");
}

title("What a model is told of them");
const connectors = createHandles(backends);
console.log(connectors.declarations.split("\n").slice(0, 6).join("\n"));

title("A program looks for what it needs");
const search = `return (await connectors.warehouse.searchTools("what is running out?")).items[0]`;
const found = unwrap(await run({ source: search, connectors })) as { name: string };
console.log(found);
equal(found.name, "list_stock");

title("The program a model wrote");
console.log(PROGRAM.replaceAll(/^/gmu, "  ").trimEnd());

const host = createHost();

title("The run stops before anything is destroyed");
const asked = await host.start({ source: PROGRAM, connectors }).result;
if (asked.status !== "suspended") throw new Error(`Expected a suspended run: ${JSON.stringify(asked)}`);
const { token, pending } = asked.suspension;
for (const { payload } of pending) console.log(JSON.stringify(payload));
deepStrictEqual(
  pending.map(({ payload }) => payload),
  [{ connector: "warehouse", tool: "drop_goods", input: { sku: "ink" } }],
);

title("Somebody says yes");
const resolutions = Object.fromEntries(pending.map(({ callId }) => [callId, { resolution: true }]));
const done = await host.resume({ token, resolutions, connectors }).result;
console.log(done.status === "completed" ? JSON.stringify(done.value, null, 2) : done);
deepStrictEqual(done.status === "completed" ? done.value : done, {
  reorder: [{ sku: "pen", count: 87, supplier: "Quill & Sons" }],
  dropped: ["dropped ink\n"],
});

await host[Symbol.asyncDispose]();
for (const backend of backends) await backend[Symbol.asyncDispose]();
await api[Symbol.asyncDispose]();
console.log("\nAll as expected.");
