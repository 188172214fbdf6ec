/**
 * Runs in a worker thread. Image is the memory of a vm in which engine and prelude have started and no guest code has
 * run yet. Every cell begins as a copy of the image. A waiting cell can be reduced to the few bytes that differ from
 * it.
 *
 * - A granule is 64 bytes of a vm's memory: the unit in which a waiting cell differs from the image.
 * - After `reset` the memory is byte for byte the image again. A vm for which this cannot be shown is discarded.
 * - The stack lies below all data and is empty between deliveries. So `reset` only clears the bytes that were left
 *   there.
 * - What the engine's allocator holds free is not part of a waiting cell. It comes back with the image's contents.
 */
import { findDeadRanges } from "./heap.ts";
import { engineDigestOf } from "./engine-module.ts";
import type { EqualRanges } from "./platform.ts";
import { Vm, type VmAddresses } from "./vm.ts";

const BLOCK_BYTES = 65_536;
const PAGE_BYTES = 4096;
/**
 * Maximum of the vm that the image is built in. Most programs have this maximum, so the first program can use that vm.
 */
const BUILDER_PAGES = 2048;
/** The engine stops guest code after half of this, and needs little of the rest itself. */
const USED_STACK_BYTES = 512 * 1024;
/** Counting references touches a few bytes in many pages: small granules keep waiting cells small. */
export const GRANULE_BYTES = 64;
export const GRANULE_WORDS: number = GRANULE_BYTES / 4;

const LARGEST_COPY_BY_HAND = 64;

/** A waiting cell's memory: the granules that differ from the image. */
export interface ParkedMemory {
  /** Length of the whole memory. */
  readonly byteLength: number;
  /** Numbers of the granules held, ascending. */
  readonly granules: Uint32Array;
  /** Contents of the granules, one after the other. */
  readonly words: Int32Array;
}

export class Image {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly addresses: VmAddresses;
  readonly #words: Int32Array;
  #module: WebAssembly.Module;
  #equal: EqualRanges;
  #zeros = new Uint8Array(BLOCK_BYTES);
  #zeroPage = new Int32Array(PAGE_BYTES / 4);
  #stackBytes: number;
  #builder: Vm | undefined;
  /** The ranges of 4 KiB pages that are not zero, as [start, end) byte offsets. */
  #used: readonly (readonly [number, number])[];

