/**
 * The measuring process: takes one job from its arguments, measures, reports over its IPC channel, exits.
 *
 * Contestants are interleaved: each round goes through all of them, and begins with another one.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { createContestant } from "../contestants/index.ts";
import type { Contestant } from "../contestants/contestant.ts";
import { findWorkload } from "../workloads/index.ts";
import type { Job, Report } from "./job.ts";

function report(message: Report): Promise<void> {
  return new Promise((resolve, reject) => {
    if (process.send === undefined)
      throw new Error("Cannot report: no IPC channel, start bench/main.ts instead");
    process.send(message, (error: Error | null) => (error === null ? resolve() : reject(error)));
  });
}

async function openAll(ids: readonly string[], opens: boolean): Promise<Contestant[]> {
  const ready: Contestant[] = [];
  for (const id of ids) {
    const contestant = createContestant(id);
    await report({ type: "begun", contestant: id, caseLabel: "" });
    try {
      if (!opens) await contestant.open();
      ready.push(contestant);
    } catch (error) {
      await report({ type: "unavailable", contestant: id, reason: messageOf(error) });
    }
  }
  return ready;
}

function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.split("\n", 1)[0] ?? "";
}

async function measure(job: Job): Promise<void> {
  const workload = findWorkload(job.workload);
  const contestants = await openAll(job.contestants, workload.opens === true);
  const known = new Map(
    [...workload.cases, ...(workload.quickCases ?? [])].map((each) => [each.label, each]),
  );
  const cases = job.cases.flatMap((label) => known.get(label) ?? []);
  for (let round = 0; round < job.rounds; round++) {
    for (const which of cases) {
      for (let turn = 0; turn < contestants.length; turn++) {
        const contestant = contestants[(turn + round) % contestants.length];
        if (contestant === undefined || workload.leavesOut?.(contestant, which) !== undefined) continue;
        const about = { contestant: contestant.id, caseLabel: which.label };
        await report({ type: "begun", ...about });
        // no contestant may leave its garbage to the next
        if (workload.process === "shared") {
          globalThis.gc?.();
          await sleep(20);
        }
        try {
          const sample = await workload.measure(contestant, which, job.pace);
          await report({ type: "measured", ...about, sample });
        } catch (error) {
          await report({ type: "unavailable", contestant: contestant.id, reason: messageOf(error) });
        }
      }
    }
  }
}

const job: Job = JSON.parse(process.argv[2] ?? "");
await measure(job);
// some contestants cannot be closed and keep workers alive
process.exit(0);
