/**
 * What suspending a run writes into its store, after few calls and after many.
 *
 * The journal was already written, call by call. Only what the suspension itself writes is counted.
 */

import type { Store } from "codecell/store";
import { Attempts } from "../harness/attempts.ts";
import { percentile } from "../harness/statistics.ts";
import { openStoredRuns } from "./stored-runs.ts";
import type { Case, Workload } from "./workload.ts";

const OUTPUT_BYTES = 4096;
const RUNS = 20;
const casesOf = (...calls: [number, ...number[]]): [Case, ...Case[]] =>
  calls.map((size) => ({ label: `${size} outcomes of 4 KB`, size })) as [Case, ...Case[]];

export const suspensionWrites: Workload = {
  name: "suspension-writes",
  title: "What a suspension writes into a store",
  process: "own",
  opens: true,
  only: ["codecell"],
  metrics: [
    { key: "written", label: "written", better: "lower", unit: "KB" },
    { key: "resume", label: "claim + resume", better: "lower", unit: "ms" },
  ],
  cases: casesOf(10, 100, 400),
  rounds: 3,
  measure: async (_contestant, { size }) => {
    const { createMemoryStore } = await import("codecell/store");
    await using memory = createMemoryStore();
    const written: number[] = [];
    const store: Store = {
      ...memory,
      release: (claim, next) => {
        if (next !== undefined) {
          const bytes = "state" in next ? next.state.length : next.entry.length + next.snapshot.length;
          written.push(bytes / 1024);
        }
        return memory.release(claim, next);
      },
    };
    await using stored = await openStoredRuns(store, size, OUTPUT_BYTES);
    const runs = await stored.suspendMany(RUNS);
    const attempts = new Attempts();
    const resumes: number[] = [];
    for (const run of runs) {
      const begun = performance.now();
      const right = await attempts.check(run.program.expected, () => stored.resume(run));
      if (right) resumes.push(performance.now() - begun);
    }
    return attempts.sample({ written: percentile(written, 0.5), resume: percentile(resumes, 0.5) });
  },
};
