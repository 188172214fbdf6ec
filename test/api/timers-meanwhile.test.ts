/** Timers that are due while their run is being suspended wait with the run, and fire once. */
import { createHost, type ToolSet } from "codecell";
import { createMemoryStore, type Store } from "codecell/store";
import { expect, test } from "vitest";
import { instead } from "./store-doubles.ts";

const sealKey = new Uint8Array(32).fill(23);
const TIMER_MS = 100;

test.each([
  ["in a new state", 10],
  ["by a last entry", 20_000],
])("%s [store:suspend]", async (_how, outputBytes) => {
  await using memory = createMemoryStore();
  let isSlow = false;
  const store: Store = instead(memory, {
    append: async (claim, entries) => {
      if (isSlow) await new Promise((resolve) => void setTimeout(resolve, 2 * TIMER_MS));
      await memory.append(claim, entries);
    },
  });
  const tools: ToolSet = { rows: { execute: () => ((isSlow = true), "x".repeat(outputBytes)) } };
  const source = `
    await tools.rows({});
    let ticks = 0;
    const tick = new Promise((resolve) => setInterval(() => { ticks++; resolve(); }, ${TIMER_MS}));
    await yield_control();
    await tick;
    return ticks;`;
  await using host = createHost({ workers: 1, store, sealKey });
  const first = await host.start({ source, tools, mayYield: true }).result;
  if (first.status !== "suspended") throw new Error(JSON.stringify(first));
  await using other = createHost({ workers: 1, store: memory, sealKey });
  const last = await other.resume({ token: first.suspension.token, tools }).result;
  expect(last).toEqual(expect.objectContaining({ status: "completed", value: 1 }));
});
