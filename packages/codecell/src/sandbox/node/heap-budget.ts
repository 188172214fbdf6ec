/**
 * Heap budget: the bytes that the heaps of all cells together may have, and who may go on while they are scarce.
 *
 * - Runs on the host. Counts what cells really hold, as their workers say, and for each that is about to be moved what it
 *   may come to: its limit. A cell that waits is charged what it has.
 * - A cell for which there is no room waits. After a moment cells that wait for tools are dropped for it, largest first:
 *   the next delivery rebuilds them from their ledgers.
 * - Something always goes on: where nothing is being moved and nothing can be dropped, the next one has its turn.
 */
import { freemem, totalmem } from "node:os";

/** A pool of workers, as the budget sees it. */
export interface BudgetMember {
  /** What its cells hold. */
  heldBytes(): number;
  /** What those cells may still get that are being moved. */
  dueBytes(): number;
  /** Whether cells it has dropped still hold something. */
  isClearing(): boolean;
  /** Drops cells that wait, until so much is freed or there are none; gives what that frees. */
  evict(bytes: number): number;
}

/** A vm of its own, beside what its program gets. */
export const VM_BYTES: number = 4 * 1024 * 1024;
/** What is freed by a cell that is no larger than the image, when it is parked. */
export const SMALL_CELL_BYTES: number = 32 * 1024;
/** How long a cell waits before others are dropped for it: most turns are over sooner. */
const PATIENCE_MS = 100;
/** How long cells that were dropped may take to go, before more are: a worker that was taken over may never say so. */
const CLEARING_MS = 2000;

export class HeapBudget {
  readonly #bytes: (heldBytes: number) => number;
  readonly #members = new Set<BudgetMember>();

  constructor(bytes: (heldBytes: number) => number) {
    this.#bytes = bytes;
  }

  /** As it is now. */
  get bytes(): number {
    return this.#bytes(this.#sum("heldBytes"));
  }

  join(member: BudgetMember): void {
    this.#members.add(member);
  }

  leave(member: BudgetMember): void {
    this.#members.delete(member);
  }

  /** Whether a cell that may get so much can go on. It may make room, and is then to be asked again. */
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

/** Of what the machine, or the container, has: the rest is for the process itself and for others. */
const SHARE = 0.5;
const LOOK_EVERY_MS = 100;

let machine = { totalBytes: 0, availableBytes: 0, at: -Infinity };
let shared: HeapBudget | undefined;

/** The budget of all hosts that have none of their own; it follows what the machine or the container has. */
export function sharedHeapBudget(): HeapBudget {
  shared ??= new HeapBudget((held) => {
    const now = performance.now();
    if (now - machine.at > LOOK_EVERY_MS) machine = { ...lookAtMachine(), at: now };
    return Math.min(SHARE * machine.totalBytes, held + SHARE * machine.availableBytes);
  });
  return shared;
}

/**
 * What the machine has, or the container where it has less, and what of it nobody uses. A container's own count of what is
 * used has the files it read in it, which it would give back: so its limit is compared with what this process holds.
 */
function lookAtMachine(): { readonly totalBytes: number; readonly availableBytes: number } {
  // Zero, or more than there is, where nothing is constrained.
  const constrained = process.constrainedMemory();
  const totalBytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  const ofContainer = Math.max(0, totalBytes - process.memoryUsage.rss());
  // macOS counts as free only what it has not found a use for.
  const availableBytes = process.platform === "darwin" ? ofContainer : Math.min(freemem(), ofContainer);
  return { totalBytes, availableBytes };
}
