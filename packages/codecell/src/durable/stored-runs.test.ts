/** Tests of what a run keeps when processes that took it up die. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { CellSnapshot } from "../protocol/messages.ts";
import { resolveLimits } from "../contract/limits.ts";
import { type Store, StoreError } from "../contract/store.ts";
import { createMemoryStore } from "../store/memory.ts";
import { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import type { RunAtRest } from "./suspended-run.ts";
import { StoredBytes } from "./stored-bytes.ts";
import { Suspender } from "./suspender.ts";
import { Vault } from "../seal/vault.ts";
import { openRun, takeRun, type TakenRun, TERMS } from "../../../../test/taken-run.ts";
import { StoredRuns } from "./stored-runs.ts";

const LEASE_MS = 1000;
const limits = resolveLimits({ wallTimeMs: 60_000, suspensionTimeMs: 10_000 });
const REST: RunAtRest = {
  pending: new Map(),
  timers: [{ timer: 1, delayMs: 5000 }],
  executing: new Map(),
  abort: new AbortController(),
  resolutions: [],
  snapshot: undefined,
};

let store: Store;
let runs: StoredRuns;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "setInterval", "clearInterval"], now: 1_000_000 });
  store = createMemoryStore();
  runs = new StoredRuns(store, new Vault({ sealKey: new Uint8Array(32).fill(1) }), LEASE_MS);
});
afterEach(() => vi.useRealTimers());

function newRecorder(): LedgerRecorder {
  return new LedgerRecorder({
    runId: "r",
    source: "",
    language: "javascript",
    seed: "ab",
    clock: 1,
    limits,
    toolNames: [],
    features: {},
  });
}

async function suspended(rest = REST): Promise<void> {
  expect(await runs.keep(newRecorder(), TERMS).suspend(rest)).toHaveProperty("token");
}

function take(): Promise<TakenRun> {
  return takeRun(runs, "r");
}

/** Time passes, and nobody renews a lease. */
function die(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
}

const SNAPSHOT: CellSnapshot = { bytes: new Uint8Array(9), progress: newRecorder().progress };

describe.each([
  ["as a new state", REST],
  ["by a last entry", { ...REST, snapshot: SNAPSHOT }],
])("timers of a run that is suspended %s", (_, rest) => {
  test("stand still while it is suspended, and run on after the process that took it up has died", async () => {
    await suspended(rest);
    die(8000);
    const first = await take();
    expect(first.past.timers).toEqual([{ timer: 1, delayMs: 5000 }]);
    // The entry of `take` is durable when this entry is.
    await first.journal.write({
      kind: "report",
      at: 0,
      calls: [],
      timers: [],
      seen: first.past.recorder.seen,
    });
    die(2000);
    const second = await take();
    expect(second.past.timers).toEqual([{ timer: 1, delayMs: 3000 }]);
    die(4000);
    expect((await take()).past.timers).toEqual([{ timer: 1, delayMs: 0 }]);
  });
});

describe("expiry", () => {
  test("is moved when a run is taken up shortly before it", async () => {
    await suspended();
    die(9000);
    await take();
    while ((await store.list())[0]?.expiresAt !== Date.now() + 70_000) await new Promise(setImmediate);
    die(60_000);
    await take();
  });

  test("ends a run that nobody took up", async () => {
    await suspended();
    die(10_001);
    expect(await openRun(runs, "r")).toMatchObject({ code: "run_unknown" });
  });
});

