/**
 * Runs that a store keeps after their end: who may list them, who may read them, and what is readable without a key.
 */
import { type CallContext, type HostError, createHost, defineTool, type HostOptions } from "codecell";
import { inspect } from "codecell/ledger";
import { createMemoryStore, type Store, StoreError } from "codecell/store";
import { openSqliteStore } from "codecell/store/sqlite";
import { describe, expect, test } from "vitest";
import { instead, until } from "./store-doubles.ts";

const sealKey = new Uint8Array(32).fill(7);
const ENDED = ["completed", "failed"] as const;
const DAY_MS = 86_400_000;

const tools = {
  echo: defineTool({ execute: (input: unknown) => input as string }),
  breakDown: defineTool({
    execute: () => {
      throw new Error("broken");
    },
  }),
};

function hostOn(store: Store, options: HostOptions = {}) {
  return createHost({ workers: 1, store, sealKey, keepEnded: { forMs: DAY_MS }, ...options });
}

test("by default a host keeps no ended run [store:ended]", async () => {
  await using store = createMemoryStore();
  await using host = createHost({ workers: 1, store, sealKey });
  const { runId, result } = host.start({ source: "return 1" });
  expect(await result).toMatchObject({ status: "completed" });
  expect(await store.list({ status: ENDED })).toEqual([]);
  expect(await host.readEnded({ id: runId })).toBeUndefined();
});

describe.each([
  ["memory", () => createMemoryStore()],
  ["sqlite", () => openSqliteStore({ path: ":memory:" })],
] as const)("in a %s store", (_name, open) => {
  test("a run that completed is read with its result and ledger, which replays", async () => {
    await using store = await open();
    await using host = hostOn(store);
    const handle = host.start({
      source: `
        console.log("hello");
        const first = await tools.echo("secret");
        await tools.breakDown().catch(() => {});
        await tools.nothing().catch(() => {});
        return first.length;`,
      tools,
      scope: "ana",
    });
    const result = await handle.result;
    expect(result).toMatchObject({ status: "completed", value: 6 });
    const record = await host.readEnded({ id: handle.runId, scope: "ana" });
    expect(record).toEqual({ result, ledger: handle.ledger() });
    if (record?.ledger === undefined) throw new Error("No ledger was kept");
    expect(inspect(record.ledger).calls).toHaveLength(3);
    expect(await host.replay(record.ledger).result).toMatchObject({ status: "completed", value: 6 });
    expect(await store.list({ status: ENDED, scope: "ana" })).toEqual([
      {
        id: handle.runId,
        scope: "ana",
        status: "completed",
        calls: 3,
        failed: 2,
        pending: 0,
        createdAt: expect.any(Number),
        changedAt: expect.any(Number),
        endedAt: expect.any(Number),
        expiresAt: expect.any(Number),
      },
    ]);
    // The run is over: nobody can go on with it, and no list of live runs has it.
    expect(await store.list()).toEqual([]);
    const again = await host.resume({ id: handle.runId, scope: "ana", tools }).result;
    expect(again).toMatchObject({ failure: { code: "run_unknown" } });
  });

  test("a run is deleted by hand, under its scope, and nothing else goes with it [store:ended]", async () => {
    await using store = await open();
    await using host = hostOn(store);
    const start = async (): Promise<string> => {
      const { runId, result } = host.start({ source: "return 1", scope: "ana" });
      await result;
      return runId;
    };
    const [id, other] = [await start(), await start()];
    expect(await host.deleteEnded({ id, scope: "ben" })).toBe(false);
    expect(await host.deleteEnded({ id: "nobody", scope: "ana" })).toBe(false);
    expect(await host.readEnded({ id, scope: "ana" })).toBeDefined();
    const both = await Promise.allSettled([1, 2].map(() => host.deleteEnded({ id, scope: "ana" })));
    expect(both).toContainEqual({ status: "fulfilled", value: true });
    expect(await host.readEnded({ id, scope: "ana" })).toBeUndefined();
    expect(await host.deleteEnded({ id, scope: "ana" })).toBe(false);
    const status = ["running", "suspended", ...ENDED] as const;
    expect((await store.list({ status })).map((run) => run.id)).toEqual([other]);
    // Nothing of it is left to expire either.
    expect(await store.expire()).toBe(0);
  });

  test("a run that was to be deleted when its store failed is deleted with the next attempt [store:ended]", async () => {
    await using store = await open();
    await using host = hostOn(store);
    const { runId: id, result } = host.start({ source: "return 1" });
    await result;
    const failing = instead(store, {
      release: async () => {
        throw new StoreError("unavailable", "away");
      },
    });
    await using other = hostOn(failing);
    await expect(other.deleteEnded({ id })).rejects.toThrow("away");
    expect(await host.readEnded({ id })).toBeDefined();
    expect(await host.deleteEnded({ id })).toBe(true);
  });

  test("a run that waits is not deleted as one that has ended [store:ended]", async () => {
    await using store = await open();
    await using host = hostOn(store);
    const ask = { execute: (_input: unknown, call: CallContext) => call.suspend(null) };
    const { runId, result } = host.start({ source: "return await tools.ask()", tools: { ask } });
    expect(await result).toMatchObject({ status: "suspended" });
    expect(await host.deleteEnded({ id: runId })).toBe(false);
    expect(await host.discard({ id: runId })).toBe(true);
  });

  test("a failed run can be read, with calls that were never executed", async () => {
    await using store = await open();
    await using host = hostOn(store);
    const handle = host.start({ source: `tools.echo("never"); throw new Error("no")`, tools });
    const result = await handle.result;
    expect(result.status).toBe("failed");
    const record = await host.readEnded({ id: handle.runId });
    expect(record).toEqual({ result: JSON.parse(JSON.stringify(result)), ledger: handle.ledger() });
    expect(record?.ledger?.calls).toMatchObject([{ tool: "echo" }]);
    expect(await store.list({ status: "failed" })).toMatchObject([{ calls: 1, failed: 0 }]);
  });
});

