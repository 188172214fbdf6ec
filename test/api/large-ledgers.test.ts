/** Runs with large ledgers, when they are placed again. */
import { createHost, type Host, type Ledger, type ToolSet } from "codecell";
import { afterEach, beforeEach, expect, test } from "vitest";
import { largestTurnMs } from "../fuzz/thread-time.ts";

let host: Host;
beforeEach(() => void (host = createHost({ workers: 1 })));
afterEach(() => host[Symbol.asyncDispose]());

const tools: ToolSet = { echo: { execute: (input: unknown) => input } };

/** About 30 million UTF-16 units. */
const MUCH = `
  let sum = 0;
  for (let n = 0; n < 16; n++) sum += (await tools.echo(String(n % 10).repeat(1e6 - 10))).length + Number(n);
  return sum`;

test("a large ledger is sent to a worker in turns, and the run gives the same value [host:short-turns]", async () => {
  const handle = host.start({ source: MUCH, tools });
  const first = await handle.result;
  expect(first.status).toBe("completed");
  const ledger = handle.ledger();
  const replayed: unknown[] = [];
  const longest = await largestTurnMs(
    () => async () => {
      const result = await host.replay(ledger).result;
      replayed.push(result.status === "completed" ? result.value : result);
    },
    { attempts: 4, enough: 50 },
  );
  expect(longest).toBeLessThan(50);
  expect(new Set(replayed)).toEqual(new Set(first.status === "completed" ? [first.value] : []));
}, 120_000);

test("deliveries, calls and drops while a ledger is being sent come after it", async () => {
  const gate = Promise.withResolvers<void>();
  const source = MUCH.replace("return sum", "await tools.gate(sum); return sum");
  const gated: ToolSet = { ...tools, gate: { execute: () => gate.promise } };
  const reference = await host.start({ source: MUCH, tools }).result;
  const abort = new AbortController();
  const runs = Array.from({ length: 2 }, () => host.start({ source, tools: gated }));
  const dropped = host.start({ source, tools: gated, signal: abort.signal });
  // A native loop holds the worker, so all other runs are placed again from their ledgers.
  const hold = "Array.prototype.join.call({ length: 2 ** 53 - 1 }, '')";
  const holder = host.start({ source: hold, limits: { cpuTimeMs: 300 } });
  await holder.result;
  abort.abort();
  gate.resolve();
  const results = await Promise.all(runs.map(({ result }) => result));
  for (const result of results) {
    expect(result.status === "completed" && result.value).toBe(
      reference.status === "completed" && reference.value,
    );
  }
  expect((await dropped.result).status).toBe("failed");
}, 120_000);

/** What a program can do often and a rebuilt cell tells again: about as much as a ledger may hold, two bytes a unit. */
const OFTEN = {
  inputs: `
    const text = "\\u0100" + "x".repeat(1e6);
    for (let n = 0; n < 60; n++) await tools.take(text);`,
  timers: `
    for (let n = 0; n < 200; n++) {
      const set = Array.from({ length: 1000 }, () => setTimeout(() => {}, 1e6));
      await tools.take(n);
      set.forEach(clearTimeout);
    }`,
};

test.each(["inputs", "timers"] as const)(
  "a cell that repeats many %s reports them in turns, after a move, in a replay and in a fork [host:short-turns]",
  { timeout: 240_000 },
  async (what) => {
    const value = 4e6;
    const source = `${OFTEN[what]} await tools.gate(0); let n = 0; while (n < ${value}) n++; return n`;
    const ledgers: Ledger[] = [];
    const moving = async (): Promise<() => Promise<void>> => {
      const reached = Promise.withResolvers<void>();
      const gate = Promise.withResolvers<void>();
      const execute = (): Promise<void> => {
        reached.resolve();
        return gate.promise;
      };
      const given: ToolSet = { take: { execute: () => null }, gate: { execute } };
      const handle = host.start({ source, tools: given, limits: { wallTimeMs: 200_000 } });
      await Promise.race([reached.promise, handle.result]);
      return async () => {
        gate.resolve();
        const state = { isOver: false };
        const ending = handle.result.finally(() => void (state.isOver = true));
        // A run is moved if another comes while it computes. They come one by one, so one of them comes then.
        while (!state.isOver) await host.start({ source: "return 0" }).result;
        const result = await ending;
        expect.soft(result).toMatchObject({ status: "completed", value });
        expect.soft(result.stats.rebuilds).toBeGreaterThan(0);
        ledgers.push(handle.ledger());
      };
    };
    const replaying = () => async (): Promise<void> => {
      for (const ledger of ledgers.slice(0, 1)) {
        expect.soft(await host.replay(ledger).result).toMatchObject({ status: "completed", value });
      }
    };
    const forking = () => async (): Promise<void> => {
      const given: ToolSet = { take: { execute: () => null }, gate: { execute: () => null } };
      for (const ledger of ledgers.slice(0, 1)) {
        const fork = host.fork(ledger, { atCall: ledger.calls.length - 1, tools: given });
        expect.soft(await fork.result).toMatchObject({ status: "completed", value });
      }
    };
    const bar = { attempts: 4, enough: 50 };
    expect.soft(await largestTurnMs(moving, bar), "moved").toBeLessThan(50);
    expect.soft(await largestTurnMs(replaying, bar), "replayed").toBeLessThan(50);
    expect.soft(await largestTurnMs(forking, bar), "forked").toBeLessThan(50);
    expect(ledgers.length).toBeGreaterThan(0);
  },
);
