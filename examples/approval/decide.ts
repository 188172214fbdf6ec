/** Second command, perhaps days later: shows what waits, approves Bo's chair, refuses Dai's dinner. */
import { createHost } from "codecell";
import { openStore, toolsOf } from "./office.ts";

const folder = process.argv[2] ?? ".";
const tools = toolsOf(folder);
const store = await openStore(folder);
const host = createHost({ workers: 1, store });

for (const { id } of await store.list({ claimable: true })) {
  // Without decisions a run only says what it waits for.
  const waiting = await host.resume({ id, tools }).result;
  if (waiting.status !== "suspended") throw new Error(`Run ${id} does not wait: ${waiting.status}`);
  const decisions = waiting.suspension.pending.map(({ callId, input }) => {
    const isChair = (input as { id: string }).id === "E-2";
    console.log(`${isChair ? "Approving" : "Refusing"} ${JSON.stringify(input)}`);
    return [callId, isChair ? { resolution: "Eve" } : { deny: "dinners are on you" }] as const;
  });
  const result = await host.resume({ id, tools, resolutions: Object.fromEntries(decisions) }).result;
  console.log(`Process ${process.pid} finished the program:`);
  console.log(result.status === "completed" ? JSON.stringify(result.value, null, 2) : result);
}
console.log(`Runs left in the store: ${(await store.list()).length}`);
await host[Symbol.asyncDispose]();
await store[Symbol.asyncDispose]();
