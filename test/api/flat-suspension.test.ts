/** What suspending a stored run writes. With a snapshot it is as much after many calls as after few. */
import { createHost, type HostOptions, type RunResult } from "codecell";
import { createMemoryStore, type Store } from "codecell/store";
import { expect, test } from "vitest";
import { instead } from "./store-doubles.ts";

const sealKey = new Uint8Array(32).fill(5);
const OUTPUT = Array.from({ length: 100 }, (_, id) => ({ id, name: `row ${id * 7919}`, paid: id % 3 === 0 }));

/** Makes calls, asks, and repeats this. */
const sourceOf = (calls: number): string => `
  let sum = 0;
  for (const round of [1, 2, 3]) {
    for (let n = 0; n < ${calls}; n++) sum += (await tools.rows({ n })).length;
    sum += await tools.ask({ round });
  }
  return sum;`;

const tools = {
  rows: { execute: () => OUTPUT },
  ask: {
    execute: (_input: unknown, call: { readonly resolution?: unknown; suspend(payload: null): never }) =>
      call.resolution ?? call.suspend(null),
  },
};

interface Written {
  /** Bytes written by each suspension. */
  readonly written: number[];
  /** Outcomes that the store was told to delete, by suspension. */
  readonly absorbed: number[];
  readonly value: unknown;
}

/** What the suspensions of a run wrote, and the value of the run. */
async function writtenBy(calls: number): Promise<Written> {
  await using memory = createMemoryStore();
  const written: number[] = [];
  const absorbed: number[] = [];
  const store: Store = instead(memory, {
    release: (claim, next) => {
      if (next !== undefined && !("ended" in next)) {
        absorbed.push(next.absorbed.length);
        written.push("state" in next ? next.state.length : next.entry.length + next.snapshot.length);
      }
      return memory.release(claim, next);
    },
  });
  await using host = createHost({ workers: 1, store, sealKey });
  let result = await host.start({ source: sourceOf(calls), tools }).result;
  while (result.status === "suspended") {
    const resolutions = Object.fromEntries(
      result.suspension.pending.map(({ callId }) => [callId, { resolution: 1 }]),
    );
    // Each resumption is in another host, as if in another process.
    await using other = createHost({ workers: 1, store, sealKey });
    result = await other.resume({ token: result.suspension.token, tools, resolutions }).result;
  }
  if (result.status !== "completed") throw new Error(result.failure.message);
  return { written, absorbed, value: result.value };
}

test("a suspension writes as much after 400 calls as after 10, and as much the third time as the first [store:flat]", async () => {
  const few = await writtenBy(10);
  const many = await writtenBy(400);
  expect([few.value, many.value]).toEqual([3 * 10 * 100 + 3, 3 * 400 * 100 + 3]);
  expect(many.absorbed).toEqual(few.absorbed);
  expect([few.written.length, many.written.length]).toEqual([3, 3]);
  const most = Math.max(...many.written);
  expect(most).toBeLessThan(16 * 1024);
  expect(most).toBeLessThan(1.5 * Math.min(...few.written));
});

test("an old key is no longer needed once a run was suspended with the new key [suspend:rotation]", async () => {
  await using store = createMemoryStore();
  const next = new Uint8Array(32).fill(6);
  const options: HostOptions[] = [
    { sealKey },
    { sealKeys: [next, sealKey] },
    { sealKeys: [next], encrypt: true },
    { sealKeys: [next] },
  ];
  let result: RunResult | undefined;
  for (const each of options) {
    await using host = createHost({ workers: 1, store, ...each });
    if (result === undefined) {
      result = await host.start({ source: sourceOf(10), tools }).result;
      continue;
    }
    if (result.status !== "suspended") throw new Error(JSON.stringify(result));
    const { token, pending } = result.suspension;
    const resolutions = { [pending[0]?.callId ?? ""]: { resolution: 1 } };
    result = await host.resume({ token, tools, resolutions }).result;
  }
  expect(result).toMatchObject({ status: "completed", value: 3 * 10 * 100 + 3 });
});
