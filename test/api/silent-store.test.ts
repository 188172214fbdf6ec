/** A store that does not answer: whatever waits for it ends, and says why. */
import { setImmediate } from "node:timers/promises";
import { createHost, type Host, type RunHandle, type ToolSet } from "codecell";
import { type Claimed, createMemoryStore, type Store } from "codecell/store";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { instead, until, untilClaimable } from "./store-doubles.ts";

/** Fakes timers of the host, not of its workers. Leases and their renewals go on. */
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

vi.setConfig({ testTimeout: 10_000 });

/** Longer than anything may wait. The runs themselves have unlimited time. */
const BOUND_MS = 20_000;
const STEP_MS = 100;
const sealKey = new Uint8Array(32).fill(17);

function open(store: Store, leaseMs = 60_000): Host {
  return createHost({ workers: 1, store, sealKey, leaseMs, limits: { wallTimeMs: 86_400_000 } });
}

/**
 * Awaits a promise after so much time has passed. Worker threads run in real time, and what the host does about their
 * reports takes turns of the event loop: on a busy machine all time would pass before the host sets its timers.
 */
async function inTime<T>(promise: PromiseLike<T>): Promise<T> {
  for (let passed = 0; passed < BOUND_MS; passed += STEP_MS) {
    await vi.advanceTimersByTimeAsync(STEP_MS);
    await setImmediate();
  }
  return promise;
}

/** A store with one method that never answers, and how often that method was called. */
function silent(store: Store, method: keyof Store): { readonly store: Store; readonly asked: () => number } {
  let times = 0;
  const never = (): Promise<never> => {
    times++;
    return new Promise(() => {});
  };
  return { store: instead(store, { [method]: never }), asked: () => times };
}

function desk(): { readonly tools: ToolSet; readonly made: string[] } {
  const made: string[] = [];
  return {
    made,
    tools: {
      pay: { execute: () => made.push("pay") },
      wait: { execute: () => (made.push("wait"), new Promise(() => {})) },
      ask: { execute: (_input, call) => call.resolution ?? call.suspend("?") },
    },
  };
}

const UNANSWERED = {
  status: "failed",
  failure: { code: "store_failed", message: "The store did not answer in time" },
};

async function madeCall(run: RunHandle): Promise<void> {
  await until(() => run.ledger().calls.length === 1);
}

test("a run that cannot be put into it fails, and calls nothing [store:refuses]", async () => {
  await using store = createMemoryStore();
  const { tools, made } = desk();
  const host = open(silent(store, "put").store);
  const run = host.start({ source: "return await tools.pay({})", tools });
  await madeCall(run);
  expect(await inTime(run.result)).toMatchObject(UNANSWERED);
  expect(made).toEqual([]);
  await inTime(host[Symbol.asyncDispose]());
});

test("a call that cannot be recorded is not made, and the run can go on elsewhere [store:refuses]", async () => {
  await using store = createMemoryStore();
  const { tools, made } = desk();
  const { store: deaf, asked } = silent(store, "append");
  const host = open(deaf, 50);
  const run = host.start({ source: "return await tools.pay({})", tools });
  await until(() => asked() > 0);
  expect(await inTime(run.result)).toMatchObject(UNANSWERED);
  expect(made).toEqual([]);
  // Not tried again: nobody knows whether the first attempt took effect.
  expect(asked()).toBe(1);
  await inTime(host[Symbol.asyncDispose]());
  await untilClaimable(store);
  const other = open(store);
  expect(await other.resume({ id: run.runId, tools }).result).toMatchObject({ value: 1 });
  await other[Symbol.asyncDispose]();
});

test("an outcome that cannot be recorded is not seen by the program", async () => {
  await using store = createMemoryStore();
  const { tools, made } = desk();
  let asked = 0;
  const deaf = instead(store, {
    append: (claim, entries) => {
      if (made.length === 0) return store.append(claim, entries);
      asked++;
      return new Promise(() => {});
    },
  });
  const host = open(deaf);
  const run = host.start({ source: "await tools.pay({}); console.log('seen')", tools });
  await until(() => asked > 0);
  expect(await inTime(run.result)).toMatchObject({ ...UNANSWERED, logs: [] });
  expect(made).toEqual(["pay"]);
  await inTime(host[Symbol.asyncDispose]());
});

test("a run that cannot be given back is not suspended [store:refuses]", async () => {
  await using store = createMemoryStore();
  const { tools } = desk();
  const { store: deaf, asked } = silent(store, "release");
  const host = open(deaf);
  const run = host.start({ source: "return await tools.ask({})", tools });
  await until(() => asked() > 0);
  expect(await inTime(run.result)).toMatchObject(UNANSWERED);
  await inTime(host[Symbol.asyncDispose]());
});

