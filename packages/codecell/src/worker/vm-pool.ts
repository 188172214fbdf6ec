/**
 * Runs in a worker thread. VmPool owns the few live instances of a worker, which its many cells share.
 *
 * - A waiting cell may lose its instance to a cell that has to run. The waiting cell is then parked, never lost.
 * - The pool parks the cell that has waited longest first.
 * - There are never more instances than `mostVms`, free ones included, except where a cell needs an instance to go on.
 */
import type { Image, ParkedMemory } from "./image.ts";
import type { WorkerPlatform } from "./platform.ts";
import { type Vm, VmFault } from "./vm.ts";

/** A cell as the pool sees it: the pool can park it while it waits. */
export interface VmHolder {
  /** Gives the instance up. */
  park(): void;
}

const PAGE_BYTES = 65_536;

export class VmPool {
  readonly #image: Image;
  readonly #mostVms: number;
  readonly #onDropped: WorkerPlatform["onMemoryDropped"];
  /** Free instances in the image's state, by their maximum of pages. */
  readonly #free = new Map<number, Vm[]>();
  /** Waiting cells that hold an instance, longest wait first. */
  readonly #waiting = new Set<VmHolder>();
  #live = 0;
  #freeCount = 0;
  /** Bytes of all vms, each as large as when a cell last left it, and of all parked cells. */
  #heldBytes = 0;
  readonly #counted = new WeakMap<Vm, number>();

  constructor(image: Image, mostVms: number, onDropped: WorkerPlatform["onMemoryDropped"]) {
    this.#image = image;
    this.#mostVms = mostVms;
    this.#onDropped = onDropped;
    const first = image.takeBuilder();
    if (first !== undefined) this.#keep(first);
  }

  /** Gives an instance in the image's state, or one that goes on where a parked cell stopped. */
  acquire(memoryBytes: number, parked?: ParkedMemory): Vm {
    const maxPages = toMaxPages(memoryBytes);
    while (this.#live >= this.#mostVms && this.#parkLongest());
    try {
      return this.#acquire(maxPages, parked);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
    // V8 found no place for the memory. The pool now keeps no instance but this new one, and V8 collects the dropped
    // ones.
    while (this.#parkLongest());
    this.#dropFree();
    try {
      return this.#acquire(maxPages, parked);
    } catch {
      throw new VmFault("space", "No place for the memory of a vm");
    }
  }

  #acquire(maxPages: number, parked: ParkedMemory | undefined): Vm {
    const vm = this.#takeFree(maxPages) ?? this.#create(maxPages);
    if (parked !== undefined) {
      this.#image.unpark(vm, parked);
      this.forget(parked);
    }
    this.#live++;
    this.count(vm);
    return vm;
  }

  /** The bytes that vms and parked cells take. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Call whenever a vm may have grown. Returns how many bytes the vm has beyond the image. */
  count(vm: Vm): number {
    const bytes = vm.memory.buffer.byteLength;
    this.#heldBytes += bytes - (this.#counted.get(vm) ?? 0);
    this.#counted.set(vm, bytes);
    return bytes - this.#image.bytes.length;
  }

  /** Counts a parked cell that came from elsewhere. */
  adopt(parked: ParkedMemory): void {
    this.#heldBytes += sizeOf(parked);
  }

  /** Stops counting a parked cell that goes on or is dropped. */
  forget(parked: ParkedMemory): void {
    this.#heldBytes -= sizeOf(parked);
  }

  #drop(vm: Vm): void {
    this.#heldBytes -= this.#counted.get(vm) ?? 0;
    this.#counted.delete(vm);
    this.#onDropped(vm.memory.buffer.byteLength);
  }

  #takeFree(maxPages: number): Vm | undefined {
    const vm = this.#free.get(maxPages)?.pop();
    if (vm !== undefined) this.#freeCount--;
    return vm;
  }

  #create(maxPages: number): Vm {
    // The free instances have other maximums.
    if (this.#live + this.#freeCount >= this.#mostVms) this.#dropFree();
    return this.#image.createVm(maxPages);
  }

  #keep(vm: Vm): void {
    const free = this.#free.get(vm.maxPages) ?? [];
    free.push(vm);
    this.#free.set(vm.maxPages, free);
    this.#freeCount++;
    this.count(vm);
  }

  #dropFree(): void {
    for (const free of this.#free.values()) {
      for (const vm of free) this.#drop(vm);
    }
    this.#free.clear();
    this.#freeCount = 0;
  }

  /** False when no cell waits. */
  #parkLongest(): boolean {
    const [longest] = this.#waiting;
    longest?.park();
    return longest !== undefined;
  }

  release(vm: Vm): void {
    this.#live--;
    vm.owner = undefined;
    if (this.#live + this.#freeCount < this.#mostVms && this.#image.reset(vm)) this.#keep(vm);
    else this.#drop(vm);
  }

  park(vm: Vm): ParkedMemory {
    const parked = this.#image.park(vm);
    this.adopt(parked);
    this.release(vm);
    return parked;
  }

  /** Copies the memory of a cell that keeps its instance. */
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

function sizeOf({ granules, words }: ParkedMemory): number {
  return granules.byteLength + words.byteLength;
}

/**
 * Twice the limit: so the engine's own limit ends a greedy program cleanly before this maximum traps. Rounded up to a
 * power of two, so that few classes of instances serve all limits.
 */
function toMaxPages(memoryBytes: number): number {
  return 2 ** Math.ceil(Math.log2((2 * memoryBytes) / PAGE_BYTES));
}
