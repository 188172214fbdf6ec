import { describe, expect, test, vi } from "vitest";
import { PRELUDE_BYTECODE } from "../guest/prelude.generated.ts";
import { loadEngine } from "../sandbox/node/engine.ts";
import { equalRanges, Image } from "./image.ts";
import type { Vm } from "./vm.ts";
import { VmPool } from "./vm-pool.ts";

const image = new Image(await loadEngine(), Buffer.from(PRELUDE_BYTECODE, "base64"), equalRanges);
const MEMORY_BYTES = 16 * 1024 * 1024;

describe("vm pool", () => {
  test("reports every memory that it drops, with its size, and no other", () => {
    const dropped: number[] = [];
    const pool = new VmPool(image, 64, (bytes) => dropped.push(bytes));
    const grown = pool.acquire(MEMORY_BYTES);
    grown.memory.grow(100);
    const spoilt = pool.acquire(MEMORY_BYTES);
    spoilt.spoilt = true;
    const used = pool.acquire(MEMORY_BYTES);
    for (const vm of [grown, spoilt, used]) pool.release(vm);
    expect(dropped).toEqual([image.bytes.length + 100 * 65_536, image.bytes.length]);
    expect(pool.acquire(MEMORY_BYTES)).toBe(used);
  });

  test("keeps to its number of vms, free ones included, and parks waiting cells instead of making more", () => {
    let dropped = 0;
    const pool = new VmPool(image, 2, () => dropped++);
    const created = vi.spyOn(image, "createVm");
    for (const factor of [1, 2, 1, 4, 2, 1]) {
      hold(pool, factor * MEMORY_BYTES);
      expect(created.mock.calls.length - dropped).toBeLessThanOrEqual(2);
    }
    hold(pool, MEMORY_BYTES);
    created.mockClear();
    for (let times = 0; times < 20; times++) hold(pool, MEMORY_BYTES);
    expect(created).not.toHaveBeenCalled();
    created.mockRestore();
  });

  test("if V8 finds no place for a memory, waiting cells are parked and free vms are dropped first", () => {
    const dropped: number[] = [];
    const pool = new VmPool(image, 8, (bytes) => dropped.push(bytes));
    const waiting = [hold(pool, MEMORY_BYTES), hold(pool, MEMORY_BYTES)];
    const created = vi.spyOn(image, "createVm").mockImplementationOnce(() => {
      throw new RangeError("could not allocate memory");
    });
    pool.acquire(2 * MEMORY_BYTES);
    expect(waiting.map(({ isParked }) => isParked)).toEqual([true, true]);
    expect(dropped).toHaveLength(2);
    created.mockImplementation(() => {
      throw new RangeError("could not allocate memory");
    });
    expect(() => pool.acquire(4 * MEMORY_BYTES)).toThrow(expect.objectContaining({ reason: "space" }));
    created.mockRestore();
  });
});

/** A cell that waits with its vm until it is parked. */
function hold(pool: VmPool, memoryBytes: number): { isParked: boolean } {
  const vm: Vm = pool.acquire(memoryBytes);
  const holder = {
    isParked: false,
    park: () => {
      pool.stopWaiting(holder);
      pool.park(vm);
      holder.isParked = true;
    },
  };
  pool.startWaiting(holder);
  return holder;
}
