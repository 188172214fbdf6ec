import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LateOutcomes } from "./late-outcomes.ts";

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

const DAY_MS = 86_400_000;

test("a call of a run that is suspended again is known until the last suspension expires", () => {
  const late = new LateOutcomes();
  late.expect("r", [0], 1000);
  late.take("r", [0]);
  late.expect("r", [0], 5000);
  vi.advanceTimersByTime(4000);
  expect(late.isExpected("r", 0)).toBe(true);
  vi.advanceTimersByTime(1000);
  expect(late.isExpected("r", 0)).toBe(false);
});

test("a call is forgotten also where its run expires later than a timer can be set", () => {
  const late = new LateOutcomes();
  late.expect("r", [0], 30 * DAY_MS);
  vi.advanceTimersByTime(29 * DAY_MS);
  expect(late.isExpected("r", 0)).toBe(true);
  vi.advanceTimersByTime(DAY_MS);
  expect(late.isExpected("r", 0)).toBe(false);
});
