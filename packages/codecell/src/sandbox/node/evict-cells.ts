/**
 * Evicting cells: drops waiting cells, so that others get their memory. Runs on the host.
 *
 * - Largest first; cells no larger than the image come last, in the order in which they were placed.
 * - Only on workers where this frees memory at once: a worker that another cell holds drops nothing before that cell
 *   leaves.
 */
import { SMALL_CELL_BYTES } from "./heap-budget.ts";
import type { NodeWorker } from "./node-worker.ts";
import type { PoolCell } from "./pool-cell.ts";

/** Drops cells until `bytes` are freed; returns how many bytes that frees. */
export function evictCells(workers: Iterable<NodeWorker>, bytes: number): number {
  const grown: PoolCell[] = [];
  const small: PoolCell[] = [];
  for (const worker of workers) {
    if (worker.occupied) continue;
    for (const poolCell of worker.cells.values()) {
      if (poolCell.unanswered === 0 && poolCell.snapshots.length === 0) {
        (poolCell.heapBytes > 0 ? grown : small).push(poolCell);
      }
    }
  }
  grown.sort((one, other) => other.heapBytes - one.heapBytes);
  let freed = 0;
  for (const group of [grown, small]) {
    for (const poolCell of group) {
      if (freed >= bytes) return freed;
      const { worker, heapBytes } = poolCell;
      if (worker === undefined || !poolCell.listener.onEvict()) continue;
      worker.drop(poolCell);
      freed += heapBytes > 0 ? heapBytes : SMALL_CELL_BYTES;
    }
  }
  return freed;
}
