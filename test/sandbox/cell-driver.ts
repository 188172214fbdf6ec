/** A pool of one worker, and cells of it that tests drive by hand. */
import { sharedHeapBudget } from "../../packages/codecell/src/sandbox/node/heap-budget.ts";
import { NodePool } from "../../packages/codecell/src/sandbox/node/node-pool.ts";
import { defaultWorkerUrl } from "../../packages/codecell/src/sandbox/node/worker-script.ts";

export { CLOCK, DrivenCell, toStart } from "../../packages/codecell/src/testing/driven-cell.ts";

/** One worker of its own. */
export function createPool(workerUrl: URL = defaultWorkerUrl()): NodePool {
  return new NodePool({
    workers: 1,
    maxWorkers: 2,
    computeWorkers: 1,
    workerUrl,
    budget: sharedHeapBudget(),
  });
}
