/**
 * Image: the memory of a vm in which engine and prelude have started and no guest code has run yet.
 * Every cell begins as a copy of it, and a cell that waits can be reduced to the few bytes that differ from it.
 *
 * - After `reset` the memory is byte for byte the image again; a vm for which this cannot be shown is discarded.
 * - The stack lies below all data and is empty between deliveries: only bytes left behind there are cleared.
 */
import { Vm, type VmAddresses } from "./vm.ts";

const BLOCK_BYTES = 65_536;
const PAGE_BYTES = 4096;
/** The engine stops guest code after half of this, and needs little of the rest itself. */
const USED_STACK_BYTES = 512 * 1024;
/** Counting references touches a few bytes in many pages: small granules keep waiting cells small. */
const GRANULE_BYTES = 64;
const GRANULE_WORDS = GRANULE_BYTES / 4;

/** A waiting cell's memory: the granules that differ from the image. */
export interface ParkedMemory {
  /** Length of the whole memory. */
  readonly byteLength: number;
  /** Numbers of the granules held, ascending. */
  readonly granules: Uint32Array;
  /** Their contents, one after the other. */
  readonly words: Int32Array;
}

/** Compares ranges of equal length; the environment may have a faster one than a loop. */
export type EqualRanges = (
  left: Uint8Array,
  leftStart: number,
  right: Uint8Array,
  rightStart: number,
  length: number,
) => boolean;

export class Image {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly addresses: VmAddresses;
  #module: WebAssembly.Module;
  #equal: EqualRanges;
  #zeros = new Uint8Array(BLOCK_BYTES);
  #zeroPage = new Int32Array(PAGE_BYTES / 4);
  #stackBytes: number;
  /** The runs of 4 KiB pages that are not zero, as [start, end) byte offsets. */
  #used: readonly (readonly [number, number])[];

  constructor(module: WebAssembly.Module, prelude: Uint8Array, equal: EqualRanges) {
    const vm = new Vm(module);
    this.addresses = vm.build(prelude);
    this.bytes = new Uint8Array(vm.memory.buffer.slice(0) as ArrayBuffer);
    this.#module = module;
    this.#equal = equal;
    this.#stackBytes = Math.floor(this.addresses.stackPointer / BLOCK_BYTES) * BLOCK_BYTES;
    this.bytes.fill(0, 0, this.#stackBytes);
    this.#used = this.#usedRanges();
  }

  /** A new instance in the image's state. Untouched pages are not written, so they cost no memory. */
  createVm(maxPages: number): Vm {
    const vm = new Vm(this.#module, Math.max(maxPages, this.bytes.length / BLOCK_BYTES));
    const missing = (this.bytes.length - vm.memory.buffer.byteLength) / BLOCK_BYTES;
    if (missing > 0) vm.memory.grow(missing);
    const memory = new Uint8Array(vm.memory.buffer as ArrayBuffer);
    for (const [start, end] of this.#used) memory.set(this.bytes.subarray(start, end), start);
    vm.adopt(this.addresses);
    return vm;
  }

  /** Brings a vm back to the image. False when it must be discarded instead. */
  reset(vm: Vm): boolean {
    if (vm.spoilt || vm.memory.buffer.byteLength !== this.bytes.length) return false;
    const memory = new Uint8Array(vm.memory.buffer as ArrayBuffer);
    let unused = this.#stackBytes - USED_STACK_BYTES;
    for (const [start, end] of this.#used) {
      this.#clear(memory, unused, start);
      memory.set(this.bytes.subarray(start, end), start);
      unused = end;
    }
    this.#clear(memory, unused, memory.length);
    vm.adopt(this.addresses);
    return true;
  }

  park(vm: Vm): ParkedMemory {
    const memory = new Uint8Array(vm.memory.buffer as ArrayBuffer);
    this.#clear(memory, this.#stackBytes - USED_STACK_BYTES, this.#stackBytes);
    const granules: number[] = [];
    for (let block = this.#stackBytes; block < memory.length; block += BLOCK_BYTES) {
      if (this.#sameAsImage(memory, block, BLOCK_BYTES)) continue;
      for (let page = block; page < block + BLOCK_BYTES; page += PAGE_BYTES) {
        if (!this.#sameAsImage(memory, page, PAGE_BYTES)) this.#collect(memory, page, granules);
      }
    }
    const words = new Int32Array(granules.length * GRANULE_WORDS);
    const source = new Int32Array(memory.buffer);
    let to = 0;
    for (const granule of granules) {
      const from = granule * GRANULE_WORDS;
      for (let word = 0; word < GRANULE_WORDS; word++) words[to++] = source[from + word] as number;
    }
    return { byteLength: memory.length, granules: Uint32Array.from(granules), words };
  }

  /** Writes a parked cell into a vm that is in the image's state. */
  unpark(vm: Vm, parked: ParkedMemory): void {
    const missing = (parked.byteLength - vm.memory.buffer.byteLength) / BLOCK_BYTES;
    if (missing > 0) vm.memory.grow(missing);
    const target = new Int32Array(vm.memory.buffer as ArrayBuffer);
    const { granules, words } = parked;
    let from = 0;
    for (const granule of granules) {
      const to = granule * GRANULE_WORDS;
      for (let word = 0; word < GRANULE_WORDS; word++) target[to + word] = words[from++] as number;
    }
    vm.adopt(this.addresses);
  }

  /** Adds the granules of a page that differ from the image. */
  #collect(memory: Uint8Array<ArrayBuffer>, page: number, granules: number[]): void {
    const words = new Int32Array(memory.buffer, page, PAGE_BYTES / 4);
    const image =
      page < this.bytes.length ? new Int32Array(this.bytes.buffer, page, PAGE_BYTES / 4) : this.#zeroPage;
    for (let start = 0; start < words.length; start += GRANULE_WORDS) {
      for (let word = start; word < start + GRANULE_WORDS; word++) {
        if (words[word] === image[word]) continue;
        granules.push((page + start * 4) / GRANULE_BYTES);
        break;
      }
    }
  }

  #usedRanges(): (readonly [number, number])[] {
    const ranges: [number, number][] = [];
    for (let page = this.#stackBytes; page < this.bytes.length; page += PAGE_BYTES) {
      if (this.#equal(this.bytes, page, this.#zeros, 0, PAGE_BYTES)) continue;
      const last = ranges.at(-1);
      if (last !== undefined && last[1] === page) last[1] = page + PAGE_BYTES;
      else ranges.push([page, page + PAGE_BYTES]);
    }
    return ranges;
  }

  #sameAsImage(memory: Uint8Array, start: number, length: number): boolean {
    return start < this.bytes.length
      ? this.#equal(memory, start, this.bytes, start, length)
      : this.#equal(memory, start, this.#zeros, 0, length);
  }

  /** Zeroes what is not zero; memory that was never touched stays so. */
  #clear(memory: Uint8Array, from: number, to: number): void {
    for (let start = from; start < to; start += BLOCK_BYTES) {
      const length = Math.min(BLOCK_BYTES, to - start);
      if (!this.#equal(memory, start, this.#zeros, 0, length)) memory.fill(0, start, start + length);
    }
  }
}

/** Without native help: compares 4 bytes at a time where both ranges are aligned. */
export const equalRanges: EqualRanges = (left, leftStart, right, rightStart, length) => {
  const a = new Int32Array(left.buffer, left.byteOffset + leftStart, length / 4);
  const b = new Int32Array(right.buffer, right.byteOffset + rightStart, length / 4);
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
};
