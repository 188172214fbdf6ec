import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { PRELUDE_BYTECODE } from "../guest/prelude.generated.ts";
import { loadEngine } from "../sandbox/node/engine.ts";
import { findDeadRanges } from "./heap.ts";
import { equalRanges, Image } from "./image.ts";

const FOOT_WORDS = 14;

/** A heap of blocks, each given as [bytes, is in use], laid out like the allocator's. */
function heapOf(blocks: readonly (readonly [number, boolean])[]): Int32Array {
  const bytes = blocks.reduce((sum, [size]) => sum + size, 0);
  const memory = new Int32Array(bytes / 4 + FOOT_WORDS).fill(-1);
  let at = 0;
  let isPreviousInUse = true;
  for (const [size, isInUse] of blocks) {
    memory[at / 4 + 1] = size | (isInUse ? 2 : 0) | (isPreviousInUse ? 1 : 0);
    isPreviousInUse = isInUse;
    at += size;
  }
  return memory;
}

describe("findDeadRanges", () => {
  test("reads the heap of the engine in use to its end", async () => {
    const image = new Image(await loadEngine(), Buffer.from(PRELUDE_BYTECODE, "base64"), equalRanges);
    const ranges = findDeadRanges(new Int32Array(image.bytes.buffer), image.addresses.scratch, 64);
    // The reserve for guests, which no guest has used yet.
    const [start, end] = ranges.at(-1) ?? [0, 0];
    expect(end - start).toBeGreaterThan(1024 * 1024);
    expect(image.bytes.length - end).toBeLessThan(128);
  });

  test("free blocks are dead behind their links, in whole units", () => {
    const memory = heapOf([
      [64, true],
      [256, false],
      [64, true],
      [32, false],
      [640, true],
      [1024, false],
    ]);
    expect(findDeadRanges(memory, 8, 64)).toEqual([
      [128, 320],
      [1088, 2048],
    ]);
  });

  test.each([
    ["a size of nothing", 0, 0 | 3],
    ["a size beyond the end", 0, 1_000_000 | 3],
    ["a negative size", 0, -64 | 3],
    ["a neighbour that says otherwise", 64, 256 | 0],
    ["an end that is not one", 64, 248 | 1],
  ])("%s makes all of it live", (_name, at, head) => {
    const memory = heapOf([
      [64, true],
      [256, false],
      [64, true],
      [1024, false],
    ]);
    expect(findDeadRanges(memory, 8, 64)).not.toEqual([]);
    memory[at / 4 + 1] = head;
    expect(findDeadRanges(memory, 8, 64)).toEqual([]);
  });

  test("gives ascending ranges inside the memory for whatever is there", () => {
    const words = fc.array(
      fc.oneof(
        fc.integer(),
        fc.nat(40).map((n) => n * 8 + 3),
        fc.nat(40).map((n) => n * 8 + 1),
      ),
      {
        minLength: 20,
        maxLength: 300,
      },
    );
    fc.assert(
      fc.property(words, fc.nat(10), (given, first) => {
        const memory = Int32Array.from(given);
        let above = 0;
        for (const [start, end] of findDeadRanges(memory, 8 + first * 4, 64)) {
          expect(start).toBeGreaterThanOrEqual(above);
          expect(end).toBeGreaterThan(start);
          expect(end).toBeLessThanOrEqual(memory.byteLength);
          above = end;
        }
      }),
      { numRuns: 2000 },
    );
  });
});
