/** What happens while a run is being given back to its store: it can no longer end in another way. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createHost, type Host, type ToolSet } from "codecell";
import { createMemoryStore, type Store, StoreError } from "codecell/store";
import { afterEach, expect, test, vi } from "vitest";
import { instead, until, untilClaimable } from "./store-doubles.ts";

const sealKey = new Uint8Array(32).fill(23);

afterEach(() => void vi.useRealTimers());

/** A store that takes a run back only when told to. */
function slow(store: Store): {
  readonly store: Store;
  readonly isAsked: () => boolean;
  readonly go: () => void;
} {
  let isAsked = false;
  const gate = Promise.withResolvers<void>();
  const release: Store["release"] = async (claim, next) => {
    isAsked = true;
    await gate.promise;
    await store.release(claim, next);
  };
  return { store: instead(store, { release }), isAsked: () => isAsked, go: gate.resolve };
}

/** `pay` goes on until it is aborted. */
function desk(): { readonly tools: ToolSet; readonly made: string[] } {
  const made: string[] = [];
  const tools: ToolSet = {
    ask: { execute: (_input, call) => call.resolution ?? call.suspend("go on?") },
    pay: {
      execute: (_input, call) => {
        made.push("pay");
        call.signal.addEventListener("abort", () => made.push("aborted"));
        return new Promise(() => {});
      },
    },
  };
  return { tools, made };
}

const source = "return await Promise.all([tools.ask({}), tools.pay({}).catch((error) => error.code)])";

test.each([
  ["its caller aborts it", (_host: Host, abort: AbortController) => abort.abort()],
  ["its host closes", (host: Host) => void host[Symbol.asyncDispose]()],
  ["its time is up", () => void vi.advanceTimersByTime(12_000)],
])("a run is suspended, and its calls go on, when %s meanwhile [store:leave]", async (_what, end) => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  await using store = createMemoryStore();
  const { tools, made } = desk();
  const { store: taking, isAsked, go } = slow(store);
  const host = createHost({ workers: 1, store: taking, sealKey, limits: { wallTimeMs: 10_000 } });
  const abort = new AbortController();
  const run = host.start({ source, tools, signal: abort.signal });
  await until(() => made.length === 1);
  while (!isAsked()) await vi.advanceTimersByTimeAsync(50);
  end(host, abort);
  go();
  expect(await run.result).toMatchObject({ status: "suspended", suspension: { pending: [{ tool: "ask" }] } });
  expect(made).toEqual(["pay"]);
  expect(await store.list({ claimable: true })).toMatchObject([{ id: run.runId }]);
  vi.useRealTimers();
  await host[Symbol.asyncDispose]();
});

test("a run that the store cannot take back is still stored, and can go on elsewhere [store:refuses]", async () => {
  await using store = createMemoryStore();
  const { tools, made } = desk();
  const full = instead(store, { attend: () => Promise.reject(new StoreError("full", "No room")) });
  await using first = createHost({ workers: 1, store: full, sealKey });
  const run = first.start({ source, tools });
  expect(await run.result).toMatchObject({ status: "failed", failure: { code: "store_failed" } });
  await using second = createHost({ workers: 1, store, sealKey });
  const asked = await second.resume({ id: run.runId, tools }).result;
  expect(asked).toMatchObject({ status: "suspended", suspension: { pending: [{ tool: "ask" }] } });
  const resolutions = { [`${run.runId}:0`]: { resolution: "go" } };
  const last = await second.resume({ id: run.runId, resolutions, tools }).result;
  expect(last).toMatchObject({ value: ["go", "outcome_unknown"] });
  expect(made).toEqual(["pay", "aborted"]);
});