describe("a saved snapshot", () => {
  const progress = { deliveries: 0, calls: 0, timers: 0, logs: 0 };
  const bytes = new Uint8Array(5000).fill(7);

  test("is where the next process goes on", async () => {
    await suspended();
    const first = await take();
    expect(first.past.snapshot).toBeUndefined();
    expect(await first.journal.saveSnapshot({ bytes, progress })).toBe(true);
    expect(await first.journal.loadSnapshot()).toEqual({ bytes, progress });
    die(2000);
    expect((await take()).past.snapshot).toEqual({ bytes, progress });
    // A process that comes too late is refused, without harm.
    expect(await first.journal.saveSnapshot({ bytes, progress })).toBe(false);
    expect(await first.journal.loadSnapshot()).toBeUndefined();
  });

  test("is not kept if the entries before it are not", async () => {
    await suspended();
    const first = await take();
    vi.spyOn(store, "append").mockRejectedValueOnce(new StoreError("full", "No room"));
    const report = first.journal.write({
      kind: "report",
      at: 0,
      calls: [],
      timers: [],
      seen: first.past.recorder.seen,
    });
    expect(await first.journal.saveSnapshot({ bytes, progress: { ...progress, timers: 1 } })).toBe(false);
    await expect(report).rejects.toThrow("No room");
    die(2000);
    expect((await take()).past.snapshot).toBeUndefined();
  });

  test("is not used if it would hide log lines from whoever takes the run up", async () => {
    await suspended();
    await (await take()).journal.saveSnapshot({ bytes, progress: { ...progress, logs: 1 } });
    die(2000);
    expect((await take()).past.snapshot).toBeUndefined();
  });

  test("that was altered, or belongs to another run, is refused [suspend:tampered]", async () => {
    await suspended();
    const { journal } = await take();
    await journal.saveSnapshot({ bytes, progress });
    for (const alter of [
      (sealed: Uint8Array) => sealed.with(sealed.length - 40, (sealed.at(-40) ?? 0) ^ 1),
      () => new Uint8Array(100),
    ]) {
      die(2000);
      const claimed = await store.claim("r", { owner: "", ms: 0 });
      if (claimed.status !== "claimed" || claimed.run.snapshot === undefined) throw new Error("Not there");
      const original = claimed.run.snapshot;
      await store.saveSnapshot(claimed.claim, alter(original));
      const refused = await openRun(runs, "r");
      expect(refused).toMatchObject({ code: "token_invalid" });
      const again = await store.claim("r", { owner: "", ms: 0 });
      if (again.status !== "claimed") throw new Error("Not released");
      await store.saveSnapshot(again.claim, original);
    }
    expect((await take()).past.snapshot).toEqual({ bytes, progress });
  });
});

test("an outcome sealed with a missing key does not count as no outcome [suspend:lost]", async () => {
  const recorder = newRecorder();
  recorder.read({
    cell: 1,
    calls: [{ tool: "t", input: "null" }],
    timers: [],
    logs: [],
    logsDropped: 0,
    cpuTimeMs: 0,
    end: null,
    unhandled: null,
    isOver: false,
  });
  const executing = new Map([[0, undefined]]);
  await runs.keep(recorder, TERMS).suspend({ ...REST, timers: [], executing });
  const { past, keeping } = await take();
  const outcome = keeping.awaitOutcome(0, past.elsewhere.get(0)?.executor ?? "", () => false);
  const stranger = new StoredBytes(new Vault({ sealKey: new Uint8Array(32).fill(2) }));
  await store.post("r", 0, await stranger.sealOutcome("r", { kind: "output", call: 0, output: "1" }));
  await expect(outcome).rejects.toMatchObject({ code: "token_key" });
});

test("a fork with a large past is kept like any other run [ledger:fork]", async () => {
  const calls = [{ tool: "t", input: JSON.stringify("x".repeat(100_000)) }];
  const forked = (): LedgerRecorder => new LedgerRecorder(newRecorder().header, { calls, deliveries: [] });
  const { journal } = runs.keep(forked(), TERMS);
  // Written after the run was put, which takes several turns.
  await journal.write({ kind: "report", at: 0, calls, timers: [], seen: forked().seen });
  await journal.release();
  expect((await take()).past.recorder.calls).toEqual([...calls, ...calls]);
  die(2 * LEASE_MS);
  const claimed = await store.claim("r", { owner: "", ms: LEASE_MS });
  if (claimed.status === "claimed") await store.delete(claimed.claim);
  await runs.keep(forked(), TERMS).suspend({ ...REST, snapshot: SNAPSHOT });
  expect((await take()).past.recorder.calls).toEqual(calls);
});

