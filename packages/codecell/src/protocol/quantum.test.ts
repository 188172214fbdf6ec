import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { LIMIT_BOUNDS } from "../contract/limits.ts";
import { guestQuantumMs, LEAST_QUANTUM_MS, MOST_MOVES, quantumMs } from "./quantum.ts";

const moves = fc.nat(MOST_MOVES);
const bursts = fc.nat(10_000);
const waiting = fc.integer({ min: 1, max: 100_000 });

describe("the quantum of a cell", () => {
  test.prop([moves, waiting])("grows so that repeated work is at most a third", (last, others) => {
    for (const of of [quantumMs, guestQuantumMs]) {
      let repeated = 0;
      for (let one = 0; one < last; one++) repeated += of(one, 0, others);
      expect(repeated).toBeLessThanOrEqual(of(last, 0, others) / 3);
    }
  });

  test.prop([moves, bursts, waiting, waiting])(
    "of guest code is shorter the more cells wait, and never zero",
    (moved, entered, some, more) => {
      const [few, many] = [some, more].toSorted((one, other) => one - other);
      const long = guestQuantumMs(moved, entered, few ?? 1);
      const short = guestQuantumMs(moved, entered, many ?? 1);
      expect(short).toBeLessThanOrEqual(long);
      expect(short).toBeGreaterThanOrEqual(LEAST_QUANTUM_MS);
      expect(long).toBeLessThanOrEqual(quantumMs(moved, entered));
    },
  );

  test.prop([moves, bursts, waiting])("grows with each burst", (moved, entered, others) => {
    expect(quantumMs(moved, entered + 1)).toBeGreaterThan(quantumMs(moved, entered));
    expect(guestQuantumMs(moved, entered + 1, others)).toBeGreaterThan(
      guestQuantumMs(moved, entered, others),
    );
  });

  test("is longer than any limit before the last move", () => {
    expect(guestQuantumMs(MOST_MOVES, 0, Infinity)).toBeGreaterThan(LIMIT_BOUNDS.cpuTimeMs.max);
  });
});
