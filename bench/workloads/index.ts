/** The written list of workloads, in the order in which they run and are reported. */

import { agentSurface } from "./agent-surface.ts";
import { catalogBuild } from "./catalog-build.ts";
import { check } from "./check.ts";
import { coldStart } from "./cold-start.ts";
import { concurrentRuns } from "./concurrent-runs.ts";
import { guestCpu } from "./guest-cpu.ts";
import { memory } from "./memory.ts";
import { neighbours } from "./neighbours.ts";
import { parallelCalls } from "./parallel-calls.ts";
import { payload } from "./payload.ts";
import { resumeMany } from "./resume-many.ts";
import { surface } from "./surface.ts";
import { suspendedInSqlite } from "./suspended-in-sqlite.ts";
import { suspension } from "./suspension.ts";
import { suspensionWrites } from "./suspension-writes.ts";
import { threeRoundTrips } from "./three-round-trips.ts";
import { throughput } from "./throughput.ts";
import { timeOut } from "./time-out.ts";
import { toolSearch, toolSearchQuality } from "./tool-search.ts";
import type { Workload } from "./workload.ts";

export const WORKLOADS: readonly Workload[] = [
  coldStart,
  threeRoundTrips,
  throughput,
  parallelCalls,
  concurrentRuns,
  payload,
  guestCpu,
  memory,
  timeOut,
  neighbours,
  suspension,
  suspensionWrites,
  suspendedInSqlite,
  resumeMany,
  check,
  catalogBuild,
  toolSearch,
  toolSearchQuality,
  surface,
  agentSurface,
];

export function findWorkload(name: string): Workload {
  const workload = WORKLOADS.find((each) => each.name === name);
  if (workload === undefined) {
    const known = WORKLOADS.map((each) => each.name).join(", ");
    throw new RangeError(`Cannot find workload "${name}": known are ${known}`);
  }
  return workload;
}
