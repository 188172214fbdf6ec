/** Runs survive a store that fails now and then, and processes that died at a bad moment. */
import { createHost, type Host, type ToolSet } from "codecell";
import { createMemoryStore, type Store, StoreError } from "codecell/store";
import { afterEach, expect, test, vi } from "vitest";
import { instead, mortal, until, untilClaimable } from "./store-doubles.ts";

const sealKey = new Uint8Array(32).fill(5);

afterEach(() => vi.useRealTimers());

function open(store: Store): Host {
  return createHost({ workers: 1, store, sealKey, limits: { wallTimeMs: 20_000 } });
}

test("a write that the store refuses for a moment is made later, in its place", async () => {
  await using store = createMemoryStore();
  let refusals = 0;
  const faltering = instead(store, {
    append: (claim, entries) => {
      if (refusals++ % 2 === 0) return Promise.reject(new StoreError("unavailable", "Locked"));
      return store.append(claim, entries);
    },
  });
  const made: unknown[] = [];
  const tools: ToolSet = {
    note: { execute: (input) => made.push(input) },
    look: { readOnly: true, execute: () => new Promise(() => {}) },
  };
  const source = `
    const notes = await Promise.all([1, 2, 3].map((n) => tools.note(n)));
    return [notes.length, await tools.look({})];`;
  const first = open(faltering);
  const run = first.start({ source, tools });
  // The fourth call was dispatched, so everything before it is in the store.
  await until(() => run.ledger().calls.length === 4 && refusals >= 6);
  await first[Symbol.asyncDispose]();
  await using second = open(store);
  const seen: ToolSet = { ...tools, look: { readOnly: true, execute: () => "seen" } };
  const resumed = second.resume({ id: run.runId, tools: seen });
  expect(await resumed.result).toMatchObject({ status: "completed", value: [3, "seen"] });
  expect(made).toEqual([1, 2, 3]);
});

test("a timer that fires while the program ends does not hold the run up", async () => {
  await using store = createMemoryStore();
  const gate = Promise.withResolvers<void>();
  let appends = 0;
  const slow = instead(store, {
    append: async (claim, entries) => {
      await store.append(claim, entries);
      // The last appends, which are being written when the program is over.
      if (++appends > 2) await gate.promise;
    },
  });
  await using host = open(slow);
  const run = host.start({
    source: `
      setTimeout(() => {}, 40);
      let spent = 0;
      await new Promise((resolve) => setTimeout(resolve, 0));
      for (let i = 0; i < 4e6; i++) spent++;
      console.log("over");
      return spent;`,
  });
  for await (const { type } of run.events) {
    // This comes in the turn that also learns of the end.
    if (type === "log") gate.resolve();
  }
  expect(await run.result).toMatchObject({ status: "completed", value: 4e6 });
  expect(await store.list()).toEqual([]);
});

/** Asks late: only after another call has suspended the run. */
function lateAsker(): { readonly tools: ToolSet; readonly paid: unknown[]; readonly letAsk: () => void } {
  const paid: unknown[] = [];
  const gate = Promise.withResolvers<void>();
  return {
    paid,
    letAsk: gate.resolve,
    tools: {
      ask: { execute: (_input, call) => call.resolution ?? call.suspend("go on?") },
      pay: {
        execute: async (_input, call) => {
          if (call.resolution === undefined) {
            await gate.promise;
            call.suspend("pay?");
          }
          paid.push(call.resolution);
          return call.resolution === "slowly" ? new Promise(() => {}) : "paid";
        },
      },
    },
  };
}

const BOTH = `
  const settled = await Promise.allSettled([tools.ask({}), tools.pay({})]);
  return settled.map((one) => one.value ?? one.reason.code);`;

async function suspendBoth(
  host: Host,
  store: Store,
  asker: ReturnType<typeof lateAsker>,
  source: string = BOTH,
): Promise<string> {
  const { runId: id, status } = await host.start({ source, tools: asker.tools }).result;
  expect(status).toBe("suspended");
  asker.letAsk();
  await until(async () => (await store.outcomes(id))?.size === 1);
  return id;
}

