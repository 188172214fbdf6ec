/**
 * Runs that compute, in many ways, beside short runs.
 *
 * No test looks at the clock: hostile runs have limits of an hour, so whatever ends, ends before they do.
 */
import { createHost, type Host, type RunHandle, type RunResult, type ToolSet } from "codecell";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { echo } from "./harness.ts";

vi.setConfig({ testTimeout: 300_000 });

const HOUR_MS = 3_600_000;
const limits = { cpuTimeMs: HOUR_MS, wallTimeMs: HOUR_MS };

const HOSTILE = {
  loops: "for (;;);",
  allocates: "let a = []; for (;;) { a.push(new Array(1000).fill(1)); if (a.length > 300) a = []; }",
  "calls a tool, then loops": "await tools.echo(1); for (;;);",
  "loops a little between calls": "for (;;) { for (let i = 0; i < 200000; i++); await tools.echo(1); }",
  "matches a long regular expression": "/(x+x+)+y/.test('x'.repeat(100))",
  sorts: "const a = Array.from({ length: 1e5 }, Math.random); for (;;) a.toSorted().join()",
  "is in a native loop": "Array.prototype.join.call({ length: 2 ** 53 - 1 }, '')",
};

let host: Host;
let stop: AbortController;
let hostile: Promise<RunResult>[];
let ended: number;

beforeEach(() => {
  host = createHost({ workers: 2, limits });
  stop = new AbortController();
  hostile = [];
  ended = 0;
});
afterEach(async () => {
  expect(ended).toBe(0);
  stop.abort();
  for (const result of await Promise.all(hostile))
    expect(result).toMatchObject({ failure: { code: "aborted" } });
  await host[Symbol.asyncDispose]();
});

function startHostile(source: string): void {
  const { result } = host.start({ source, tools: echo, signal: stop.signal });
  void result.then(() => ended++);
  hostile.push(result);
}

async function passBy(times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    const result = await host.start({ source: `return 1 + await tools.echo(${n})`, tools: echo }).result;
    expect(result).toMatchObject({ status: "completed", value: n + 1 });
  }
}

/** Computes for longer than others may be kept waiting. */
const COMPUTES = "let n = 0; while (n < 4e6) n++;";

describe("among hostile runs", () => {
  test.each(Object.entries(HOSTILE))(
    "a run that %s keeps nobody waiting [host:fair]",
    async (_how, source) => {
      for (let n = 0; n < 6; n++) startHostile(source);
      await passBy(5);
    },
  );

  test("short runs end first, at once and later, whatever kinds of hostile runs there are [host:fair]", async () => {
    for (let n = 0; n < 3; n++) for (const source of Object.values(HOSTILE)) startHostile(source);
    await Promise.all(Array.from({ length: 10 }, () => passBy(1)));
    await passBy(20);
  });

  test("runs behind a native loop end, however many others come and go [host:fair]", async () => {
    await passBy(1);
    for (let n = 0; n < 2; n++) startHostile(HOSTILE["is in a native loop"]);
    const behind = Array.from({ length: 6 }, () => passBy(1));
    const state = { isOver: false };
    const lanes = Array.from({ length: 6 }, async () => {
      while (!state.isOver) await passBy(1);
    });
    await Promise.all(behind);
    state.isOver = true;
    await Promise.all(lanes);
  });

  test("a run that waits to compute begins when the computing run is aborted [host:fair]", async () => {
    host = createHost({ workers: 1, limits });
    const abort = new AbortController();
    const first = host.start({ source: HOSTILE.loops, signal: abort.signal });
    const second = host.start({ source: `${COMPUTES} return n` });
    await passBy(1);
    abort.abort();
    expect(await second.result).toMatchObject({ status: "completed", value: 4e6 });
    expect(await first.result).toMatchObject({ failure: { code: "aborted" } });
  });

  test("a computation that ends gets its turn [host:fair]", async () => {
    for (let n = 0; n < 3; n++) startHostile(HOSTILE.loops);
    const source = `${COMPUTES} return n`;
    const results = await Promise.all([1, 2].map(() => host.start({ source }).result));
    for (const result of results) expect(result).toMatchObject({ status: "completed", value: 4e6 });
  });
});

describe("a run that is moved", () => {
  const program = `
    const pending = tools.gate("gate");
    const first = await tools.count("first");
    console.log("one");
    let n = 0; while (n < 4e6) n++;
    console.log("two");
    const second = await tools.count("second");
    return [first, second, await pending, n, Math.random() === Math.random()]`;
  const value = ["first", "second", "gate", 4e6, false];

  test("makes no call twice and loses none, whatever messages were under way [host:fair]", async () => {
    host = createHost({ workers: 1, limits });
    // Whether a rival comes while the run computes is a matter of luck: hardly ever is a second attempt needed.
    for (let attempt = 0; attempt < 20; attempt++) if (await isMoved()) return;
    expect.unreachable("the run was never moved");
  });

  async function isMoved(): Promise<boolean> {
    const executed: string[] = [];
    const gate = Promise.withResolvers<void>();
    const rivals: RunHandle[] = [];
    const stopRivals = new AbortController();
    const { signal } = stopRivals;
    const execute = (name: string): string => {
      executed.push(name);
      // Rivals start behind the run as soon as it computes, and stop when it has made its second call.
      if (name === "first") setImmediate(() => rivals.push(host.start({ source: HOSTILE.loops, signal })));
      else if (name === "second") {
        stopRivals.abort();
        gate.resolve();
      }
      return name;
    };
    const tools: ToolSet = {
      count: { execute },
      gate: { execute: (name: string) => gate.promise.then(() => execute(name)) },
    };
    const handle = host.start({ source: program, tools });
    const result = await handle.result;
    expect(result).toMatchObject({ status: "completed", value });
    expect(result.logs.map(({ text }) => text)).toEqual(["one", "two"]);
    expect(executed).toEqual(["first", "second", "gate"]);
    for (const rival of rivals) expect(await rival.result).toMatchObject({ failure: { code: "aborted" } });
    await using calm = createHost({ workers: 1 });
    expect(await calm.replay(handle.ledger()).result).toMatchObject({ status: "completed", value });
    return result.stats.rebuilds > 0;
  }

  test("keeps to its limit of processor time [host:fair] [limits:hold]", async () => {
    for (let n = 0; n < 2; n++) startHostile(HOSTILE.loops);
    const runs = [1, 2, 3].map(() => host.start({ source: "for (;;);", limits: { cpuTimeMs: 60 } }).result);
    const results = await Promise.all(runs);
    for (const result of results) {
      expect(result).toMatchObject({
        failure: { code: "timeout", message: expect.stringContaining("more than 60 ms of processor time") },
      });
    }
    expect(results.some(({ stats }) => stats.rebuilds > 0)).toBe(true);
  });

  test("has its whole limit: processor time that it repeats is not counted twice [host:fair]", async () => {
    const source = `${COMPUTES} return n`;
    const alone = await host.start({ source }).result;
    for (let n = 0; n < 2; n++) startHostile(HOSTILE.loops);
    const runs = Array.from({ length: 3 }, () => host.start({ source }).result);
    const results = await Promise.all(runs);
    expect(results.some(({ stats }) => stats.rebuilds > 0)).toBe(true);
    for (const { status, stats } of results) {
      expect(status).toBe("completed");
      // Only the last placement counts. The factor allows for a machine that is not equally fast at all times.
      expect(stats.cpuTimeMs).toBeLessThan(3 * alone.stats.cpuTimeMs + 20);
    }
  });
});