test("a run whose calls go on is suspended only if the store can note that", async () => {
  await using store = createMemoryStore();
  const { tools, made } = desk();
  const { store: deaf, asked } = silent(store, "attend");
  const host = open(deaf);
  const source = "return await Promise.all([tools.ask({}), tools.wait({})])";
  const run = host.start({ source, tools });
  await until(() => made.length === 1);
  expect(await inTime(run.result)).toMatchObject(UNANSWERED);
  expect(asked()).toBeGreaterThan(0);
  await inTime(host[Symbol.asyncDispose]());
});

test.each(["watch", "attends", "outcomes"] as const)(
  "a run whose call goes on elsewhere ends when %s is not answered, and can be resumed again",
  async (method) => {
    await using store = createMemoryStore();
    const { tools, made } = desk();
    const first = open(store);
    const source = "return await Promise.all([tools.ask({}), tools.wait({})])";
    const run = first.start({ source, tools });
    await until(() => made.length === 1);
    expect(await inTime(run.result)).toMatchObject({ status: "suspended" });
    const { store: deaf, asked } = silent(store, method);
    const host = open(deaf);
    const resumed = host.resume({
      id: run.runId,
      tools,
      resolutions: { [`${run.runId}:0`]: { resolution: "go" } },
    });
    await until(() => asked() > 0);
    expect(await inTime(resumed.result)).toMatchObject(UNANSWERED);
    await untilClaimable(store);
    await inTime(Promise.all([first, host].map((one) => one[Symbol.asyncDispose]())));
  },
);

test("an ended run waits for its removal for a bounded time", async () => {
  await using store = createMemoryStore();
  const { tools, made } = desk();
  const { store: deaf, asked } = silent(store, "delete");
  const host = open(deaf);
  const run = host.start({ source: "return await tools.pay({})", tools });
  await until(() => asked() > 0);
  expect(await inTime(run.result)).toMatchObject({ status: "completed", value: 1 });
  expect(made).toEqual(["pay"]);
  await inTime(host[Symbol.asyncDispose]());
});

test("a host closes although its runs cannot be given back", async () => {
  await using store = createMemoryStore();
  const { tools, made } = desk();
  const host = open(silent(store, "release").store);
  const run = host.start({ source: "return await tools.wait({})", tools });
  await until(() => made.length === 1);
  await inTime(host[Symbol.asyncDispose]());
  expect(await run.result).toMatchObject({ status: "failed", failure: { code: "aborted" } });
});

test("a run that cannot be claimed is refused, and one that is claimed too late is given back", async () => {
  await using store = createMemoryStore();
  const { tools } = desk();
  const first = open(store);
  const { runId: id } = await first.start({ source: "return await tools.ask({})", tools }).result;
  const claimed = Promise.withResolvers<Claimed>();
  const slow = instead(store, { claim: () => claimed.promise });
  const host = open(slow);
  const resolutions = { [`${id}:0`]: { resolution: "yes" } };
  const refused = host.resume({ id, resolutions, tools });
  expect(await inTime(refused.result)).toMatchObject(UNANSWERED);
  claimed.resolve(await store.claim(id, { owner: "the slow one", ms: 60_000 }));
  await untilClaimable(store);
  expect(await first.resume({ id, resolutions, tools }).result).toMatchObject({ value: "yes" });
  await inTime(Promise.all([first, host].map((one) => one[Symbol.asyncDispose]())));
});

test("a host closes although a run that it resumes cannot be claimed", async () => {
  await using store = createMemoryStore();
  const host = open(silent(store, "claim").store);
  const { result } = host.resume({ id: "r", tools: {} });
  await inTime(host[Symbol.asyncDispose]());
  expect(await result).toMatchObject(UNANSWERED);
});

test("a resume that is refused says why, whether the run can be given back or not", async () => {
  await using store = createMemoryStore();
  const { tools } = desk();
  const first = open(store);
  const { runId: id } = await first.start({ source: "return await tools.ask({})", tools }).result;
  const { store: deaf, asked } = silent(store, "release");
  const host = open(deaf);
  const refused = host.resume({ id, tools, resolutions: { "x:0": { resolution: 1 } } });
  const reason = expect(refused.result).resolves.toMatchObject({
    failure: { code: "resume_invalid", message: expect.stringContaining('no call "x:0" is pending') },
  });
  await until(() => asked() > 0);
  await inTime(reason);
  await inTime(Promise.all([first, host].map((one) => one[Symbol.asyncDispose]())));
});