test("a call that asked late and was answered is not pending again after a crash [store:asked-once]", async () => {
  await using store = createMemoryStore();
  const asker = lateAsker();
  const { paid } = asker;
  let isAnswered = false;
  const tools: ToolSet = {
    ...asker.tools,
    // Called when the program has seen the first answer, which the store has by then.
    seen: { readOnly: true, execute: () => ((isAnswered = true), null) },
  };
  const source = BOTH.replace(
    "tools.ask({})",
    "tools.ask({}).then(async (yes) => (await tools.seen({}), yes))",
  );
  await using first = open(store);
  const id = await suspendBoth(first, store, { ...asker, tools }, source);
  const { store: dying, die } = mortal(store);
  const second = createHost({ workers: 1, store: dying, sealKey, leaseMs: 50 });
  const yes = { [`${id}:0`]: { resolution: "yes" } };
  const resolutions = { ...yes, [`${id}:1`]: { resolution: "slowly" } };
  void second.resume({ id, resolutions, tools }).result;
  await until(() => paid.length === 1 && isAnswered);
  die();
  await untilClaimable(store);
  await using third = open(store);
  expect(await third.resume({ id, tools }).result).toMatchObject({ value: ["yes", "outcome_unknown"] });
  expect(paid).toEqual(["slowly"]);
});

test("a call that asked late, was answered and still executes at the next suspension does not ask again [store:asked-once]", async () => {
  await using store = createMemoryStore();
  const asker = lateAsker();
  const gate = Promise.withResolvers<void>();
  let paid = 0;
  const tools: ToolSet = {
    ...asker.tools,
    pay: {
      execute: async (input, call) => {
        if (call.resolution === undefined) return asker.tools["pay"]?.execute(input, call);
        paid++;
        await gate.promise;
        return "paid";
      },
    },
  };
  await using host = open(store);
  const id = await suspendBoth(host, store, { ...asker, tools });
  const second = await host.resume({ id, resolutions: { [`${id}:1`]: { resolution: "yes" } }, tools }).result;
  expect(second).toMatchObject({ status: "suspended", suspension: { pending: [{ tool: "ask" }] } });
  gate.resolve();
  const third = await host.resume({ id, resolutions: { [`${id}:0`]: { resolution: "yes" } }, tools }).result;
  expect(third).toMatchObject({ status: "completed", value: ["yes", "paid"] });
  expect(paid).toBe(1);
});

test("a denied call is denied again after a crash, and its tool is never called", async () => {
  await using store = createMemoryStore();
  let approved = 0;
  const tools: ToolSet = {
    pay: {
      execute: (_input, call) => {
        if (call.resolution === undefined) call.suspend("pay?");
        return ++approved;
      },
    },
  };
  await using first = open(store);
  const source = "return await tools.pay({}).catch((error) => error.code)";
  const { runId: id } = await first.start({ source, tools }).result;
  const { store: dying, die } = mortal(store);
  const death = Promise.withResolvers<void>();
  const dispatched = instead(dying, {
    append: async (claim, entries) => {
      await dying.append(claim, entries);
      die();
      death.resolve();
    },
  });
  const second = createHost({ workers: 1, store: dispatched, sealKey, leaseMs: 50 });
  void second.resume({ id, resolutions: { [`${id}:0`]: { deny: "no" } }, tools }).result;
  await death.promise;
  await untilClaimable(store);
  await using third = open(store);
  expect(await third.resume({ id, tools }).result).toMatchObject({ status: "completed", value: "denied" });
  expect(approved).toBe(0);
});

test("waiting for another process survives a store that fails now and then, and ends with the run", async () => {
  await using store = createMemoryStore();
  const gate = Promise.withResolvers<string>();
  const tools: ToolSet = {
    ask: { execute: (_input, call) => call.resolution ?? call.suspend("go on?") },
    pay: { execute: () => gate.promise },
  };
  await using first = open(store);
  const { runId: id } = await first.start({ source: BOTH, tools }).result;
  let watched = 0;
  let refusals = 0;
  const faltering = instead(store, {
    watch: async (run, onChange) => {
      const unwatch = await store.watch(run, onChange);
      watched++;
      return () => {
        watched--;
        unwatch();
      };
    },
    outcomes: (run) => {
      if (refusals++ === 0) return Promise.reject(new StoreError("unavailable", "Locked"));
      return store.outcomes(run);
    },
  });
  await using second = open(faltering);
  const wrong = second.resume({ id, resolutions: { "x:0": { resolution: 1 } }, tools });
  expect(await wrong.result).toMatchObject({
    failure: { code: "resume_invalid", message: expect.stringContaining("no call") },
  });
  const right = second.resume({ id, resolutions: { [`${id}:0`]: { resolution: "yes" } }, tools });
  await until(() => refusals > 1);
  gate.resolve("paid");
  expect(await right.result).toMatchObject({ status: "completed", value: ["yes", "paid"] });
  await until(() => watched === 0);
});

const ALL = `
  const settled = await Promise.allSettled([tools.ask({}), tools.pay({}), tools.look({})]);
  return settled.map((one) => one.value ?? one.reason.code);`;

