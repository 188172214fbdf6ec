/**
 * The memory of all programs together is bounded: many that fill their heaps end one after the other, and the host
 * stays small.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createHost } from "codecell";
import { describe, expect, test } from "vitest";
import { SOURCE_FLAGS } from "../../scripts/source-flags.ts";

interface Outcome {
  readonly ends: Readonly<Record<string, number>>;
  readonly grownMiB: number;
  /** How often the tool was called. */
  readonly executed: number;
}

async function runHogs(...figures: number[]): Promise<Outcome> {
  const fixture = fileURLToPath(new URL("./hogs.fixture.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...SOURCE_FLAGS,
    fixture,
    ...figures.map(String),
  ]);
  return JSON.parse(stdout) as Outcome;
}

describe("the heap budget of a host", () => {
  test("[host:heap-budget] waiting programs that need 800 MiB together use 96 MiB, and all of them complete", async () => {
    const { ends, grownMiB, executed } = await runHogs(50, 16, 96);
    expect(ends).toEqual({ 136: 50, 42: 1 });
    expect(executed).toBe(50);
    // Beyond the budget there are threads and what V8 has not collected yet.
    expect(grownMiB).toBeLessThan(96 + 400);
  }, 180_000);

  test("[host:heap-budget] a run whose time is up before there is memory for it says so", async () => {
    await using host = createHost({ workers: 2, heapBudgetBytes: 1 });
    await host.start({ source: "return 1" }).result;
    const stop = new AbortController();
    const hog = host.start({ source: "for (;;);", signal: stop.signal });
    // Before the other program has to make room for it.
    const late = await host.start({ source: "return 1", limits: { wallTimeMs: 10 } }).result;
    expect(late).toMatchObject({
      failure: {
        code: "too_many_runs",
        message:
          "Cannot run the program: other programs use all 0 MB that programs may use together, try again later",
      },
    });
    stop.abort();
    await hog.result;
    // The failed run left nothing for which others would wait.
    expect(await host.start({ source: "return 1" }).result).toMatchObject({ value: 1 });
  });

  test("[host:heap-budget] with room for one at a time, programs that call each other's tools all complete", async () => {
    await using host = createHost({ workers: 2, heapBudgetBytes: 1 });
    const tools = { double: { execute: async (n: unknown) => Number(n) * 2 } };
    const source = "let n = 1; for (let i = 0; i < 5; i++) n = await tools.double(n); return n";
    const results = await Promise.all(Array.from({ length: 20 }, () => host.start({ source, tools }).result));
    expect(results.map((result) => result.status === "completed" && result.value)).toEqual(
      Array(20).fill(32),
    );
  });

  test("[host:heap-budget] [host:fair] programs that compute make room for those that wait for memory", async () => {
    await using host = createHost({ workers: 2, heapBudgetBytes: 1, limits: { cpuTimeMs: 3_600_000 } });
    await host.start({ source: "return 1" }).result;
    const stop = new AbortController();
    const [loop, native] = ["for (;;);", "Array.prototype.join.call({ length: 2 ** 53 - 1 }, '')"];
    const limits = { wallTimeMs: 3_600_000 };
    const hogs = [loop, native, loop].map((source) => host.start({ source, limits, signal: stop.signal }));
    const one = { one: { execute: () => 1 } };
    for (let n = 0; n < 3; n++) {
      const passing = host.start({ source: "return 41 + await tools.one({})", tools: one, limits });
      expect(await passing.result).toMatchObject({ value: 42 });
    }
    stop.abort();
    for (const { result } of hogs) expect(await result).toMatchObject({ failure: { code: "aborted" } });
  }, 120_000);

  test.each([0, -1, 1.5, Number.NaN, "1"])("of %o bytes is refused", (heapBudgetBytes) => {
    expect(() => createHost({ heapBudgetBytes: heapBudgetBytes as never })).toThrow(
      /^Cannot create a host with heaps/u,
    );
  });
});
