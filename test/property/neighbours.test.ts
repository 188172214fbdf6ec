/** Runs on the same worker do not affect each other. */
import { afterAll, expect, test } from "vitest";
import { createHost } from "codecell";
import { ProgramTools } from "./program-tools.ts";

const host = createHost({ workers: 1 });
afterAll(() => host[Symbol.asyncDispose]());

const NATIVE_LOOP = `Array.prototype.join.call({ length: 2**53 - 1 }, "")`;
const WAITS =
  "return [await tools.gate({ v: 1 }), await tools.wait({ v: 2, ms: 5 }), await tools.turn({ v: 3 })].map((x: any) => x.v)";

/** Tools, with one that answers only when told to. */
function gated(): {
  tools: ProgramTools;
  set: ProgramTools["set"];
  open: () => void;
  arrived: (n: number) => Promise<void>;
} {
  const tools = new ProgramTools();
  const gate = Promise.withResolvers<void>();
  const waiters: { n: number; resolve: () => void }[] = [];
  let count = 0;
  const set = {
    ...tools.set,
    gate: {
      execute: async (input: unknown, call: { readonly callId: string }) => {
        tools.executions.set(call.callId, (tools.executions.get(call.callId) ?? 0) + 1);
        count++;
        for (const { n, resolve } of waiters) if (count >= n) resolve();
        await gate.promise;
        return input;
      },
    },
  };
  const arrived = (n: number): Promise<void> =>
    new Promise((resolve) => {
      if (count >= n) resolve();
      else waiters.push({ n, resolve });
    });
  return { tools, set, open: gate.resolve, arrived };
}

test("a native loop is ended, and the runs that wait beside it complete, each call executed once", async () => {
  const { tools, set, open, arrived } = gated();
  const innocents = Array.from({ length: 20 }, () => host.start({ source: WAITS, tools: set }).result);
  await arrived(20);
  const culprit = host.start({ source: NATIVE_LOOP, limits: { cpuTimeMs: 300 } }).result;
  // Half of them get their answers while the loop runs, half after its end.
  const late = Array.from({ length: 20 }, () => host.start({ source: WAITS, tools: set }).result);
  open();
  expect(await culprit).toMatchObject({ status: "failed", failure: { code: "timeout" } });
  for (const result of await Promise.all([...innocents, ...late])) {
    expect(result).toMatchObject({ status: "completed", value: [1, 2, 3] });
  }
  expect(tools.repeated).toEqual([]);
  expect(tools.executions.size).toBe(40 * 3);
});

test("runs that still wait when the worker is killed are rebuilt and complete", async () => {
  const { tools, set, open, arrived } = gated();
  const innocents = Array.from({ length: 20 }, () => host.start({ source: WAITS, tools: set }).result);
  await arrived(20);
  const culprits = [1, 2].map(() => host.start({ source: NATIVE_LOOP, limits: { cpuTimeMs: 300 } }).result);
  for (const culprit of culprits) {
    expect(await culprit).toMatchObject({ status: "failed", failure: { code: "timeout" } });
  }
  open();
  for (const result of await Promise.all(innocents)) {
    expect(result).toMatchObject({ status: "completed", value: [1, 2, 3] });
  }
  expect(tools.repeated).toEqual([]);
});

test("short runs finish while a computing run goes on", async () => {
  const abort = new AbortController();
  let ended = false;
  const hungry = host.start({
    source: "for (;;);",
    signal: abort.signal,
    limits: { wallTimeMs: 120_000, cpuTimeMs: 120_000 },
  });
  void hungry.result.then(() => {
    ended = true;
  });
  const tools = new ProgramTools();
  const shorts = Array.from(
    { length: 50 },
    (_, v) => host.start({ source: `return (await tools.turn({ v: ${v} })).v`, tools: tools.set }).result,
  );
  const results = await Promise.all(shorts);
  expect(ended).toBe(false);
  expect(results.map((one) => (one.status === "completed" ? one.value : one))).toEqual(
    Array.from({ length: 50 }, (_, v) => v),
  );
  abort.abort();
  expect(await hungry.result).toMatchObject({ status: "failed", failure: { code: "aborted" } });
});

test("more computing runs than workers all finish, and so do short runs", async () => {
  const source = "let x = 0; for (let i = 0; i < 1000000; i++) x += i; return x";
  const hungry = Array.from(
    { length: 14 },
    () => host.start({ source, limits: { wallTimeMs: 60_000 } }).result,
  );
  const short = Array.from(
    { length: 10 },
    () => host.start({ source: "return 1", limits: { wallTimeMs: 60_000 } }).result,
  );
  for (const result of await Promise.all(hungry))
    expect(result).toMatchObject({ status: "completed", value: 499_999_500_000 });
  for (const result of await Promise.all(short))
    expect(result).toMatchObject({ status: "completed", value: 1 });
}, 90_000);

test("a run that uses up its memory fails alone", async () => {
  const { set, open, arrived } = gated();
  const beside = host.start({ source: WAITS, tools: set }).result;
  await arrived(1);
  const bomb = "const a: any[] = []; for (;;) a.push(new Array(1000).fill(a.length))";
  for (let round = 0; round < 3; round++) {
    const result = await host.start({ source: bomb, limits: { memoryBytes: 16 * 1024 * 1024 } }).result;
    expect(result).toMatchObject({ status: "failed", failure: { code: "memory_limit" } });
    expect(await host.start({ source: "return 42" }).result).toMatchObject({
      status: "completed",
      value: 42,
    });
  }
  open();
  expect(await beside).toMatchObject({ status: "completed", value: [1, 2, 3] });
});