test("a run that was suspended and resumed is kept as one run, with all its calls", async () => {
  await using store = createMemoryStore();
  await using host = hostOn(store, { listToolNames: true });
  const ask = defineTool({ execute: (_input: unknown, call) => call.resolution ?? call.suspend("sure?") });
  const source = `const a = await tools.echo(1); const b = await tools.ask(); return [a, b]`;
  const handle = host.start({ source, tools: { ...tools, ask } });
  const suspended = await handle.result;
  if (suspended.status !== "suspended") throw new Error(suspended.status);
  const facts = { calls: 2, failed: 0, tools: ["ask", "echo"] };
  const [waiting] = await store.list();
  expect(waiting).toMatchObject({ status: "suspended", calls: 2, failed: 0, pending: 1 });
  expect(waiting?.tools?.toSorted()).toEqual(facts.tools);
  expect(await host.readEnded({ id: handle.runId })).toBeUndefined();
  const callId = suspended.suspension.pending[0]?.callId ?? "";
  const resumed = host.resume({
    token: suspended.suspension.token,
    tools: { ...tools, ask },
    resolutions: { [callId]: { resolution: "yes" } },
  });
  expect(await resumed.result).toMatchObject({ status: "completed", value: [1, "yes"] });
  const record = await host.readEnded({ id: handle.runId });
  expect(record?.ledger).toEqual(resumed.ledger());
  const [ended] = await store.list({ status: ENDED });
  expect(ended).toMatchObject({ id: handle.runId, createdAt: waiting?.createdAt, calls: 2, pending: 0 });
  expect(ended?.tools?.toSorted()).toEqual(facts.tools);
});

test("lists count the calls of a run while it runs", async () => {
  await using store = createMemoryStore();
  await using host = hostOn(store);
  const gate = Promise.withResolvers<string>();
  const wait = defineTool({ execute: () => gate.promise });
  const { result } = host.start({
    source: `await tools.breakDown().catch(() => {}); return tools.wait()`,
    tools: { ...tools, wait },
  });
  await until(async () => (await store.list({ status: "running" }))[0]?.calls === 2);
  expect(await store.list()).toMatchObject([{ status: "running", calls: 2, failed: 1, pending: 0 }]);
  gate.resolve("done");
  await result;
});

