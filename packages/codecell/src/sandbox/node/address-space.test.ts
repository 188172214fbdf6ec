import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planThreads, planWithin, type ThreadPlan } from "./address-space.ts";

const GB = 1e9;
const GiB = 1024 ** 3;
const WANTED = { workers: 2, maxWorkers: 4, computeWorkers: 1 };

describe("planning threads", () => {
  test("without a limit a pool gets what it wants", async () => {
    expect(await planThreads(WANTED)).toEqual({ ...WANTED, vms: 64 });
  });

  test.each([
    [30, { workers: 1, maxWorkers: 1, computeWorkers: 0, vms: 2 }],
    [45, { workers: 1, maxWorkers: 1, computeWorkers: 1, vms: 1 }],
    [60, { workers: 2, maxWorkers: 2, computeWorkers: 1, vms: 1 }],
    [2000, { workers: 2, maxWorkers: 4, computeWorkers: 1, vms: 45 }],
  ])("with %d GB of addresses and 8.6 GB for each vm", (limit, plan) => {
    expect(planWithin({ limit: limit * GB, used: GB }, 8.6 * GB, WANTED)).toEqual(plan);
  });

  test("one thread with one vm is enough", () => {
    expect(planWithin({ limit: 12 * GB, used: GB }, 8.6 * GB, WANTED)).toEqual({
      workers: 1,
      maxWorkers: 1,
      computeWorkers: 0,
      vms: 1,
    });
  });

  test("with less, the error says what there is, what is needed and what to do", () => {
    expect(() => planWithin({ limit: 11 * GB, used: GB }, 8.6 * GB, WANTED)).toThrow(
      "this process has 10.0 GB left of the 11.0 GB of addresses it may use and 10.7 GB are needed: raise its limit (ulimit -v), or start Node.js with --disable-wasm-trap-handler",
    );
  });

  test("a plan fits into the addresses, and has at least one worker", () => {
    const bytes = (min: number, max: number): fc.Arbitrary<number> => fc.double({ min, max, noNaN: true });
    const workersOf = fc.integer({ min: 1, max: 128 });
    fc.assert(
      fc.property(bytes(0, 1e13), bytes(0, 1e11), bytes(1e5, 2e10), workersOf, (limit, used, vm, workers) => {
        const wanted = { workers, maxWorkers: 2 * workers, computeWorkers: Math.max(1, workers - 1) };
        let plan: ThreadPlan;
        try {
          plan = planWithin({ limit, used }, vm, wanted);
        } catch {
          expect(limit - used).toBeLessThan(2 * GiB + vm);
          return;
        }
        expect(plan.workers).toBeGreaterThanOrEqual(1);
        expect(plan.maxWorkers).toBeGreaterThanOrEqual(plan.workers);
        const threads = plan.maxWorkers + plan.computeWorkers;
        if (threads > 1) expect(plan.computeWorkers).toBeGreaterThanOrEqual(1);
        expect(plan.vms).toBeGreaterThanOrEqual(1);
        expect(plan.vms).toBeLessThanOrEqual(64);
        const needed = GiB + threads * (GiB + plan.vms * vm);
        expect(used + needed).toBeLessThanOrEqual(limit * 1.000001);
      }),
    );
  });
});
