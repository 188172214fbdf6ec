/**
 * Runs on the host. Opens the sandbox of a host. Throws for options with which it cannot be opened. A sandbox starts
 * nothing before the first run.
 */
import { availableParallelism } from "node:os";
import { HeapBudget, sharedHeapBudget } from "../../sandbox/node/heap-budget.ts";
import { judgesOf } from "../../sandbox/node/judges.ts";
import { NodePool } from "../../sandbox/node/node-pool.ts";
import type { JudgeApart } from "../../protocol/judges.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { defaultWorkerUrl, resolveWorkerUrl } from "../../sandbox/node/worker-script.ts";
import type { HostOptions } from "./host-options.ts";

/** The script of the pool that was opened last. */
let newestWorkerUrl: URL | undefined;

export function openSandbox(
  options: Pick<HostOptions, "workers" | "workerUrl" | "heapBudgetBytes">,
): Sandbox {
  const workers = options.workers ?? availableParallelism();
  const workerUrl = resolveWorkerUrl(options.workerUrl);
  newestWorkerUrl = workerUrl;
  const { heapBudgetBytes } = options;
  const budget = heapBudgetBytes === undefined ? sharedHeapBudget() : new HeapBudget(() => heapBudgetBytes);
  // Leaves one core to cells that do not compute.
  const computeWorkers = Math.max(1, workers - 1);
  return new NodePool({ workers, maxWorkers: 2 * workers, computeWorkers, workerUrl, budget });
}

/** Judges values that belong to no run. If this process has a pool, the threads run the same script. */
export function judgeOutsideRuns(): JudgeApart {
  return judgesOf(newestWorkerUrl ?? defaultWorkerUrl()).for("", new AbortController().signal);
}
