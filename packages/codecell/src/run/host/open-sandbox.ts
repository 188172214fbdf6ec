/**
 * Runs on the host. Opens the sandbox of a host. Throws for options with which it cannot be opened. A sandbox starts
 * nothing before the first run.
 */
import { availableParallelism } from "node:os";
import { HeapBudget, sharedHeapBudget } from "../../sandbox/node/heap-budget.ts";
import { NodePool } from "../../sandbox/node/node-pool.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { resolveWorkerUrl } from "../../sandbox/node/worker-script.ts";
import type { HostOptions } from "./host-options.ts";

export function openSandbox(
  options: Pick<HostOptions, "workers" | "workerUrl" | "heapBudgetBytes">,
): Sandbox {
  const workers = options.workers ?? availableParallelism();
  const workerUrl = resolveWorkerUrl(options.workerUrl);
  const { heapBudgetBytes } = options;
  const budget = heapBudgetBytes === undefined ? sharedHeapBudget() : new HeapBudget(() => heapBudgetBytes);
  // Leaves one core to cells that do not compute.
  const computeWorkers = Math.max(1, workers - 1);
  return new NodePool({ workers, maxWorkers: 2 * workers, computeWorkers, workerUrl, budget });
}