  constructor(module: WebAssembly.Module, prelude: Uint8Array, equal: EqualRanges) {
    const vm = new Vm(module, BUILDER_PAGES);
    this.addresses = vm.build(prelude);
    this.bytes = new Uint8Array(vm.memory.buffer.slice(0) as ArrayBuffer);
    this.#words = new Int32Array(this.bytes.buffer);
    this.#module = module;
    this.#equal = equal;
    this.#stackBytes = Math.floor(this.addresses.stackPointer / BLOCK_BYTES) * BLOCK_BYTES;
    this.bytes.fill(0, 0, this.#stackBytes);
    this.#used = this.#usedRanges();
    this.#builder = vm;
  }

  /**
   * Gives the vm that the image was built in, once: where addresses are scarce, nobody should have to make another vm.
   */
  takeBuilder(): Vm | undefined {
    const vm = this.#builder;
    this.#builder = undefined;
    return vm !== undefined && this.reset(vm) ? vm : undefined;
  }

  /** Creates an instance in the image's state. Untouched pages are not written, so they cost no memory. */
  createVm(maxPages: number): Vm {
    const vm = new Vm(this.#module, Math.max(maxPages, this.bytes.length / BLOCK_BYTES));
    const missing = (this.bytes.length - vm.memory.buffer.byteLength) / BLOCK_BYTES;
    if (missing > 0) vm.memory.grow(missing);
    const memory = new Uint8Array(vm.memory.buffer as ArrayBuffer);
    for (const [start, end] of this.#used) memory.set(this.bytes.subarray(start, end), start);
    vm.adopt(this.addresses);
    return vm;
  }

  /** Brings a vm back to the image. False when the vm must be discarded instead. */
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

  /** Copies what a waiting cell needs of its vm. The vm stays as it is. */
  park(vm: Vm): ParkedMemory {
    const memory = new Uint8Array(vm.memory.buffer as ArrayBuffer);
    const source = new Int32Array(memory.buffer);
    const granules: number[] = [];
    let live = this.#stackBytes;
    for (const [start, end] of findDeadRanges(source, this.addresses.scratch, GRANULE_BYTES)) {
      this.#scan(memory, live, start, granules);
      live = end;
    }
    this.#scan(memory, live, memory.length, granules);
    const words = new Int32Array(granules.length * GRANULE_WORDS);
    for (let index = 0; index < granules.length;) {
      const first = granules[index] as number;
      const start = index;
      while (granules[index] === first + index - start) index++;
      copyWords(source, first * GRANULE_WORDS, words, start * GRANULE_WORDS, (index - start) * GRANULE_WORDS);
    }
    return { byteLength: memory.length, granules: Uint32Array.from(granules), words };
  }

  /** What distinguishes this image, and its engine, from any other. */
  identity(): Uint8Array[] {
    const layout = { addresses: this.addresses, byteLength: this.bytes.length, used: this.#used };
    const contents = this.#used.map(([start, end]) => this.bytes.subarray(start, end));
    return [engineDigestOf(this.#module), new TextEncoder().encode(JSON.stringify(layout)), ...contents];
  }

  /**
   * Replaces the contents of granules by their difference to the image, or the difference by the contents. Most of a
   * difference is zero.
   */
  xor({ granules, words }: ParkedMemory): void {
    let to = 0;
    for (const granule of granules) {
      let from = granule * GRANULE_WORDS;
      if (from < this.#words.length) {
        for (const end = to + GRANULE_WORDS; to < end; to++) {
          words[to] = (words[to] as number) ^ (this.#words[from++] as number);
        }
      } else to += GRANULE_WORDS;
    }
  }

  /** Whether `park` could have made this: all granules lie, in order, where a cell's memory lies. */
  isParked({ byteLength, granules, words }: ParkedMemory, memoryBytes: number): boolean {
    if (byteLength % BLOCK_BYTES !== 0 || byteLength < this.bytes.length || byteLength > memoryBytes)
      return false;
    if (words.length !== granules.length * GRANULE_WORDS) return false;
    let above = this.#stackBytes / GRANULE_BYTES - 1;
    for (const granule of granules) {
      if (granule <= above) return false;
      above = granule;
    }
    return above < byteLength / GRANULE_BYTES;
  }

  /** Writes a parked cell into a vm that is in the image's state. */
  unpark(vm: Vm, parked: ParkedMemory): void {
    const missing = (parked.byteLength - vm.memory.buffer.byteLength) / BLOCK_BYTES;
    if (missing > 0) vm.memory.grow(missing);
    const target = new Int32Array(vm.memory.buffer as ArrayBuffer);
    const { granules, words } = parked;
    for (let index = 0; index < granules.length;) {
      const first = granules[index] as number;
      const start = index;
      while (granules[index] === first + index - start) index++;
      copyWords(words, start * GRANULE_WORDS, target, first * GRANULE_WORDS, (index - start) * GRANULE_WORDS);
    }
    vm.adopt(this.addresses);
  }

  /**
   * Adds the granules of a range that differ from the image. Compares large units first, since most of the range is
   * equal.
   */
  #scan(memory: Uint8Array<ArrayBuffer>, from: number, to: number, granules: number[]): void {
    for (let block = from; block < to;) {
      const blockEnd = Math.min(to, block - (block % BLOCK_BYTES) + BLOCK_BYTES);
      if (!this.#sameAsImage(memory, block, blockEnd - block)) {
        for (let page = block; page < blockEnd;) {
          const pageEnd = Math.min(blockEnd, page - (page % PAGE_BYTES) + PAGE_BYTES);
          if (!this.#sameAsImage(memory, page, pageEnd - page))
            this.#collect(memory, page, pageEnd, granules);
          page = pageEnd;
        }
      }
      block = blockEnd;
    }
  }

  #collect(memory: Uint8Array<ArrayBuffer>, from: number, to: number, granules: number[]): void {
    const words = new Int32Array(memory.buffer, from, (to - from) / 4);
    const image =
      from < this.bytes.length ? new Int32Array(this.bytes.buffer, from, words.length) : this.#zeroPage;
    for (let start = 0; start < words.length; start += GRANULE_WORDS) {
      for (let word = start; word < start + GRANULE_WORDS; word++) {
        if (words[word] === image[word]) continue;
        granules.push((from + start * 4) / GRANULE_BYTES);
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

  /** Zeroes the blocks that are not zero. Memory that was never touched stays untouched. */
  #clear(memory: Uint8Array, from: number, to: number): void {
    for (let start = from; start < to; start += BLOCK_BYTES) {
      const length = Math.min(BLOCK_BYTES, to - start);
      if (!this.#equal(memory, start, this.#zeros, 0, length)) memory.fill(0, start, start + length);
    }
  }
}

/** Copying by hand is faster for short ranges, the native copy for long ones. */
function copyWords(source: Int32Array, from: number, target: Int32Array, to: number, length: number): void {
  if (length > LARGEST_COPY_BY_HAND) target.set(source.subarray(from, from + length), to);
  else for (let word = 0; word < length; word++) target[to + word] = source[from + word] as number;
}

/** The comparison without native help, 4 bytes at a time. Both ranges must be aligned to 4 bytes. */
export const equalRanges: EqualRanges = (left, leftStart, right, rightStart, length) => {
  const a = new Int32Array(left.buffer, left.byteOffset + leftStart, length / 4);
  const b = new Int32Array(right.buffer, right.byteOffset + rightStart, length / 4);
  for (let index = 0; index < a.length; index++) if (a[index] !== b[index]) return false;
  return true;
};
