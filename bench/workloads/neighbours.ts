/**
 * Runs of one call, one after the other, on a host with 100 hostile neighbours that compute in many different ways.
 *
 * - Hostile runs have limits that outlast the measurement. A hostile run that ends early counts as failed.
 * - `first` starts at the same moment as they do and queues with them; the others start later.
 * - `calm` is the same run before the hostile runs were started.
 */

import { Attempts, nextSalt } from "../harness/attempts.ts";
import { percentile } from "../harness/statistics.ts";
import { valueOf } from "../contestants/codecell.ts";
import type { Workload } from "./workload.ts";

const RUNS = 300;
const WARM_RUNS = 100;
const HOUR_MS = 3_600_000;

/** Some of these stop when the engine interrupts them. The last three are rarely interrupted, or never. */
const HOSTILE = [
  "for (;;);",
  "await tools.step({ n: 1 }); for (;;);",
  "for (;;) { for (let i = 0; i < 200000; i++); await tools.step({ n: 1 }); }",
  "/(x+x+)+y/.test('x'.repeat(100));",
  "let a = []; for (;;) { a.push(new Array(1000).fill(a.length)); if (a.length > 500) a = []; }",
  "const a = Array.from({ length: 100000 }, Math.random); for (;;) a.toSorted().join();",
  "Array.prototype.join.call({ length: 2 ** 53 - 1 }, '');",
];

export const neighbours: Workload = {
  name: "neighbours",
  title: "One-call runs beside hostile ones that compute",
  process: "own",
  opens: true,
  only: ["codecell"],
  metrics: [
    { key: "p50", label: "p50", better: "lower", unit: "ms" },
    { key: "p99", label: "p99", better: "lower", unit: "ms" },
    { key: "first", label: "first", better: "lower", unit: "ms" },
    { key: "calm", label: "calm", better: "lower", unit: "ms" },
  ],
  cases: [
    { label: "14 neighbours", size: 14 },
    { label: "100 neighbours", size: 100 },
  ],
  rounds: 3,
  measure: async (_contestant, { size }) => {
    const { createHost } = await import("codecell");
    await using host = createHost();
    const attempts = new Attempts();
    const tools = {
      step: { input: { type: "object" }, execute: ({ n = 0 }: { n?: number }) => ({ n: n + 1 }) },
    };
    const passBy = async (): Promise<number> => {
      const salt = nextSalt();
      const source = `const { n } = await tools.step({ n: ${salt} });\nreturn n;`;
      const begun = performance.now();
      await attempts.check(salt + 1, async () => valueOf(await host.start({ source, tools }).result));
      return performance.now() - begun;
    };
    const several = async (count: number): Promise<number[]> => {
      const durations: number[] = [];
      while (durations.length < count) durations.push(await passBy());
      return durations;
    };
    await several(WARM_RUNS);
    const calm = percentile(await several(WARM_RUNS), 0.5);

    const stop = new AbortController();
    let isOver = false;
    const limits = { cpuTimeMs: HOUR_MS, wallTimeMs: HOUR_MS };
    const hostile = Array.from({ length: size }, async (_, index) => {
      const source = `// ${nextSalt()}\n${HOSTILE[index % HOSTILE.length]}`;
      await host.start({ source, tools, limits, signal: stop.signal }).result;
      if (!isOver) attempts.fail("a hostile run ended");
    });
    const first = await passBy();
    const durations = await several(RUNS);
    isOver = true;
    stop.abort();
    await Promise.all(hostile);
    return attempts.sample({
      p50: percentile(durations, 0.5),
      p99: percentile(durations, 0.99),
      first,
      calm,
    });
  },
};
