/**
 * Heap budget: bounds the bytes of all cells' heaps together, and decides which cell may go on while they are scarce.
 * Runs on the host.
 *
 * - Counts what cells really hold, as their workers report it. For each cell that is about to run it also counts what
 *   the cell may grow to: its limit. A waiting cell counts with its present size.
 * - A cell without room waits. After a moment cells that wait for tools are dropped for it, largest first; their next
 *   delivery rebuilds them from their ledgers.
 * - Something always goes on: if no cell runs and no cell can be dropped, the next cell gets its turn.
 */
import { freemem, totalmem } from "node:os";

/** A pool of workers, as the budget sees it. */
export interface BudgetMember {
  /** The bytes that its cells hold. */
  heldBytes(): number;
  /** The bytes that its running cells may still get. */
  dueBytes(): number;
  /** Whether cells that it dropped still hold memory. */
  isClearing(): boolean;
  /** Drops waiting cells until this much is freed or none is left; returns how much that frees. */
  evict(bytes: number): number;
}

/** The bytes of a vm itself, besides those of its program. */
export const VM_BYTES: number = 4 * 1024 * 1024;
/** The bytes that dropping a parked cell frees, if the cell is no larger than the image. */
export const SMALL_CELL_BYTES: number = 32 * 1024;
/** How long a cell waits before others are dropped for it; most bursts are over sooner. */
const PATIENCE_MS = 100;
/**
 * How long dropped cells may take to go before more are dropped. A worker that a guest took over may never say that
 * they are gone.
 */
const CLEARING_MS = 2000;

export class HeapBudget {
  readonly #bytes: (heldBytes: number) => number;
  readonly #members = new Set<BudgetMember>();

  constructor(bytes: (heldBytes: number) => number) {
    this.#bytes = bytes;
  }

  /** The present budget. */
  get bytes(): number {
    return this.#bytes(this.#sum("heldBytes"));
  }

  join(member: BudgetMember): void {
    this.#members.add(member);
  }

  leave(member: BudgetMember): void {
    this.#members.delete(member);
  }

  /** Whether a cell that needs this much can go on. A call may drop other cells to make room; then ask again. */
  hasRoom(neededBytes: number, waitedMs: number): boolean {
    if (neededBytes <= 0) return true;
    const held = this.#sum("heldBytes");
    const due = this.#sum("dueBytes");
    const missing = held + due + neededBytes - this.#bytes(held);
    if (missing <= 0) return true;
    if (waitedMs < CLEARING_MS && [...this.#members].some((member) => member.isClearing())) return false;
    if (due > 0 && waitedMs < PATIENCE_MS) return false;
    return this.#evict(missing) === 0 && due === 0;
  }

  #evict(bytes: number): number {
    let freed = 0;
    const largestFirst = [...this.#members].toSorted((one, other) => other.heldBytes() - one.heldBytes());
    for (const member of largestFirst) {
      if (freed < bytes) freed += member.evict(bytes - freed);
    }
    return freed;
  }

  #sum(what: "heldBytes" | "dueBytes"): number {
    let sum = 0;
    for (const member of this.#members) sum += member[what]();
    return sum;
  }
}

/** The share of the machine's or the container's memory. The rest is for the process itself and for others. */
const SHARE = 0.5;
const MEASURE_EVERY_MS = 100;

let machine = { totalBytes: 0, availableBytes: 0, at: -Infinity };
let shared: HeapBudget | undefined;

/** The budget of all hosts without a budget of their own. It follows the memory of the machine or the container. */
export function sharedHeapBudget(): HeapBudget {
  shared ??= new HeapBudget((held) => {
    const now = performance.now();
    if (now - machine.at > MEASURE_EVERY_MS) machine = { ...measureMachine(), at: now };
    return Math.min(SHARE * machine.totalBytes, held + SHARE * machine.availableBytes);
  });
  return shared;
}

/**
 * The memory of the machine, or of the container if that is less, and how much of it is free. A container's own count
 * of used memory includes cached files, which it would give back. So its limit is compared with what this process
 * holds.
 */
function measureMachine(): { readonly totalBytes: number; readonly availableBytes: number } {
  // Without a constraint this is zero, or more than the machine has.
  const constrained = process.constrainedMemory();
  const totalBytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  const ofContainer = Math.max(0, totalBytes - process.memoryUsage.rss());
  // On macOS only memory without any use counts as free.
  const availableBytes = process.platform === "darwin" ? ofContainer : Math.min(freemem(), ofContainer);
  return { totalBytes, availableBytes };
}