test("names that a program made up do not get into lists [store:open-facts]", async () => {
  await using store = createMemoryStore();
  await using host = hostOn(store, { listToolNames: true });
  const source = `await tools.echo(1); await tools["ignore all rules"]().catch(() => {});
    await tools["and these"]({ ["__proto__"]: 1 }).catch(() => {}); return 1`;
  await host.start({ source, tools }).result;
  expect(await store.list({ status: ENDED })).toMatchObject([{ calls: 3, failed: 2, tools: ["echo"] }]);
});

test("names of tools are in lists only if the host allows it", async () => {
  await using store = createMemoryStore();
  await using host = hostOn(store);
  await host.start({ source: "return tools.echo(1)", tools }).result;
  const [run] = await store.list({ status: ENDED });
  expect(run).toMatchObject({ calls: 1 });
  expect(run).not.toHaveProperty("tools");
});

test("if the host encrypts, only the summary can be read [store:open-facts]", async () => {
  await using memory = createMemoryStore();
  const written: Uint8Array[] = [];
  const store = instead(memory, {
    release: async (claim, next) => {
      if (next !== undefined && "state" in next) written.push(new Uint8Array(next.state));
      await memory.release(claim, next);
    },
  });
  await using host = hostOn(store, { encrypt: true });
  await host.start({ source: `return tools.echo("a secret of ana")`, tools }).result;
  expect(written).toHaveLength(1);
  for (const secret of ["a secret of ana", "echo", "completed"]) {
    expect(Buffer.from(written[0] ?? []).includes(secret)).toBe(false);
  }
});

describe("nobody can read an ended run [store:ended]", () => {
  test("after its expiry, whatever the store says", async () => {
    await using memory = createMemoryStore();
    let expiresAt = 0;
    const store = instead(memory, {
      release: async (claim, next) => {
        expiresAt = next?.expiresAt ?? 0;
        await memory.release(claim, next && { ...next, expiresAt: 8e12 });
      },
    });
    await using host = hostOn(store, { keepEnded: { forMs: 1 } });
    const { runId, result } = host.start({ source: "return 1" });
    await result;
    await until(() => Date.now() > expiresAt);
    expect(await store.readEnded(runId)).toBeDefined();
    expect(await host.readEnded({ id: runId })).toBeUndefined();
  });

  test("under another scope, or with another key", async () => {
    await using store = createMemoryStore();
    await using host = hostOn(store);
    const { runId, result } = host.start({ source: "return 1", scope: "ana" });
    await result;
    expect(await host.readEnded({ id: runId, scope: "ben" })).toBeUndefined();
    expect(await host.readEnded({ id: runId })).toBeUndefined();
    expect(await host.readEnded({ id: "", scope: "ana" })).toBeUndefined();
    await using stranger = hostOn(store, { sealKey: new Uint8Array(32).fill(8) });
    await expect(stranger.readEnded({ id: runId, scope: "ana" })).rejects.toMatchObject({
      failure: { code: "token_key", message: expect.stringMatching(/^Cannot read: /u) as unknown },
    });
    // The host does not trust a store that gives a run to another scope.
    const lying = instead(store, {
      readEnded: async () => {
        const found = await store.readEnded(runId);
        return found && { ...found, scope: "ben" };
      },
    });
    await using deceived = hostOn(lying);
    expect(await deceived.readEnded({ id: runId, scope: "ben" })).toBeUndefined();
  });

  test("under another id, or altered", async () => {
    await using store = createMemoryStore();
    await using host = hostOn(store);
    const [one, two] = [host.start({ source: "return 1" }), host.start({ source: "return 2" })];
    await Promise.all([one.result, two.result]);
    const swapped = instead(store, { readEnded: async () => store.readEnded(two.runId) });
    await using deceived = hostOn(swapped);
    await expect(deceived.readEnded({ id: one.runId })).rejects.toMatchObject({
      failure: { code: "token_invalid" },
    });
    const flipped = instead(store, {
      readEnded: async (id) => {
        const found = await store.readEnded(id);
        const at = (found?.state.length ?? 0) - 1;
        if (found !== undefined) found.state[at] = (found.state[at] ?? 0) ^ 1;
        return found;
      },
    });
    await using careful = hostOn(flipped);
    await expect(careful.readEnded({ id: one.runId })).rejects.toMatchObject({
      failure: { code: "token_invalid" },
    });
  });
});

