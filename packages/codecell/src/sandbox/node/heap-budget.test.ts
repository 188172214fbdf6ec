import fc from "fast-check";
import { totalmem } from "node:os";
import { describe, expect, test, vi } from "vitest";
import { type BudgetMember, HeapBudget, sharedHeapBudget } from "./heap-budget.ts";

/** A pool as figures: the bytes that running cells may still get, and the bytes of waiting cells. */
class Figures implements BudgetMember {
  due = 0;
  waiting: number[] = [];
  clearing = false;

  heldBytes(): number {
    return this.waiting.reduce((sum, bytes) => sum + bytes, 0);
  }

  dueBytes(): number {
    return this.due;
  }

  isClearing(): boolean {
    return this.clearing;
  }

  evict(bytes: number): number {
    this.waiting.sort((one, other) => one - other);
    let freed = 0;
    while (freed < bytes && this.waiting.length > 0) freed += this.waiting.pop() ?? 0;
    return freed;
  }
}

function budgetOf(bytes: number, ...members: Figures[]): HeapBudget {
  const budget = new HeapBudget(() => bytes);
  for (const member of members) budget.join(member);
  return budget;
}

describe("a heap budget", () => {
  test("lets a cell go on if held, due and needed bytes of all pools fit", () => {
    const [one, other] = [new Figures(), new Figures()];
    const budget = budgetOf(100, one, other);
    one.waiting = [20];
    other.due = 50;
    expect(budget.hasRoom(30, 0)).toBe(true);
    expect(budget.hasRoom(31, 0)).toBe(false);
    budget.leave(other);
    expect(budget.hasRoom(80, 0)).toBe(true);
  });

  test("drops no cell for a cell that has waited only a moment while others run", () => {
    const pool = new Figures();
    pool.due = 60;
    pool.waiting = [30];
    expect(budgetOf(100, pool).hasRoom(20, 99)).toBe(false);
    expect(pool.waiting).toEqual([30]);
  });

  test("drops the largest waiting cells after that moment, no more than needed, and has room when asked again", () => {
    const pool = new Figures();
    pool.due = 40;
    pool.waiting = [10, 30, 20];
    const budget = budgetOf(100, pool);
    expect(budget.hasRoom(20, 100)).toBe(false);
    expect(pool.waiting).toEqual([10, 20]);
    expect(budget.hasRoom(20, 100)).toBe(true);
  });

  test("drops no more cells before the dropped ones are gone, but does not wait for ever", () => {
    const pool = new Figures();
    pool.clearing = true;
    pool.waiting = [60];
    const budget = budgetOf(100, pool);
    expect(budget.hasRoom(50, 1999)).toBe(false);
    expect(pool.waiting).toEqual([60]);
    budget.hasRoom(50, 2000);
    expect(pool.waiting).toEqual([]);
  });

  test("lets a cell larger than the whole budget go on, alone", () => {
    const pool = new Figures();
    const budget = budgetOf(100, pool);
    expect(budget.hasRoom(1000, 0)).toBe(true);
    pool.due = 1;
    expect(budget.hasRoom(1000, 60_000)).toBe(false);
  });

  test("gives all cells their turn, and never exceeds the budget by more than one cell", () => {
    const cells = fc.array(
      fc.record({ limit: fc.integer({ min: 1, max: 50 }), part: fc.double({ min: 0, max: 1, noNaN: true }) }),
      {
        maxLength: 40,
      },
    );
    fc.assert(
      fc.property(
        cells,
        fc.integer({ min: 1, max: 200 }),
        fc.integer({ min: 1, max: 4 }),
        (given, bytes, threads) => {
          const queue = [...given];
          const pool = new Figures();
          const budget = budgetOf(bytes, pool);
          const moved: { limit: number; part: number }[] = [];
          for (let steps = 0; queue.length > 0; steps++) {
            // Each question drops at most all waiting cells, so this many steps are enough.
            expect(steps).toBeLessThan(1000);
            const [next] = queue;
            if (next !== undefined && moved.length < threads && budget.hasRoom(next.limit, steps * 100)) {
              queue.shift();
              pool.due += next.limit;
              moved.push(next);
            } else if (moved.length > 0) {
              const done = moved.shift();
              pool.due -= done?.limit ?? 0;
              pool.waiting.push(Math.floor((done?.limit ?? 0) * (done?.part ?? 0)));
            }
            expect(pool.heldBytes() + pool.due).toBeLessThanOrEqual(bytes + 50);
          }
        },
      ),
    );
  });

  test("is by default at most half of the machine's memory, and the same for all hosts", () => {
    expect(sharedHeapBudget()).toBe(sharedHeapBudget());
    const { bytes } = sharedHeapBudget();
    expect(bytes).toBeGreaterThan(0);
    expect(bytes).toBeLessThanOrEqual(totalmem() / 2);
  });

  test("is by default at most half of what a container has", async () => {
    const container = process.memoryUsage.rss() + 100_000_000;
    const constrained = vi.spyOn(process, "constrainedMemory").mockReturnValue(container);
    vi.resetModules();
    const fresh = await import("./heap-budget.ts");
    const { bytes } = fresh.sharedHeapBudget();
    expect(constrained).toHaveBeenCalled();
    expect(bytes).toBeGreaterThan(0);
    // This process has taken the rest of the container's memory.
    expect(bytes).toBeLessThanOrEqual(50_000_000);
    constrained.mockRestore();
  });
});
