/**
 * 100,000 suspended runs in a SQLite file: what it takes to find one and to finish it, and how large the file is.
 *
 * - A few thousand of them are real, made by a host, and scattered among copies of their bytes under other ids.
 *   Copies have the size of a real run but cannot be resumed, since the seal binds the id.
 * - The file is filled through the store's own operations, closed, and opened again before anything is measured.
 */

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Attempts } from "../harness/attempts.ts";
import { percentile } from "../harness/statistics.ts";
import { makeRuns, openSqlite, openStoredRuns, putAtRest, type SuspendedRun } from "./stored-runs.ts";
import type { Sample, Workload } from "./workload.ts";

const RUNS = 100_000;
const QUICK_RUNS = 10_000;
const REAL_RUNS = 2000;
const CALLS = 10;
const RESUMED = 200;
const PAGE = 100;
const MB = 1024 * 1024;

export const suspendedInSqlite: Workload = {
  name: "suspended-in-sqlite",
  title: "One of many suspended runs in a SQLite file",
  process: "own",
  opens: true,
  only: ["codecell"],
  metrics: [
    { key: "total", label: "list + resume", better: "lower", unit: "ms" },
    { key: "p95", label: "p95", better: "lower", unit: "ms" },
    { key: "list", label: "list a page", better: "lower", unit: "ms" },
    { key: "resume", label: "claim + resume", better: "lower", unit: "ms" },
    { key: "state", label: "a run", better: "lower", unit: "KB" },
    { key: "file", label: "file", better: "lower", unit: "MB" },
    { key: "fill", label: "to fill", better: "lower", unit: "ms" },
  ],
  cases: [{ label: `${RUNS} runs`, size: RUNS }],
  quickCases: [{ label: `${QUICK_RUNS} runs`, size: QUICK_RUNS }],
  rounds: 1,
  measure: async (_contestant, which) => {
    const folder = mkdtempSync(join(tmpdir(), "codecell-bench-"));
    const path = join(folder, "runs.db");
    try {
      const made = await makeRuns(Math.min(REAL_RUNS, which.size), CALLS);
      const begun = performance.now();
      {
        await using store = await openSqlite(path);
        await putAtRest(store, made.states, which.size);
      }
      const fillMs = performance.now() - begun;
      const sizes = made.states.map(({ state }) => state.length / 1024);
      const measured = await findAndFinish(path, made.runs);
      return {
        ...measured,
        metrics: {
          ...measured.metrics,
          state: percentile(sizes, 0.5),
          file: statSync(path).size / MB,
          fill: fillMs,
        },
      };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** For some of the real runs: lists a page that begins with the run, and resumes it. */
async function findAndFinish(path: string, runs: readonly SuspendedRun[]): Promise<Sample> {
  await using store = await openSqlite(path);
  await using stored = await openStoredRuns(store, CALLS);
  const attempts = new Attempts();
  const lists: number[] = [];
  const resumes: number[] = [];
  for (const run of runs.slice(0, RESUMED)) {
    const begun = performance.now();
    const page = await store.list({ claimable: true, after: run.id.slice(0, -1), limit: PAGE });
    const listed = performance.now();
    const right = await attempts.check(run.program.expected, () => stored.resume(run));
    const ended = performance.now();
    if (!page.some(({ id }) => id === run.id)) attempts.fail("a suspended run is not in its page");
    if (!right) continue;
    lists.push(listed - begun);
    resumes.push(ended - listed);
  }
  const both = lists.map((ms, index) => ms + (resumes[index] ?? Number.NaN));
  return attempts.sample({
    total: percentile(both, 0.5),
    p95: percentile(both, 0.95),
    list: percentile(lists, 0.5),
    resume: percentile(resumes, 0.5),
  });
}
