/** The host: its event loop, runs beside each other, bounds and disposal. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createHost, type ToolSet } from "codecell";
import { describe, expect, test } from "vitest";
import { echo, host, sleep, valueOf } from "./harness.ts";
import { SOURCE_FLAGS } from "../../scripts/source-flags.ts";
import { mainWaitMs } from "../processor-time.ts";

const HOSTILE = [
  "for (;;);",
  "const a = []; for (;;) a.push(new Array(1000).fill(a.length))",
  "'x'.repeat(30_000_000).split('').sort().reverse().join('').match(/(x+x+)+y/)",
  "(function f() { try { f() } finally { f() } })()",
];

describe("host", () => {
  test.each(HOSTILE)("the event loop goes on during %s [host:heartbeat]", async (source) => {
    // Without what this thread waited for a processor: on a busy machine others have it.
    const busyMs = (): number => performance.now() - mainWaitMs();
    let last = busyMs();
    let longest = 0;
    const beat = setInterval(() => {
      const now = busyMs();
      longest = Math.max(longest, now - last);
      last = now;
    }, 5);
    const { status } = await host.start({ source, limits: { cpuTimeMs: 400, memoryBytes: 64 << 20 } }).result;
    clearInterval(beat);
    expect(status).toBe("failed");
    // Much more than one interval and much less than the program takes: shared machines are sometimes slow.
    expect(longest).toBeLessThan(250);
  });

  test("runs beside a hostile one complete, and no tool is called twice [host:neighbours]", async () => {
    await using one = createHost({ workers: 1 });
    let calls = 0;
    const tools: ToolSet = {
      wait: {
        execute: async (input: unknown) => {
          calls++;
          await sleep(60);
          return input;
        },
      },
    };
    const source = "let sum = 0; for (let i = 0; i < 4; i++) sum += await tools.wait(i); return sum";
    const innocent = Array.from({ length: 5 }, () => one.start({ source, tools }).result);
    const hostile = HOSTILE.map((text) => one.start({ source: text, limits: { cpuTimeMs: 300 } }).result);
    const results = await Promise.all(innocent);
    expect(results.map((result) => (result.status === "completed" ? result.value : result))).toEqual([
      6, 6, 6, 6, 6,
    ]);
    expect(calls).toBe(20);
    for (const result of await Promise.all(hostile)) expect(result.status).toBe("failed");
  });

  test("the number of live runs is bounded [host:bounded]", async () => {
    await using small = createHost({ workers: 1, liveRuns: 2 });
    const tools: ToolSet = { wait: { execute: () => sleep(50) } };
    const runs = [1, 2, 3].map(() => small.start({ source: "await tools.wait()", tools }).result);
    const results = await Promise.all(runs);
    expect(results.map(({ status }) => status)).toEqual(["completed", "completed", "failed"]);
    expect(results[2]).toMatchObject({ failure: { code: "too_many_runs" } });
    expect(await small.start({ source: "return 1" }).result).toMatchObject({ status: "completed" });
  });

  test("disposing the host ends its runs, and it starts no more [host:released]", async () => {
    const own = createHost({ workers: 1 });
    const live = own.start({
      source: "await tools.wait()",
      tools: { wait: { execute: () => sleep(60_000) } },
    });
    await sleep(50);
    await own[Symbol.asyncDispose]();
    expect(await live.result).toMatchObject({ failure: { code: "aborted" } });
    expect(await own.start({ source: "return 1" }).result).toMatchObject({ failure: { code: "aborted" } });
  });

  test("a run with an aborted signal does not start", async () => {
    const signal = AbortSignal.abort(new Error("too late"));
    const result = await host.start({ source: "return await tools.echo(1)", tools: echo, signal }).result;
    expect(result).toMatchObject({ failure: { code: "aborted" }, stats: { calls: 0 } });
    expect(await valueOf("return 1")).toBe(1);
  });

  test("misuse throws at once, with a clear message", () => {
    expect(() => createHost({ workers: 0 })).toThrow(RangeError);
    expect(() => createHost({ sealKey: new Uint8Array(3) })).toThrow(RangeError);
    expect(() => host.start({ source: 5 as never })).toThrow(TypeError);
    expect(() => host.start({ source: "", language: "python" as never })).toThrow(TypeError);
  });

  test("flags of the process do not reach the host's workers [host:own-flags]", async () => {
    const code = `import { run } from "codecell";
      const result = await run({ source: "return 42" });
      console.log(result.status === "completed" ? result.value : result);`;
    const flags = [...SOURCE_FLAGS, "--input-type=module", "--eval"];
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, code], { timeout: 100_000 });
    expect(stdout.trim()).toBe("42");
  });

  test("thousands of runs leave nothing, and the process ends [host:flat] [host:exits] [host:released]", async () => {
    const fixture = fileURLToPath(new URL("thousand-runs.fixture.ts", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [...SOURCE_FLAGS, fixture], {
      timeout: 60_000,
    });
    const { first, second, disposed } = JSON.parse(stdout) as Record<
      "first" | "second" | "disposed",
      { workers: number; handles: number }
    >;
    // Two workers, and a third for runs that compute.
    for (const { workers } of [first, second]) expect(workers).toBeLessThanOrEqual(3);
    expect(second.handles).toBeLessThanOrEqual(first.handles);
    expect(disposed.workers).toBe(0);
    expect(disposed.handles).toBeLessThan(4);
  }, 90_000);
});
