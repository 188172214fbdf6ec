/**
 * VmPool: the few live instances of a worker, shared by its many cells.
 *
 * - A cell that is waiting may lose its instance to one that has to run; it is parked, never lost.
 * - The cell that waited longest is parked first.
 */
import type { Image, ParkedMemory } from "./image.ts";
import type { WorkerPlatform } from "./platform.ts";
import type { Vm } from "./vm.ts";

/** A cell as the pool sees it: something that can be parked while it waits. */
export interface VmHolder {
  /** Gives the instance up. */
  park(): void;
}

const LIVE_VMS = 64;
const PAGE_BYTES = 65_536;

export class VmPool {
  readonly #image: Image;
  readonly #onDropped: WorkerPlatform["onMemoryDropped"];
  /** Free instances in the image's state, by their maximum. */
  readonly #free = new Map<number, Vm[]>();
  /** Waiting cells that hold an instance, longest wait first. */
  readonly #waiting = new Set<VmHolder>();
  #live = 0;

  constructor(image: Image, onDropped: WorkerPlatform["onMemoryDropped"]) {
    this.#image = image;
    this.#onDropped = onDropped;
  }

  /** An instance in the image's state, or continuing where a parked cell stopped. */
  acquire(memoryBytes: number, parked?: ParkedMemory): Vm {
    const maxPages = toMaxPages(memoryBytes);
    while (this.#live >= LIVE_VMS) {
      const [longest] = this.#waiting;
      if (longest === undefined) break;
      longest.park();
    }
    this.#live++;
    const vm = this.#free.get(maxPages)?.pop() ?? this.#image.createVm(maxPages);
    if (parked !== undefined) this.#image.unpark(vm, parked);
    return vm;
  }

  release(vm: Vm): void {
    this.#live--;
    vm.owner = undefined;
    const free = this.#free.get(vm.maxPages) ?? [];
    if (free.length < LIVE_VMS && this.#image.reset(vm)) {
      free.push(vm);
      this.#free.set(vm.maxPages, free);
    } else this.#onDropped(vm.memory.buffer.byteLength);
  }

  park(vm: Vm): ParkedMemory {
    const parked = this.#image.park(vm);
    this.release(vm);
    return parked;
  }

  /** The memory of a cell that keeps its instance. */
  copy(vm: Vm): ParkedMemory {
    return this.#image.park(vm);
  }

  /** The largest memory that an instance for this limit can have. */
  mostBytes(memoryBytes: number): number {
    return Math.max(toMaxPages(memoryBytes) * PAGE_BYTES, this.#image.bytes.length);
  }

  startWaiting(holder: VmHolder): void {
    this.#waiting.add(holder);
  }

  stopWaiting(holder: VmHolder): void {
    this.#waiting.delete(holder);
  }
}

/**
 * Twice the limit: the engine's own limit ends a greedy program cleanly before this one traps.
 * Rounded to a power of two, so that few classes of instances serve all limits.
 */
function toMaxPages(memoryBytes: number): number {
  return 2 ** Math.ceil(Math.log2((2 * memoryBytes) / PAGE_BYTES));
}