test("calls whose executor died are made again if their tools allow it, otherwise their outcome is unknown [store:executor]", async () => {
  await using store = createMemoryStore();
  const made: string[] = [];
  const call = (name: string): unknown => {
    made.push(name);
    // In the first process these calls never end.
    return made.length > 2 ? "seen" : new Promise(() => {});
  };
  const tools: ToolSet = {
    ask: { execute: (_input, { resolution, suspend }) => resolution ?? suspend("go on?") },
    pay: { execute: () => call("pay") },
    look: { readOnly: true, execute: () => call("look") },
  };
  const { store: dying, die } = mortal(store);
  const first = createHost({ workers: 1, store: dying, sealKey, leaseMs: 100 });
  const { runId: id, status } = await first.start({ source: ALL, tools }).result;
  expect(status).toBe("suspended");
  die();
  await using second = createHost({ workers: 1, store, sealKey, leaseMs: 100 });
  const resumed = await second.resume({ id, resolutions: { [`${id}:0`]: { resolution: "yes" } }, tools })
    .result;
  expect(resumed).toMatchObject({ status: "completed", value: ["yes", "outcome_unknown", "seen"] });
  expect(made).toEqual(["pay", "look", "look"]);
  expect(await store.list()).toEqual([]);
});

test("a run waits for an executor as long as it attends, over several leases [store:executor]", async () => {
  await using store = createMemoryStore();
  const gate = Promise.withResolvers<string>();
  let attended = 0;
  let executor = "";
  const counted = instead(store, {
    attend: (id, ms) => {
      executor = id;
      if (ms > 0) attended++;
      return store.attend(id, ms);
    },
  });
  const tools: ToolSet = {
    ask: { execute: (_input, call) => call.resolution ?? call.suspend("go on?") },
    pay: { execute: () => gate.promise },
  };
  await using first = createHost({ workers: 1, store: counted, sealKey, leaseMs: 3000 });
  const { runId: id } = await first.start({ source: BOTH, tools }).result;
  expect(attended).toBe(1);
  await using second = createHost({ workers: 1, store, sealKey, leaseMs: 150 });
  const resumed = second.resume({ id, resolutions: { [`${id}:0`]: { resolution: "yes" } }, tools });
  await until(() => attended === 2);
  gate.resolve("paid");
  expect(await resumed.result).toMatchObject({ status: "completed", value: ["yes", "paid"] });
  // An executor with nothing left to execute no longer attends.
  await until(async () => !(await store.attends(executor)));
});

test("a cell that sleeps is kept in the store, and goes on from there in another process [store:sleep]", async () => {
  await using store = createMemoryStore();
  const gate = Promise.withResolvers<string>();
  const tools: ToolSet = {
    load: { execute: () => "x".repeat(20_000) },
    look: { readOnly: true, execute: () => gate.promise },
  };
  const { store: dying, die } = mortal(store);
  const saved = Promise.withResolvers<void>();
  const watched = instead(dying, {
    saveSnapshot: async (claim, snapshot) => {
      await dying.saveSnapshot(claim, snapshot);
      saved.resolve();
    },
  });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const first = createHost({ workers: 1, store: watched, sealKey, leaseMs: 100 });
  const source = `
    const { length } = await tools.load({});
    return length + (await tools.look({}));`;
  const { runId: id, ledger } = first.start({ source, tools });
  await until(() => ledger().calls.length === 2);
  // The timer is set by the report that made the second call, at the latest one turn later.
  await new Promise(setImmediate);
  vi.advanceTimersByTime(10_000);
  vi.useRealTimers();
  await saved.promise;
  die();
  await untilClaimable(store);
  let snapshot: Uint8Array | undefined;
  const claimed = instead(store, {
    claim: async (...given) => {
      const answer = await store.claim(...given);
      if (answer.status === "claimed") ({ snapshot } = answer.run);
      return answer;
    },
  });
  await using second = open(claimed);
  const resumed = second.resume({ id, tools });
  gate.resolve("!");
  expect(await resumed.result).toMatchObject({ status: "completed", value: "20000!" });
  expect(snapshot?.length).toBeGreaterThan(1000);
});

test("a host that closes while it resumes a run leaves the run to others [store:leave]", async () => {
  await using store = createMemoryStore();
  const tools: ToolSet = { ask: { execute: (_input, call) => call.resolution ?? call.suspend("go on?") } };
  await using first = open(store);
  const { runId: id } = await first.start({ source: "return await tools.ask({})", tools }).result;
  const closing = open(store);
  const resolutions = { [`${id}:0`]: { resolution: "yes" } };
  const refused = closing.resume({ id, resolutions, tools }).result;
  await closing[Symbol.asyncDispose]();
  expect(await refused).toMatchObject({ status: "failed", failure: { code: "aborted" } });
  const again = await first.resume({ id, resolutions, tools }).result;
  expect(again).toMatchObject({ status: "completed", value: "yes" });
});
