/**
 * Resident memory of waiting runs: each has made one call, whose output is held back until all runs have called.
 *
 * RSS is read when every run has reached its call. Then the outputs are given and every value is checked.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { Contestant } from "../contestants/contestant.ts";
import { Attempts, nextSalt } from "../harness/attempts.ts";
import { peakResidentMb, residentMb } from "../harness/resident-memory.ts";
import type { Case, Program, Workload } from "./workload.ts";

const PATIENCE_MS = 8000;
const DRAIN_MS = 120_000;
/** More runs would take gigabytes or minutes, and show nothing new. */
const MOST_RUNS = 10_000;
const MOST_RUNS_OF_V8 = 500;

export const memory: Workload = {
  name: "memory",
  title: "Memory of runs that wait for a tool",
  process: "own",
  metrics: [
    { key: "perRun", label: "per run", better: "lower", unit: "KB" },
    { key: "rss", label: "RSS", better: "lower", unit: "MB" },
    { key: "peak", label: "peak RSS", better: "lower", unit: "MB" },
    { key: "reached", label: "waiting", better: "higher", unit: "runs" },
    { key: "start", label: "to start all", better: "lower", unit: "ms" },
    { key: "drain", label: "to end all", better: "lower", unit: "ms" },
  ],
  cases: [
    { label: "32 runs", size: 32 },
    { label: "500 runs", size: 500 },
    { label: "10000 runs", size: MOST_RUNS },
  ],
  rounds: 1,
  leavesOut,
  measure: async (contestant, which) => {
    contestant.prepare?.({ inFlight: which.size, mostly: "waiting" });
    let reached = 0;
    const gate = Promise.withResolvers<void>();
    const tools = {
      held: async ({ n = 0 }) => {
        reached++;
        await gate.promise;
        return { n: n + 1 };
      },
      free: ({ n = 0 }) => ({ n: n + 1 }),
    };
    for (let run = 0; run < 3; run++) await new Attempts().run(contestant, createProgram("free", tools));
    await settle();
    const before = residentMb();

    const attempts = new Attempts();
    let ended = 0;
    const begun = performance.now();
    const all = Promise.all(
      Array.from({ length: which.size }, async () => {
        await attempts.run(contestant, createProgram("held", tools), { timeoutMs: 600_000 });
        ended++;
      }),
    );
    await untilStill(() => reached + ended, which.size);
    const start = performance.now() - begun;
    await settle();
    const rss = residentMb();
    const peak = peakResidentMb();

    const waiting = reached;
    // runs that a contestant has queued count too
    const alive = which.size - ended;
    const drainBegun = performance.now();
    gate.resolve();
    await Promise.race([all, sleep(DRAIN_MS, undefined, { ref: false })]);
    const drain = performance.now() - drainBegun;
    for (let run = ended; run < which.size; run++) attempts.fail(`no result within ${DRAIN_MS / 1000} s`);
    const perRun = alive === 0 ? Number.NaN : ((rss - before) * 1024) / alive;
    return attempts.sample({ perRun, rss, peak, reached: waiting, start, drain });
  },
};

function createProgram(tool: "held" | "free", tools: Program["tools"]): Program {
  const salt = nextSalt();
  const source = `const { n } = await tools.${tool}({ n: ${salt} });\nreturn n;`;
  return { source, tools, expected: salt + 1 };
}

function leavesOut(contestant: Contestant, which: Case): string | undefined {
  if (contestant.kind === "self" || contestant.id === "async-function") return undefined;
  if (which.size > MOST_RUNS_OF_V8) return `not tried with more than ${MOST_RUNS_OF_V8}`;
  return undefined;
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) {
    globalThis.gc?.();
    await sleep(150);
  }
}

/** Waits until the count is complete, or has not changed for a while. */
async function untilStill(count: () => number, complete: number): Promise<void> {
  let last = -1;
  let movedAt = performance.now();
  while (count() < complete && performance.now() - movedAt < PATIENCE_MS) {
    if (count() !== last) {
      last = count();
      movedAt = performance.now();
    }
    await sleep(5);
  }
}