test("one watch and one reading serve all calls that wait for their executor [store:executor]", async () => {
  const calls = Array.from({ length: 20 }, () => ({ tool: "t", input: "null" }));
  const recorder = new LedgerRecorder(newRecorder().header, { calls, deliveries: [] });
  const executing = new Map(calls.map((_, call) => [call, undefined]));
  const first = runs.keep(recorder, TERMS);
  await first.suspend({ ...REST, timers: [], executing });
  const { past, keeping } = await take();
  const [watch, read] = [vi.spyOn(store, "watch"), vi.spyOn(store, "outcomes")];
  const awaited = [...past.elsewhere].map(([call, { executor }]) =>
    keeping.awaitOutcome(call, executor, () => false),
  );
  const outputs = calls.map((_, call) => ({ kind: "output", call, output: `${call}` }) as const);
  for (const output of outputs) first.takeLate(output);
  expect(await Promise.all(awaited)).toEqual(outputs);
  expect(watch).toHaveBeenCalledTimes(1);
  // One when the calls begin to wait, and at most one for each outcome.
  expect(read.mock.calls.length).toBeLessThanOrEqual(1 + calls.length);
});

describe("an expiry", () => {
  /** As anybody can who writes to the database. */
  async function prolong(ms: number): Promise<void> {
    const claimed = await store.claim("r", { owner: "m", ms: 0 });
    if (claimed.status !== "claimed") throw new Error(claimed.status);
    await store.renew(claimed.claim, 0, Date.now() + ms);
    await store.release(claimed.claim);
  }

  test("that is later in the store than in the seal is not trusted [suspend:expiry]", async () => {
    await suspended({ ...REST, timers: [] });
    await prolong(10 * limits.suspensionTimeMs);
    die(limits.suspensionTimeMs);
    // Just in time, and given back.
    await (await take()).journal.release();
    die(1);
    expect(await openRun(runs, "r")).toMatchObject({ code: "run_unknown" });
    const vault = new Vault({ sealKey: new Uint8Array(32).fill(1) });
    expect(await new Suspender(vault, store, LEASE_MS).discard({ id: "r" }, "")).toBe(false);
  });

  test("that moved when the run was taken up holds after a crash, and not longer [suspend:expiry]", async () => {
    await suspended({ ...REST, timers: [] });
    const { suspensionTimeMs, wallTimeMs } = limits;
    die(suspensionTimeMs - 1);
    await take();
    const moved = Date.now() + wallTimeMs + suspensionTimeMs;
    while ((await store.list())[0]?.expiresAt !== moved) await new Promise(setImmediate);
    die(LEASE_MS + 1000);
    await prolong(100 * suspensionTimeMs);
    await (await take()).journal.release();
    die(wallTimeMs + suspensionTimeMs + 1000);
    expect(await openRun(runs, "r")).toMatchObject({ code: "run_unknown" });
  });
});