test("a run whose ledger is larger than limits.suspensionBytes is kept without it", async () => {
  await using store = createMemoryStore();
  await using host = hostOn(store, { limits: { suspensionBytes: 65_536 } });
  const large = defineTool({ execute: () => "x".repeat(100_000) });
  const { runId, result } = host.start({
    source: "return (await tools.large()).length",
    tools: { large },
  });
  await result;
  const record = await host.readEnded({ id: runId });
  expect(record).toMatchObject({ result: { value: 100_000 } });
  expect(record).not.toHaveProperty("ledger");
});

describe("the number of kept runs is bounded [store:ended]", () => {
  test("by number: the oldest are deleted, after results were given", async () => {
    await using memory = createMemoryStore();
    const gate = Promise.withResolvers<void>();
    let expiries = 0;
    const store = instead(memory, {
      expire: async (keep) => {
        expiries++;
        await gate.promise;
        return memory.expire(keep);
      },
    });
    await using host = hostOn(store, { keepEnded: { forMs: DAY_MS, runs: 2 } });
    for (let n = 0; n < 4; n++) {
      // Results come although nothing is deleted yet.
      expect(await host.start({ source: `return ${n}` }).result).toMatchObject({ value: n });
    }
    expect(await memory.list({ status: ENDED })).toHaveLength(4);
    // One expiry runs at a time, however many runs ended.
    expect(expiries).toBe(1);
    gate.resolve();
    await until(async () => (await memory.list({ status: ENDED })).length === 2);
  });

  test("by size", async () => {
    await using store = createMemoryStore();
    await using host = hostOn(store, { keepEnded: { forMs: DAY_MS, bytes: 1 } });
    await host.start({ source: "return 1" }).result;
    await until(async () => (await store.list({ status: ENDED })).length === 0);
  });
});

test("a store that cannot keep a run does not change its result", async () => {
  await using memory = createMemoryStore();
  const store = instead(memory, {
    release: () => Promise.reject(new Error("no")),
    expire: () => Promise.reject(new Error("no")),
  });
  await using host = hostOn(store);
  expect(await host.start({ source: "return 1" }).result).toMatchObject({ status: "completed", value: 1 });
});

test("a store without room for an ended run deletes the run and prunes others, so that nobody can resume it", async () => {
  await using memory = createMemoryStore();
  let expiries = 0;
  const store = instead(memory, {
    release: (claim, next) =>
      next !== undefined && "ended" in next
        ? Promise.reject(new StoreError("full", "There is no room"))
        : memory.release(claim, next),
    expire: (keep) => {
      expiries++;
      return memory.expire(keep);
    },
  });
  await using host = hostOn(store);
  const told: unknown[] = [];
  const onError = ({ error, source }: HostError): void =>
    void told.push([source, (error as StoreError).code]);
  const { result } = host.start({ source: "return 1", onError });
  expect(await result).toMatchObject({ status: "completed", value: 1 });
  expect(told).toEqual([["store", "full"]]);
  expect(await memory.list({ status: ["running", "suspended", "completed", "failed"] })).toEqual([]);
  await until(() => Promise.resolve(expiries > 0));
});

test("misuse throws", async () => {
  await using store = createMemoryStore();
  const create = (options: HostOptions) => () => createHost(options);
  expect(create({ keepEnded: { forMs: 1 } })).toThrow(/keepEnded needs a store/u);
  for (const keepEnded of [{ forMs: 0 }, { forMs: 1, runs: 0.5 }, { forMs: 1, bytes: Infinity }]) {
    expect(create({ store, keepEnded })).toThrow(RangeError);
  }
  expect(create({ store, keepEnded: 5 as unknown as { forMs: number } })).toThrow(TypeError);
  expect(create({ listToolNames: "yes" as unknown as boolean })).toThrow(TypeError);
  await using host = createHost({ workers: 1 });
  await expect(host.readEnded({ id: "a" })).rejects.toThrow(/the host has no store/u);
  await expect(host.readEnded({ id: 5 as unknown as string })).rejects.toThrow(TypeError);
  await expect(host.deleteEnded({ id: "a" })).rejects.toThrow(/the host has no store/u);
  await expect(host.deleteEnded({ id: 5 as unknown as string })).rejects.toThrow(/Cannot delete a run/u);
});
