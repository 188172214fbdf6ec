/** Measures one workload with all contestants that can run, in one process or in one process each. */

import type { Contestant } from "../contestants/contestant.ts";
import type { Case, Pace, Sample, Workload } from "../workloads/workload.ts";
import { toEmptyRow, toRow, type Row } from "./rows.ts";
import { runJob } from "./spawn.ts";

const SILENCE_MS = 240_000;
/** A contestant that needs longer than this for one block is left out of the next round. */
const SLOW_MS = 20_000;

export interface Plan {
  readonly workload: Workload;
  readonly contestants: readonly Contestant[];
  readonly cases: readonly Case[];
  readonly rounds: number;
  readonly pace: Pace;
  readonly nodeFlags: readonly string[];
  onProgress(text: string): void;
}

interface Collected {
  readonly samples: Map<string, Sample[]>;
  /** Why a contestant has no samples, or no more of them. */
  readonly reasons: Map<string, string>;
}

const keyOf = (contestant: string, caseLabel: string): string => `${contestant}\n${caseLabel}`;

export async function measureWorkload(plan: Plan): Promise<readonly Row[]> {
  const collected =
    plan.workload.process === "shared" ? await measureTogether(plan) : await measureApart(plan);
  return plan.cases.flatMap((which) =>
    plan.contestants.map((contestant): Row => {
      const leftOut = plan.workload.leavesOut?.(contestant, which);
      if (leftOut !== undefined) return toEmptyRow(contestant.id, which.label, leftOut);
      const samples = collected.samples.get(keyOf(contestant.id, which.label));
      if (samples !== undefined) return toRow(contestant.id, which.label, samples);
      return toEmptyRow(contestant.id, which.label, collected.reasons.get(contestant.id) ?? "not measured");
    }),
  );
}

async function measureTogether(plan: Plan): Promise<Collected> {
  const reasons = new Map<string, string>();
  for (;;) {
    const contestants = plan.contestants.filter((each) => !reasons.has(each.id));
    const samples = new Map<string, Sample[]>();
    if (contestants.length === 0) return { samples, reasons };
    const crash = await runJob(
      {
        workload: plan.workload.name,
        contestants: contestants.map((each) => each.id),
        cases: plan.cases.map((each) => each.label),
        rounds: plan.rounds,
        pace: plan.pace,
      },
      { nodeFlags: flagsOf(plan, contestants), silenceMs: SILENCE_MS },
      (report) => {
        if (report.type === "unavailable") reasons.set(report.contestant, report.reason);
        if (report.type === "begun") plan.onProgress(`${report.contestant} ${report.caseLabel}`);
        if (report.type === "measured") {
          push(samples, keyOf(report.contestant, report.caseLabel), report.sample);
        }
      },
    );
    if (crash === undefined) return { samples, reasons };
    // the contestant that crashed the process is out; the others start again
    reasons.set(crash.contestant, crash.reason);
  }
}

async function measureApart(plan: Plan): Promise<Collected> {
  const samples = new Map<string, Sample[]>();
  const reasons = new Map<string, string>();
  const slow = new Set<string>();
  for (let round = 0; round < plan.rounds; round++) {
    for (const which of plan.cases) {
      for (const contestant of plan.contestants) {
        const key = keyOf(contestant.id, which.label);
        if (slow.has(key) || plan.workload.leavesOut?.(contestant, which) !== undefined) continue;
        plan.onProgress(`${contestant.id} ${which.label} (round ${round + 1})`);
        const begun = performance.now();
        const crash = await runJob(
          {
            workload: plan.workload.name,
            contestants: [contestant.id],
            cases: [which.label],
            rounds: 1,
            pace: plan.pace,
          },
          { nodeFlags: flagsOf(plan, [contestant]), silenceMs: SILENCE_MS },
          (report) => {
            if (report.type === "unavailable") reasons.set(report.contestant, report.reason);
            if (report.type === "measured") push(samples, key, report.sample);
          },
        );
        if (crash !== undefined) {
          push(samples, key, {
            metrics: {},
            attempted: which.size,
            failed: which.size,
            failure: crash.reason,
          });
        }
        if (performance.now() - begun > SLOW_MS) slow.add(key);
      }
    }
  }
  return { samples, reasons };
}

function flagsOf(plan: Plan, contestants: readonly Contestant[]): readonly string[] {
  return [...plan.nodeFlags, ...new Set(contestants.flatMap((each) => each.nodeFlags ?? []))];
}

function push(samples: Map<string, Sample[]>, key: string, sample: Sample): void {
  const known = samples.get(key);
  if (known === undefined) samples.set(key, [sample]);
  else known.push(sample);
}
