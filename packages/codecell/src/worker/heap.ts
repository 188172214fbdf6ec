/**
 * Runs in a worker thread. Finds the memory that the engine's allocator holds free. Its contents are dead: a cell needs
 * none of them.
 *
 * - The allocator is dlmalloc. Blocks lie side by side. A word before each block holds its size, whether it is in use,
 *   and whether the block before it is in use. The last block, up to the end of the memory, is free.
 * - A heap that does not read like this to its very end gives no ranges: then all of it counts as live.
 */

const IN_USE = 2;
const PREVIOUS_IN_USE = 1;
const FLAGS = 7;
const SMALLEST_BLOCK_BYTES = 16;
/** Size and links of a free block. They are live. */
const LINKS_BYTES = 32;
/** What the allocator keeps behind the last block. */
const FOOT_BYTES = 56;

/** Byte offsets, end excluded. */
export type Range = readonly [start: number, end: number];

/**
 * The dead ranges, ascending, in whole multiples of `unit`. `allocated` is the address that the allocator returned for
 * a block that is never freed. Blocks below it are not looked at.
 */
export function findDeadRanges(memory: Int32Array, allocated: number, unit: number): Range[] {
  const dead: Range[] = [];
  const end = memory.length * 4 - FOOT_BYTES;
  let block = allocated - 8;
  let isPreviousInUse = true;
  while (block < end) {
    const head = memory[(block >> 2) + 1] as number;
    const size = head & ~FLAGS;
    const next = block + size;
    // A size beyond 2 GiB reads as negative, and ends the search too.
    if (size < SMALLEST_BLOCK_BYTES || next > end) return [];
    if (block !== allocated - 8 && ((head & PREVIOUS_IN_USE) !== 0) !== isPreviousInUse) return [];
    isPreviousInUse = (head & IN_USE) !== 0;
    if (!isPreviousInUse) {
      const from = Math.ceil((block + LINKS_BYTES) / unit) * unit;
      const to = Math.floor(next / unit) * unit;
      if (to > from) dead.push([from, to]);
    }
    block = next;
  }
  return block === end && !isPreviousInUse ? dead : [];
}
