/**
 * Evicting cells: drops waiting cells, so that others get their memory. Runs on the host.
 *
 * - Largest first; cells no larger than the image come last, in the order in which they were placed.
 * - Only on workers where this frees memory at once: a worker that another cell holds drops nothing before that cell
 *   leaves.
 */
import { SMALL_CELL_BYTES } from "./heap-budget.ts";
import type { NodeWorker } from "./node-worker.ts";
import type { Resident } from "./resident.ts";

/** Drops cells until `bytes` are freed; returns how many bytes that frees. */
export function evictCells(workers: Iterable<NodeWorker>, bytes: number): number {
  const grown: Resident[] = [];
  const small: Resident[] = [];
  for (const worker of workers) {
    if (worker.occupied) continue;
    for (const resident of worker.residents.values()) {
      if (resident.unanswered === 0 && resident.snapshots.length === 0) {
        (resident.heapBytes > 0 ? grown : small).push(resident);
      }
    }
  }
  grown.sort((one, other) => other.heapBytes - one.heapBytes);
  let freed = 0;
  for (const cells of [grown, small]) {
    for (const resident of cells) {
      if (freed >= bytes) return freed;
      const { worker, heapBytes } = resident;
      if (worker === undefined || !resident.listener.onEvict()) continue;
      worker.drop(resident);
      freed += heapBytes > 0 ? heapBytes : SMALL_CELL_BYTES;
    }
  }
  return freed;
}
