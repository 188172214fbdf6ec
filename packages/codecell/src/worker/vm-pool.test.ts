import { describe, expect, test } from "vitest";
import { PRELUDE_BYTECODE } from "../guest/prelude.generated.ts";
import { loadEngine } from "../sandbox/engine.ts";
import { equalRanges, Image } from "./image.ts";
import { VmPool } from "./vm-pool.ts";

const image = new Image(await loadEngine(), Buffer.from(PRELUDE_BYTECODE, "base64"), equalRanges);
const MEMORY_BYTES = 16 * 1024 * 1024;

describe("vm pool", () => {
  test("tells of every memory that it drops, with what it grew to, and of no other", () => {
    const dropped: number[] = [];
    const pool = new VmPool(image, (bytes) => dropped.push(bytes));
    const grown = pool.acquire(MEMORY_BYTES);
    grown.memory.grow(100);
    const spoilt = pool.acquire(MEMORY_BYTES);
    spoilt.spoilt = true;
    const used = pool.acquire(MEMORY_BYTES);
    for (const vm of [grown, spoilt, used]) pool.release(vm);
    expect(dropped).toEqual([image.bytes.length + 100 * 65_536, image.bytes.length]);
    expect(pool.acquire(MEMORY_BYTES)).toBe(used);
  });
});
