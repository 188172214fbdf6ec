/** Tests that a stored run goes on from its journal if its snapshot is of another build. */
import { expect, test } from "vitest";
import type { ToolSet } from "../contract/tool.ts";
import { createMemoryStore } from "../store/memory.ts";
import { StoredBytes } from "./stored-bytes.ts";
import { Vault } from "../seal/vault.ts";
import { createHost } from "../run/host/host.ts";

const sealKey = new Uint8Array(32).fill(3);
const tools: ToolSet = {
  rows: { execute: () => "x".repeat(20_000) },
  ask: { execute: (_input, call) => call.resolution ?? call.suspend(null) },
};
const source = `
  let sum = 0;
  for (let round = 0; round < 3; round++) {
    console.log("round", round);
    sum += (await tools.rows({})).length + (await tools.ask({}));
  }
  return sum;`;

test("goes on from the journal every time the run is taken up [suspend:resume]", async () => {
  await using store = createMemoryStore();
  const bytes = new StoredBytes(new Vault({ sealKey }));
  await using host = createHost({ workers: 1, store, sealKey });
  let result = await host.start({ source, tools }).result;
  const logs = [...result.logs];
  let upgrades = 0;
  while (result.status === "suspended") {
    const claimed = await store.claim(result.runId, { owner: "", ms: 1000 });
    if (claimed.status !== "claimed") throw new Error(claimed.status);
    const opened = await bytes.open(claimed.run);
    if ("code" in opened || opened.saved === undefined) throw new Error("No snapshot");
    const { bytes: memory, progress } = opened.saved;
    // The snapshot begins with the build's digest.
    memory.set([(memory[0] ?? 0) ^ 1]);
    const sealed = await opened.written.bytes.sealSnapshot({ bytes: memory, progress });
    await store.saveSnapshot(claimed.claim, sealed);
    await store.release(claimed.claim);
    upgrades++;
    const { token, pending } = result.suspension;
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: 1 } };
    result = await host.resume({ token, tools, resolutions }).result;
    logs.push(...result.logs);
  }
  expect(result).toMatchObject({ status: "completed", value: 60_003 });
  expect(upgrades).toBe(3);
  expect(logs.map(({ text }) => text)).toEqual(["round 0", "round 1", "round 2"]);
});
