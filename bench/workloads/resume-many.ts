/**
 * 10,000 suspended runs whose decisions all arrive at once: how many of them are completed per second.
 *
 * Each resume claims its run, opens its seal, brings the program back to where it was, records and delivers the
 * decision and deletes the run. With SQLite all of that is durable.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "codecell";
import { Attempts } from "../harness/attempts.ts";
import { peakResidentMb } from "../harness/resident-memory.ts";
import { makeRuns, openSqlite, openStoredRuns, putAtRest } from "./stored-runs.ts";
import type { Workload } from "./workload.ts";

const RUNS = 10_000;
const QUICK_RUNS = 1000;
const SQLITE = { label: `${RUNS} runs in SQLite`, size: RUNS };
const QUICK = { label: `${QUICK_RUNS} runs in SQLite`, size: QUICK_RUNS };
const MEMORY = { label: `${RUNS} runs in memory`, size: RUNS };

export const resumeMany: Workload = {
  name: "resume-many",
  title: "Suspended runs resumed as their decisions arrive",
  process: "own",
  opens: true,
  only: ["codecell"],
  metrics: [
    { key: "rate", label: "resumed per s", better: "higher", unit: "per s" },
    { key: "peak", label: "peak RSS", better: "lower", unit: "MB" },
  ],
  cases: [SQLITE, MEMORY],
  quickCases: [QUICK],
  rounds: 1,
  measure: async (_contestant, which) => {
    const folder = mkdtempSync(join(tmpdir(), "codecell-bench-"));
    try {
      const { runs, states } = await makeRuns(which.size);
      await using store = await openStore(which === MEMORY ? undefined : join(folder, "runs.db"));
      await putAtRest(store, states);
      await using stored = await openStoredRuns(store);
      const begun = performance.now();
      const attempts = new Attempts();
      await Promise.all(runs.map((run) => attempts.check(run.program.expected, () => stored.resume(run))));
      const seconds = (performance.now() - begun) / 1000;
      const left = await store.list({ limit: 1 });
      if (left.length > 0) attempts.fail("a run that completed is still in the store");
      return attempts.sample({
        rate: (attempts.attempted - attempts.failed) / seconds,
        peak: peakResidentMb(),
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function openStore(path: string | undefined): Promise<Store> {
  if (path !== undefined) return openSqlite(path);
  const { createMemoryStore } = await import("codecell");
  return createMemoryStore();
}
