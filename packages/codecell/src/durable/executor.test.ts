/** Tests of the calls that a process goes on executing for runs it has given back. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type Store, StoreError } from "../contract/store.ts";
import { createMemoryStore } from "../store/memory.ts";
import { Executor } from "./executor.ts";

let store: Store;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] });
  store = createMemoryStore();
});
afterEach(() => vi.useRealTimers());

const output = (call: number) => ({ kind: "output", call }) as const;
const UNAVAILABLE = new StoreError("unavailable", "Locked");

test("attends before its calls are announced, and until the last outcome is posted [store:executor]", async () => {
  const executor = new Executor(store, 3000);
  await executor.begin("r", []);
  expect(await store.attends(executor.id)).toBe(false);
  await executor.begin("r", [0, 1]);
  expect(await store.attends(executor.id)).toBe(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await store.attends(executor.id)).toBe(true);
  await executor.post("r", output(0), Infinity, async () => {});
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await store.attends(executor.id)).toBe(true);
  await executor.post("r", output(1), Infinity, async () => {});
  await vi.advanceTimersByTimeAsync(0);
  expect(await store.attends(executor.id)).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
});

test("an outcome is kept until the store takes it [store:executor]", async () => {
  const executor = new Executor(store, 3000);
  await executor.begin("r", [0]);
  let refusals = 0;
  const posted = executor.post("r", output(0), Infinity, async () => {
    if (refusals++ < 5) throw UNAVAILABLE;
  });
  await vi.advanceTimersByTimeAsync(9_000);
  expect(refusals).toBe(5);
  expect(await store.attends(executor.id)).toBe(true);
  await vi.advanceTimersByTimeAsync(2_000);
  await posted;
  expect(refusals).toBe(6);
});

test.each([
  ["the store was closed", new StoreError("closed", "Closed"), Infinity],
  ["the run has expired", UNAVAILABLE, 5000],
])("an outcome is given up when %s", async (_why, error, msLeft) => {
  const executor = new Executor(store, 3000);
  await executor.begin("r", [0]);
  const posted = executor.post("r", output(0), Date.now() + msLeft, () => Promise.reject(error));
  await vi.advanceTimersByTimeAsync(8000);
  await posted;
  expect(await store.attends(executor.id)).toBe(false);
});

test.each([
  ["output", 3],
  ["asked", 1],
] as const)(
  "an outcome of kind %s that the store does not answer is posted %i times",
  async (kind, times) => {
    const executor = new Executor(store, 3000);
    await executor.begin("r", [0]);
    let asked = 0;
    const posted = executor.post("r", { kind, call: 0 }, Infinity, async () => {
      if (++asked < 3) await new Promise(() => {});
    });
    await vi.advanceTimersByTimeAsync(60_000);
    await posted;
    expect(asked).toBe(times);
  },
);

test("if the store cannot be told of the executor, the run is not given back [store:executor]", async () => {
  const executor = new Executor({ ...store, attend: () => Promise.reject(UNAVAILABLE) }, 3000);
  const begun = executor.begin("r", [0]);
  begun.catch(() => {});
  await vi.advanceTimersByTimeAsync(10_000);
  await expect(begun).rejects.toThrow("Locked");
  await vi.advanceTimersByTimeAsync(10_000);
  expect(vi.getTimerCount()).toBe(0);
});

test("the last message to the store counts, however slow the store is [store:executor]", async () => {
  const said: number[] = [];
  const slow: Store = {
    ...store,
    attend: async (_executor, ms) => {
      // Leaving takes longer than coming back.
      await new Promise((resolve) => setTimeout(resolve, ms === 0 ? 500 : 10));
      said.push(ms);
    },
  };
  const executor = new Executor(slow, 60_000);
  const first = executor.begin("r", [0]);
  await vi.advanceTimersByTimeAsync(10);
  await first;
  executor.end("r", [0]);
  const second = executor.begin("r", [1]);
  await vi.advanceTimersByTimeAsync(1000);
  await second;
  expect(said).toEqual([60_000, 0, 60_000]);
});

test("a store that was silent for long is not sent every renewal that was missed [store:executor]", async () => {
  let attended = 0;
  let isSilent = false;
  const silent: Store = {
    ...store,
    attend: async () => {
      attended++;
      if (isSilent) await new Promise(() => {});
    },
  };
  const executor = new Executor(silent, 3000);
  await executor.begin("r", [0]);
  isSilent = true;
  await vi.advanceTimersByTimeAsync(600_000);
  isSilent = false;
  attended = 0;
  const begun = executor.begin("r", [1]);
  // Time for the request that is under way, and for this one.
  await vi.advanceTimersByTimeAsync(15_000);
  await begun;
  expect(attended).toBeLessThan(20);
  executor.end("r", [0, 1]);
});
