import { afterEach, describe, expect, test, vi } from "vitest";
import { isRaisedSoon, Patience } from "./spin.ts";

describe("isRaisedSoon", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test("sees a counter that was raised before it began", () => {
    expect(isRaisedSoon(Int32Array.of(0, 8), 1, 7, 1)).toBe(true);
  });

  test("gives up by the clock, however fast the processor spins", () => {
    let ms = 0;
    const now = vi.spyOn(performance, "now").mockImplementation(() => (ms += 0.25));
    expect(isRaisedSoon(Int32Array.of(7), 0, 7, 1)).toBe(false);
    expect(now).toHaveBeenCalledTimes(5);
  });

  test("gives up even if the clock stands still, as under fake timers", () => {
    vi.spyOn(performance, "now").mockReturnValue(0);
    expect(isRaisedSoon(Int32Array.of(7), 0, 7, 1)).toBe(false);
  });

  test("sees a counter that was raised while the thread was off its core", () => {
    let ms = 0;
    const counters = Int32Array.of(7);
    vi.spyOn(performance, "now").mockImplementation(() => {
      if (ms > 0) counters[0] = 8;
      return (ms += 2);
    });
    expect(isRaisedSoon(counters, 0, 7, 1)).toBe(true);
  });

  test("does not spin at all when it has no time", () => {
    expect(isRaisedSoon(Int32Array.of(8), 0, 7, 0)).toBe(false);
  });
});

describe("Patience", () => {
  /** How many times in a row `isThere` is false. */
  function pauseOf(patience: Patience): number {
    let pause = 0;
    while (!patience.isThere()) pause++;
    return pause;
  }

  test("says yes from the beginning, and as long as spinning succeeds", () => {
    const patience = new Patience();
    for (let time = 0; time < 10; time++) {
      expect(patience.isThere()).toBe(true);
      patience.found(true);
    }
  });

  test("says no for twice as long after each failure, up to a bound", () => {
    const patience = new Patience();
    const pauses = Array.from({ length: 9 }, () => {
      patience.found(false);
      return pauseOf(patience);
    });
    expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 64, 64, 64]);
  });

  test("starts afresh after a success", () => {
    const patience = new Patience();
    for (let time = 0; time < 3; time++) patience.found(false);
    patience.found(true);
    expect(pauseOf(patience)).toBe(0);
    patience.found(false);
    expect(pauseOf(patience)).toBe(1);
  });
});
