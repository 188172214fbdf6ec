/** Runs that a store keeps: they outlive their host. */
import { createHost, type Host, type RunResult, type ToolSet } from "codecell";
import { createMemoryStore, type Store } from "codecell/store";
import { describe, expect, test } from "vitest";

const sealKey = new Uint8Array(32).fill(5);

/** A host as another process would have it: its own workers and leases, the same store and key. */
function open(store: Store, leaseMs = 60_000): Host {
  return createHost({ workers: 1, store, sealKey, leaseMs });
}

/** A tool that counts its calls and is answered from outside. */
function gate(): {
  readonly tools: ToolSet;
  readonly made: string[];
  readonly answer: (value: unknown) => void;
} {
  const made: string[] = [];
  const waiting: ((value: unknown) => void)[] = [];
  const wait = (name: string) => () => {
    made.push(name);
    return new Promise((resolve) => {
      waiting.push(resolve);
    });
  };
  return {
    made,
    answer: (value) => waiting.shift()?.(value),
    tools: {
      pay: { execute: wait("pay") },
      look: { readOnly: true, execute: wait("look") },
      quick: {
        execute: () => {
          made.push("quick");
          return made.length;
        },
      },
      ask: {
        execute: (_input, call) => {
          if (call.resolution === undefined) call.suspend({ ask: call.callId });
          made.push("ask");
          return call.resolution;
        },
      },
    },
  };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

function codeOf(result: RunResult): string {
  return result.status === "failed" ? result.failure.code : result.status;
}

describe("runs in a store", () => {
  test("an ended run leaves nothing behind [store:nothing-left]", async () => {
    await using store = createMemoryStore();
    await using host = open(store);
    const { tools } = gate();
    const results = [
      host.start({ source: "return await tools.quick({})", tools }),
      host.start({ source: "throw new Error('x')", tools }),
      host.start({ source: "return await new Promise(() => {})", tools }),
    ].map(({ result }) => result);
    expect((await Promise.all(results)).map(codeOf)).toEqual(["completed", "guest_error", "deadlock"]);
    expect(await store.list()).toEqual([]);
  });

  test("a suspended run is resumed by another host, by its token or its id [store:suspend]", async () => {
    await using store = createMemoryStore();
    const { tools, made } = gate();
    const source = "const n = await tools.quick({}); return [n, await tools.ask({ n })]";
    const ids: string[] = [];
    const tokens: string[] = [];
    {
      await using first = open(store);
      for (let n = 0; n < 2; n++) {
        const result = await first.start({ source, tools }).result;
        if (result.status !== "suspended") throw new Error(JSON.stringify(result));
        ids.push(result.runId);
        tokens.push(result.suspension.token);
        expect(result.suspension.pending).toMatchObject([
          { tool: "ask", payload: { ask: `${result.runId}:1` } },
        ]);
      }
    }
    await using second = open(store);
    const resolutions = (n: number) => ({ [`${ids[n]}:1`]: { resolution: "yes" } });
    const byToken = second.resume({ token: tokens[0], resolutions: resolutions(0), tools });
    expect(await byToken.result).toMatchObject({ status: "completed", value: [1, "yes"] });
    const byId = second.resume({ id: ids[1], resolutions: resolutions(1), tools });
    expect(await byId.result).toMatchObject({ status: "completed", value: [2, "yes"] });
    expect(made).toEqual(["quick", "quick", "ask", "ask"]);
    expect(codeOf(await second.resume({ token: tokens[0], resolutions: resolutions(0), tools }).result)).toBe(
      "run_unknown",
    );
    expect(await store.list()).toEqual([]);
  });

  test("exactly one of two processes that resume a run at once goes on [store:one-claimant]", async () => {
    await using store = createMemoryStore();
    await using one = open(store);
    await using other = open(store);
    const { tools, made } = gate();
    const first = await one.start({ source: "return await tools.ask({})", tools }).result;
    const options = {
      id: first.runId,
      resolutions: { [`${first.runId}:0`]: { resolution: 1 } },
      tools,
    };
    const results = await Promise.all([one.resume(options).result, other.resume(options).result]);
    expect(results.map(codeOf).sort()).toEqual(["completed", "run_held"]);
    expect(made).toEqual(["ask"]);
  });

  test("a wrong call id or scope changes nothing", async () => {
    await using store = createMemoryStore();
    await using host = open(store);
    const { tools } = gate();
    const { runId } = await host.start({ source: "return await tools.ask({})", tools, scope: "ana" }).result;
    const resolutions = { [`${runId}:0`]: { resolution: 1 } };
    const scope = "ana";
    const strange = { id: runId, resolutions: { "x:0": { resolution: 1 } }, tools, scope };
    expect(await host.resume(strange).result).toMatchObject({
      failure: { code: "resume_invalid", message: expect.stringContaining("no call") },
    });
    expect(codeOf(await host.resume({ id: runId, resolutions, tools }).result)).toBe("run_unknown");
    expect(codeOf(await host.resume({ id: runId, resolutions, tools, scope }).result)).toBe("completed");
  });

  test("a host that closes leaves its runs to others [store:leave]", async () => {
    await using store = createMemoryStore();
    const { tools, made, answer } = gate();
    const first = open(store);
    const source = "const a = await tools.quick({}); const b = await tools.look({}); return [a, b]";
    const run = first.start({ source, tools });
    await until(() => made.includes("look"));
    await first[Symbol.asyncDispose]();
    expect(codeOf(await run.result)).toBe("aborted");
    await using second = open(store);
    const resumed = second.resume({ id: run.runId, tools });
    await until(() => made.filter((name) => name === "look").length === 2);
    answer("late");
    answer("seen");
    expect(await resumed.result).toMatchObject({ status: "completed", value: [1, "seen"] });
    expect(made).toEqual(["quick", "look", "look"]);
    expect(await store.list()).toEqual([]);
  });

  test("a process that lost its run stops, and the other goes on [store:fencing]", async () => {
    await using store = createMemoryStore();
    const { tools, made, answer } = gate();
    // A lease that ends at once and is not renewed, as if the process had been stopped.
    const unrenewed = Object.create(store, { renew: { value: () => Promise.resolve() } }) as Store;
    await using slow = open(unrenewed, 1);
    const run = slow.start({ source: "return [await tools.look({}), await tools.quick({})]", tools });
    await until(() => made.length === 1);
    await using quick = open(store);
    const changedAt = (await store.list())[0]?.changedAt ?? 0;
    await until(() => Date.now() > changedAt + 1);
    const resumed = quick.resume({ id: run.runId, tools });
    await until(() => made.length === 2);
    answer("of the first");
    expect(codeOf(await run.result)).toBe("run_taken");
    answer("of the second");
    expect(await resumed.result).toMatchObject({ status: "completed", value: ["of the second", 3] });
    expect(made).toEqual(["look", "look", "quick"]);
  });

  test("a call with an unknown outcome fails in the program, unless its tool may be called again [store:unknown]", async () => {
    await using store = createMemoryStore();
    const { tools, made, answer } = gate();
    const first = open(store);
    const source = `
      const settled = await Promise.allSettled([tools.pay({}), tools.look({})]);
      return settled.map((one) => one.value ?? one.reason.code);`;
    const run = first.start({ source, tools });
    await until(() => made.length === 2);
    await first[Symbol.asyncDispose]();
    await using second = open(store);
    const resumed = second.resume({ id: run.runId, tools });
    await until(() => made.length === 3);
    answer("nobody listens");
    answer("nobody listens");
    answer("again");
    expect(await resumed.result).toMatchObject({ value: ["outcome_unknown", "again"] });
    expect(made).toEqual(["pay", "look", "look"]);
  });

  test("a store that refuses ends the run before anything is called [store:refuses]", async () => {
    const store = createMemoryStore();
    await store[Symbol.asyncDispose]();
    await using host = open(store);
    const { tools, made } = gate();
    const result = await host.start({ source: "return await tools.quick({})", tools }).result;
    expect(codeOf(result)).toBe("store_failed");
    expect(made).toEqual([]);
  });

  test("timers and the clock go on where they stopped", async () => {
    await using store = createMemoryStore();
    const { tools, made, answer } = gate();
    const first = open(store);
    const source = `
      let ticks = 0;
      const id = setInterval(() => ticks++, 1);
      await new Promise((resolve) => setTimeout(resolve, 5));
      const early = ticks;
      await tools.look({});
      clearInterval(id);
      return early > 0 && ticks >= early;`;
    const run = first.start({ source, tools });
    await until(() => made.length === 1);
    await first[Symbol.asyncDispose]();
    await using second = open(store);
    const resumed = second.resume({ id: run.runId, tools });
    await until(() => made.length === 2);
    answer(0);
    answer(0);
    expect(await resumed.result).toMatchObject({ status: "completed", value: true });
  });

  test("a call that executes when its run is suspended goes on, and its outcome is kept for it [store:late]", async () => {
    await using store = createMemoryStore();
    await using first = open(store);
    const { tools, made, answer } = gate();
    const source = "return await Promise.all([tools.ask({}), tools.pay({})])";
    const ids: string[] = [];
    // One after the other: the first answer is for the first run.
    for (let run = 0; run < 2; run++) {
      const result = await first.start({ source, tools }).result;
      expect(result).toMatchObject({ status: "suspended", suspension: { pending: [{ tool: "ask" }] } });
      ids.push(result.runId);
    }
    const resolved = (n: number) => ({
      id: ids[n],
      resolutions: { [`${ids[n]}:0`]: { resolution: "yes" } },
      tools,
    });
    await using second = open(store);
    // The first outcome comes before the run is resumed elsewhere, the second after.
    answer("early");
    await until(() => made.length === 2);
    expect(await second.resume(resolved(0)).result).toMatchObject({ value: ["yes", "early"] });
    const waiting = second.resume(resolved(1));
    await until(() => made.filter((name) => name === "ask").length === 2);
    answer("late");
    expect(await waiting.result).toMatchObject({ value: ["yes", "late"] });
    expect(made).toEqual(["pay", "pay", "ask", "ask"]);
    expect(await store.list()).toEqual([]);
  });

  test("an answer to an earlier question does not answer a later one [store:asked-once]", async () => {
    await using store = createMemoryStore();
    await using host = open(store);
    const paid: unknown[] = [];
    const tools: ToolSet = {
      pay: {
        execute: (_input, call) => {
          if (call.resolution === undefined) call.suspend("pay 1?");
          if (call.resolution === "yes, 1") call.suspend("the price rose: pay 1000?");
          paid.push(call.resolution);
          return "paid";
        },
      },
    };
    const first = await host.start({ source: "return await tools.pay({})", tools }).result;
    if (first.status !== "suspended") throw new Error("Not suspended");
    const request = {
      token: first.suspension.token,
      resolutions: { [`${first.runId}:0`]: { resolution: "yes, 1" } },
      tools,
    };
    expect(codeOf(await host.resume(request).result)).toBe("suspended");
    expect(codeOf(await host.resume(request).result)).toBe("token_used");
    expect(paid).toEqual([]);
  });

  const brief = { limits: { callsInFlight: 1, wallTimeMs: 300 }, atDeadline: "suspend" } as const;

  test("calls that go on elsewhere are not made again, however short the queue is [store:late]", async () => {
    await using store = createMemoryStore();
    await using host = open(store);
    await host.start({ source: "" }).result;
    const { tools, made, answer } = gate();
    const source = "return await Promise.all([tools.pay({}), tools.pay({})])";
    const first = await host.start({ source, tools, ...brief }).result;
    expect(codeOf(first)).toBe("suspended");
    // The second call takes the only place while the first still executes for the earlier suspension.
    const again = { id: first.runId, tools, atDeadline: "suspend" } as const;
    expect(codeOf(await host.resume(again).result)).toBe("suspended");
    const third = host.resume(again);
    answer("one");
    answer("two");
    expect(await third.result).toMatchObject({ value: ["one", "two"] });
    expect(made).toEqual(["pay", "pay"]);
  });

  test("a decision is kept while its call waits for its turn [store:asked-once]", async () => {
    await using store = createMemoryStore();
    await using host = open(store);
    await host.start({ source: "" }).result;
    const seen: unknown[] = [];
    const finished = Promise.withResolvers<string>();
    const tools: ToolSet = {
      ask: {
        execute: (_input, call) => {
          seen.push(call.resolution);
          if (call.resolution === undefined) call.suspend(null);
          return finished.promise;
        },
      },
    };
    const source = `
      const all = await Promise.allSettled([tools.ask({}), tools.ask({})]);
      return all.map((one) => one.value ?? one.reason.code);`;
    const { runId } = await host.start({ source, tools, ...brief }).result;
    const resolutions = { [`${runId}:0`]: { resolution: "go" }, [`${runId}:1`]: { deny: "no" } };
    const again = { id: runId, tools, atDeadline: "suspend" } as const;
    // The allowed call takes long, and the denied call waits behind it.
    expect(await host.resume({ ...again, resolutions }).result).toMatchObject({
      status: "suspended",
      suspension: { pending: [] },
    });
    finished.resolve("done");
    expect(await host.resume(again).result).toMatchObject({ value: ["done", "denied"] });
    expect(seen).toEqual([undefined, undefined, "go"]);
  });

  test("the sealed scope counts [suspend:scope]", async () => {
    await using store = createMemoryStore();
    await using host = open(store);
    const { tools } = gate();
    const { runId } = await host.start({ source: "return await tools.ask({})", tools, scope: "ana" }).result;
    const claimed = await store.claim(runId, { owner: "mallory", ms: 1000 });
    if (claimed.status !== "claimed") throw new Error("Not claimed");
    await store.delete(claimed.claim);
    const { state, expiresAt } = claimed.run;
    await store.release(
      await store.put({ id: runId, scope: "mallory", expiresAt, state }, { owner: "m", ms: 1000 }),
    );
    expect(codeOf(await host.resume({ id: runId, tools, scope: "mallory" }).result)).toBe("run_unknown");
    expect(codeOf(await host.resume({ id: runId, tools, scope: "ana" }).result)).toBe("run_unknown");
  });
});
