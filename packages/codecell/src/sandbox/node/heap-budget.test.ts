import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type BudgetMember, HeapBudget, sharedHeapBudget } from "./heap-budget.ts";

/** A pool as figures: what is held by cells that are moved, and by those that wait. */
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
  test("lets cells go on as long as what is held, due and needed fits, over all pools", () => {
    const [one, other] = [new Figures(), new Figures()];
    const budget = budgetOf(100, one, other);
    one.waiting = [20];
    other.due = 50;
    expect(budget.hasRoom(30, 0)).toBe(true);
    expect(budget.hasRoom(31, 0)).toBe(false);
    budget.leave(other);
    expect(budget.hasRoom(80, 0)).toBe(true);
  });

  test("drops nobody for a cell that has waited for a moment only, while others are being moved", () => {
    const pool = new Figures();
    pool.due = 60;
    pool.waiting = [30];
    expect(budgetOf(100, pool).hasRoom(20, 99)).toBe(false);
    expect(pool.waiting).toEqual([30]);
  });

  test("then drops the largest of those that wait, no more than needed, and is asked again", () => {
    const pool = new Figures();
    pool.due = 40;
    pool.waiting = [10, 30, 20];
    const budget = budgetOf(100, pool);
    expect(budget.hasRoom(20, 100)).toBe(false);
    expect(pool.waiting).toEqual([10, 20]);
    expect(budget.hasRoom(20, 100)).toBe(true);
  });

  test("drops no more before those it dropped are gone, but does not wait for that for ever", () => {
    const pool = new Figures();
    pool.clearing = true;
    pool.waiting = [60];
    const budget = budgetOf(100, pool);
    expect(budget.hasRoom(50, 1999)).toBe(false);
    expect(pool.waiting).toEqual([60]);
    budget.hasRoom(50, 2000);
    expect(pool.waiting).toEqual([]);
  });

  test("lets one go on that is larger than all of it, alone", () => {
    const pool = new Figures();
    const budget = budgetOf(100, pool);
    expect(budget.hasRoom(1000, 0)).toBe(true);
    pool.due = 1;
    expect(budget.hasRoom(1000, 60_000)).toBe(false);
  });

  test("whatever cells need, all have their turn, and no more is held than the budget and one of them", () => {
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
            // Each look costs at most one eviction of all, so that this many are enough.
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

  test("that nobody set is at most half of what the machine has, and the same for all hosts", () => {
    expect(sharedHeapBudget()).toBe(sharedHeapBudget());
    const { bytes } = sharedHeapBudget();
    expect(bytes).toBeGreaterThan(0);
    const { constrained, total } = { constrained: process.constrainedMemory(), total: 1e15 };
    expect(bytes).toBeLessThanOrEqual(Math.min(constrained > 0 ? constrained : total, total) / 2);
  });
});