test("a run that was opened for a caller who aborts meanwhile is given back, also by a store that is away for a moment [store:leave]", async () => {
  await using store = createMemoryStore();
  const tools: ToolSet = { ask: { execute: (_input, call) => call.resolution ?? call.suspend("go on?") } };
  const abort = new AbortController();
  let isAway = true;
  const faltering = instead(store, {
    claim: async (...given) => {
      const claimed = await store.claim(...given);
      abort.abort();
      return claimed;
    },
    release: async (claim, next) => {
      if (next === undefined && isAway) {
        isAway = false;
        throw new StoreError("unavailable", "away");
      }
      await store.release(claim, next);
    },
  });
  await using host = createHost({ workers: 1, store: faltering, sealKey });
  const { runId, result } = host.start({ source: "return await tools.ask({})", tools });
  const suspended = await result;
  if (suspended.status !== "suspended") throw new Error(suspended.status);
  const [pending] = suspended.suspension.pending;
  const resolutions = { [pending?.callId ?? ""]: { resolution: "yes" } };
  const aborted = await host.resume({ id: runId, tools, resolutions, signal: abort.signal }).result;
  expect(aborted).toMatchObject({ failure: { code: "aborted" } });
  expect(isAway).toBe(false);
  expect(await host.resume({ id: runId, tools, resolutions }).result).toMatchObject({ value: "yes" });
});

test("a run that goes on does not keep the bytes it was resumed from", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  await using store = createMemoryStore();
  const bytes: WeakRef<Uint8Array>[] = [];
  const watched = instead(store, {
    claim: async (...given) => {
      const claimed = await store.claim(...given);
      if (claimed.status !== "claimed") return claimed;
      const state = Uint8Array.from(claimed.run.state);
      bytes.push(new WeakRef(state));
      return { ...claimed, run: { ...claimed.run, state } };
    },
  });
  await using host = createHost({ workers: 1, store: watched, sealKey });
  const begun = Promise.withResolvers<void>();
  const work = Promise.withResolvers<number>();
  const tools: ToolSet = {
    ask: { execute: (_input, call) => call.resolution ?? call.suspend("go on?") },
    work: { execute: () => (begun.resolve(), work.promise) },
  };
  const first = await host.start({ source: "await tools.ask({}); return await tools.work({})", tools })
    .result;
  if (first.status !== "suspended") throw new Error(first.status);
  const [pending] = first.suspension.pending;
  const resolutions = { [pending?.callId ?? ""]: { resolution: "yes" } };
  const resumed = host.resume({ id: first.runId, tools, resolutions });
  await begun.promise;
  await until(() => {
    collect();
    return bytes.every((one) => one.deref() === undefined);
  });
  expect(bytes).toHaveLength(1);
  work.resolve(3);
  expect(await resumed.result).toMatchObject({ value: 3 });
});

test("an output that comes after its run has lost the store is found by whoever goes on with the run [store:refuses]", async () => {
  await using store = createMemoryStore();
  let isFull = false;
  let posted = 0;
  const failing = instead(store, {
    append: (...given) =>
      isFull ? Promise.reject(new StoreError("full", "No room")) : store.append(...given),
    post: async (...given) => {
      const isTaken = await store.post(...given);
      posted++;
      return isTaken;
    },
  });
  const gates = { quick: Promise.withResolvers<string>(), slow: Promise.withResolvers<string>() };
  const made: string[] = [];
  const execute = (name: keyof typeof gates) => () => (made.push(name), gates[name].promise);
  const tools: ToolSet = {
    quick: { readOnly: true, execute: execute("quick") },
    slow: { execute: execute("slow") },
  };
  await using first = createHost({ workers: 1, store: failing, sealKey, leaseMs: 50 });
  const run = first.start({ source: "return await Promise.all([tools.quick({}), tools.slow({})])", tools });
  await until(() => made.length === 2);
  isFull = true;
  gates.quick.resolve("quick");
  expect(await run.result).toMatchObject({ status: "failed", failure: { code: "store_failed" } });
  gates.slow.resolve("late");
  await until(() => posted === 1);
  await untilClaimable(store);
  await using second = createHost({ workers: 1, store, sealKey });
  expect(await second.resume({ id: run.runId, tools }).result).toMatchObject({ value: ["quick", "late"] });
  expect(made).toEqual(["quick", "slow", "quick"]);
});
