/**
 * 10,000 suspended runs in a SQLite file, all with decisions: how many of them are completed per second.
 *
 * - Either 64 are resumed at a time, the next when one is done, or all at once, which is harder since thousands are
 *   live together.
 * - Each resume claims its run, opens its seal, restores the program, records and delivers the decision, and deletes
 *   the run. Each step is durable.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Attempts } from "../harness/attempts.ts";
import { peakResidentMb } from "../harness/resident-memory.ts";
import { makeRuns, openSqlite, openStoredRuns, putAtRest } from "./stored-runs.ts";
import type { Workload } from "./workload.ts";

const RUNS = 10_000;
const QUICK_RUNS = 1000;
/** Fewer than in the other workload, since the calls are made before anything is measured. */
const CALLS = 3;
const LANES = 64;
const IN_LANES = { label: `${RUNS} runs, ${LANES} at a time`, size: RUNS };
const AT_ONCE = { label: `${RUNS} runs at once`, size: RUNS };
const QUICK = { label: `${QUICK_RUNS} runs, ${LANES} at a time`, size: QUICK_RUNS };

export const resumeMany: Workload = {
  name: "resume-many",
  title: "Suspended runs resumed as their decisions arrive",
  process: "own",
  opens: true,
  only: ["codecell"],
  metrics: [
    { key: "rate", label: "resumed per s", better: "higher", unit: "per s" },
    { key: "cpu", label: "CPU/run", better: "lower", unit: "ms" },
    { key: "peak", label: "peak RSS", better: "lower", unit: "MB" },
  ],
  cases: [IN_LANES, AT_ONCE],
  quickCases: [QUICK],
  rounds: 1,
  measure: async (_contestant, which) => {
    const folder = mkdtempSync(join(tmpdir(), "codecell-bench-"));
    try {
      const { runs, states } = await makeRuns(which.size, CALLS);
      await using store = await openSqlite(join(folder, "runs.db"));
      await putAtRest(store, states);
      await using stored = await openStoredRuns(store, CALLS);
      const attempts = new Attempts();
      const waiting = runs.values();
      const lane = async (): Promise<void> => {
        for (const run of waiting) await attempts.check(run.program.expected, () => stored.resume(run));
      };
      const lanes = which.label === AT_ONCE.label ? runs.length : LANES;
      const cpu = process.cpuUsage();
      const begun = performance.now();
      await Promise.all(Array.from({ length: lanes }, lane));
      const seconds = (performance.now() - begun) / 1000;
      const { user, system } = process.cpuUsage(cpu);
      const left = await store.list({ limit: 1 });
      if (left.length > 0) attempts.fail("a run that completed is still in the store");
      return attempts.sample({
        rate: (attempts.attempted - attempts.failed) / seconds,
        cpu: (user + system) / 1000 / attempts.attempted,
        peak: peakResidentMb(),
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
