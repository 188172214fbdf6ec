/**
 * A run stops for a decision and goes on from its sealed token.
 *
 * Two spans are measured, the same for all: from the moment when the tool asks (in host code, after all earlier
 * calls) until the caller has the token, and from giving the token back to the value. The calls before are left out:
 * their cost is measured elsewhere, and 200 of them would hide what suspending costs.
 */

import { Attempts } from "../harness/attempts.ts";
import { percentile } from "../harness/statistics.ts";
import type { Contestant } from "../contestants/contestant.ts";
import { createAskingProgram, createAskingTools, type Past } from "./asking.ts";
import type { Case, Workload } from "./workload.ts";

const ONE: Case = { label: "1 outcome of 1 KB", size: 1 };
const TEN: Case = { label: "10 small calls", size: 10 };
const DROPPED: Case = { label: "200 outcomes of 4 KB", size: 200 };
const KEPT: Case = { label: "200 outcomes of 4 KB, kept by the program", size: 200 };
const PASTS: ReadonlyMap<string, Past> = new Map([
  [ONE.label, { calls: 1, bytes: 1024, keeps: "kept" }],
  [TEN.label, { calls: 10, bytes: 64, keeps: "kept" }],
  [DROPPED.label, { calls: 200, bytes: 4096, keeps: "dropped" }],
  [KEPT.label, { calls: 200, bytes: 4096, keeps: "kept" }],
]);

/** One contestant needs more than a second for a run: three runs are enough for a median. */
const MIN_RUNS = 3;
const WARM_MS = 500;

export const suspension: Workload = {
  name: "suspension",
  title: "Suspend and resume through a sealed token",
  process: "shared",
  metrics: [
    { key: "total", label: "both", better: "lower", unit: "ms" },
    { key: "suspend", label: "suspend", better: "lower", unit: "ms" },
    { key: "resume", label: "resume", better: "lower", unit: "ms" },
    { key: "token", label: "token", better: "lower", unit: "KB" },
  ],
  cases: [ONE, TEN, DROPPED, KEPT],
  quickCases: [ONE, TEN, DROPPED],
  rounds: 3,
  leavesOut,
  measure: async (contestant, which, pace) => {
    const past = PASTS.get(which.label);
    const suspend = contestant.suspend?.bind(contestant);
    if (past === undefined || suspend === undefined) throw new RangeError("Cannot measure what is left out");
    contestant.prepare?.({ inFlight: 1, mostly: "computing" });
    const attempts = new Attempts();
    const suspends: number[] = [];
    const resumes: number[] = [];
    const sizes: number[] = [];
    let askedAt = 0;
    const tools = createAskingTools(past, () => {
      askedAt = performance.now();
    });

    const once = async (counts: boolean): Promise<boolean> => {
      const program = createAskingProgram(past);
      return attempts.check(program.expected, async () => {
        const suspended = await suspend(program.source, tools);
        const suspendMs = performance.now() - askedAt;
        const begun = performance.now();
        const value = await suspended.resume(program.answer);
        if (counts) {
          suspends.push(suspendMs);
          resumes.push(performance.now() - begun);
          sizes.push(Buffer.byteLength(suspended.token) / 1024);
        }
        return value;
      });
    };

    const warmUntil = performance.now() + Math.min(pace.warmMs, WARM_MS);
    for (let run = 0; run < 2 || performance.now() < warmUntil; run++) {
      if (!(await once(false)) && run > 0) return attempts.sample({});
    }
    const until = performance.now() + pace.blockMs;
    for (let run = 0; run < MIN_RUNS || (performance.now() < until && run < pace.maxRuns); run++) {
      await once(true);
    }
    const both = suspends.map((ms, run) => ms + (resumes[run] ?? Number.NaN));
    const middle = (values: readonly number[]): number => percentile(values, 0.5);
    return attempts.sample({
      total: middle(both),
      suspend: middle(suspends),
      resume: middle(resumes),
      token: middle(sizes),
    });
  },
};

function leavesOut(contestant: Contestant, which: Case): string | undefined {
  if (contestant.suspend === undefined) return "a run cannot be continued elsewhere";
  if (contestant.id === "experimental-ai-sdk-code-mode" && which === KEPT) {
    return "only the case without it: a second for each run";
  }
  return undefined;
}