describe("a journal", () => {
  const vault = new Vault({ sealKey: new Uint8Array(32).fill(1) });

  test("whose entries were sealed one by one, as in earlier versions, is refused as of another version", async () => {
    await suspended();
    const claimed = await store.claim("r", { owner: "", ms: 0 });
    if (claimed.status !== "claimed") throw new Error("Not there");
    const opened = await new StoredBytes(vault).open(claimed.run);
    if ("code" in opened) throw new Error(opened.message);
    const content = new TextEncoder().encode(JSON.stringify({ kind: "taken", at: 1 }));
    const sealable = { header: new Uint8Array(), content };
    await store.append(claimed.claim, [vault.sealer.sealBytes(sealable, `r:${opened.state.id}:0`)]);
    const refused = await openRun(runs, "r");
    expect(refused).toMatchObject({ code: "token_version" });
  });

  test.each([
    ["lost one in the middle", ([first, , ...rest]: Uint8Array[]) => [first, ...rest]],
    ["has one twice", ([first, ...rest]: Uint8Array[]) => [first, first, ...rest]],
    ["is in another order", (entries: Uint8Array[]) => entries.toReversed()],
  ])("that %s is refused [suspend:tampered]", async (_, alter) => {
    const recorder = newRecorder();
    const keeping = runs.keep(recorder, TERMS);
    for (const at of [1, 2]) {
      await keeping.journal.write({ kind: "report", at, calls: [], timers: [], seen: recorder.seen });
    }
    await keeping.suspend({ ...REST, snapshot: SNAPSHOT });
    const altering: Store = {
      ...store,
      claim: async (...given) => {
        const claimed = await store.claim(...given);
        if (claimed.status !== "claimed") return claimed;
        const altered = alter([...claimed.run.journal]).filter((one) => one !== undefined);
        return { ...claimed, run: { ...claimed.run, journal: altered } };
      },
    };
    const others = new StoredRuns(altering, vault, LEASE_MS);
    expect(await openRun(others, "r")).toMatchObject({ code: "token_invalid" });
    // Unaltered, the run goes on.
    expect((await take()).past.timers).toEqual(REST.timers);
  });
});

describe("a call that this process executes for an earlier suspension", () => {
  const call = { tool: "pay", input: "{}" };
  const recorder = (): LedgerRecorder =>
    new LedgerRecorder(newRecorder().header, { calls: [call], deliveries: [] });
  const given = (executor?: string): RunAtRest => ({ ...REST, executing: new Map([[0, executor]]) });
  const output = { kind: "output", call: 0, output: "1" } as const;

  async function takeExecuting(): Promise<TakenRun & { readonly executor: string }> {
    await runs.keep(recorder(), TERMS).suspend(given());
    const taken = await take();
    return { ...taken, executor: taken.past.elsewhere.get(0)?.executor ?? "" };
  }

  test("is not announced again if it has ended meanwhile", async () => {
    const { keeping, executor } = await takeExecuting();
    keeping.takeLate(output);
    while (await store.attends(executor)) await new Promise(setImmediate);
    expect(await keeping.suspend(given(executor))).toHaveProperty("token");
    expect(await store.attends(executor)).toBe(false);
    expect((await take()).past.items).toEqual([output]);
  });

  test("is still executed if the run cannot be suspended again here", async () => {
    const { keeping, executor } = await takeExecuting();
    vi.spyOn(store, "release").mockRejectedValueOnce(new StoreError("stale_claim", "Taken"));
    expect(await keeping.suspend(given(executor))).toMatchObject({ code: "run_taken" });
    await new Promise(setImmediate);
    expect(await store.attends(executor)).toBe(true);
  });
});

test("a request with another scope does not delay the owner [suspend:scope]", async () => {
  await suspended();
  const other = openRun(runs, "r", "other");
  const own = await take();
  expect(own.past.recorder.header.runId).toBe("r");
  expect(await other).toMatchObject({ code: "run_unknown" });
});

test.each([["a lone \ud800"], ["a NUL \0"], ["é".repeat(1000)], ["x".repeat(2000)]])(
  "a text that no store can keep is refused as a scope, and is not a run's id",
  async (text) => {
    expect(() => runs.keep(newRecorder(), { ...TERMS, scope: text })).toThrow(
      "Cannot keep a run of this scope",
    );
    for (const [id, scope] of [
      [text, ""],
      ["", ""],
      ["r", text],
    ] as const) {
      expect(await openRun(runs, id, scope)).toMatchObject({ code: "run_unknown" });
    }
  },
);
