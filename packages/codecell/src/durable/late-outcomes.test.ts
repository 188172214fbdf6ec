import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { CallOutcome } from "../contract/ledger.ts";
import { LATE_SIZE, LateOutcomes } from "./late-outcomes.ts";

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

const DAY_MS = 86_400_000;
const noAbort = new AbortController();
/** Calls that the run made itself, and calls that were left to an executor before. */
const own = (...calls: readonly number[]): Map<number, undefined> =>
  new Map(calls.map((call) => [call, undefined]));
const left = (...calls: readonly number[]): Map<number, string> =>
  new Map(calls.map((call) => [call, "executor"]));

test("a call of a run that is suspended again is known until the last suspension expires", () => {
  const late = new LateOutcomes();
  late.expect("r", own(0), 1000, noAbort);
  late.take("r", [0]);
  late.expect("r", left(0), 5000, noAbort);
  vi.advanceTimersByTime(4000);
  expect(late.isExpected("r", 0)).toBe(true);
  vi.advanceTimersByTime(1000);
  expect(late.isExpected("r", 0)).toBe(false);
});

test("a call is forgotten also where its run expires later than a timer can be set", () => {
  const late = new LateOutcomes();
  late.expect("r", own(0), 30 * DAY_MS, noAbort);
  vi.advanceTimersByTime(29 * DAY_MS);
  expect(late.isExpected("r", 0)).toBe(true);
  vi.advanceTimersByTime(DAY_MS);
  expect(late.isExpected("r", 0)).toBe(false);
});

describe("a call that still executes is told to stop", () => {
  let abort = new AbortController();
  let later = new AbortController();
  beforeEach(() => {
    abort = new AbortController();
    later = new AbortController();
  });

  test("when its run expires: at the last expiry, and by the run that made it", () => {
    const late = new LateOutcomes();
    late.expect("r", own(0), 1000, abort);
    late.take("r", [0]);
    vi.advanceTimersByTime(2000);
    late.expect("r", left(0), 5000, later);
    vi.advanceTimersByTime(2000);
    expect(abort.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1000);
    expect(abort.signal.reason).toMatchObject({ name: "AbortError" });
    expect(later.signal.aborted).toBe(false);
  });

  test("when its run is given up, also by a run that has taken it", () => {
    const late = new LateOutcomes();
    late.expect("r", own(0), 1000, abort);
    late.expect("r", own(1), 1000, later);
    late.take("r", [1]);
    late.giveUp("r", [0, 1]);
    expect([abort, later].map(({ signal }) => signal.aborted)).toEqual([true, true]);
    expect(late.isExpected("r", 0)).toBe(false);
    expect(late.isExpected("r", 1)).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("when the host is closed, whatever run it is of", () => {
    const late = new LateOutcomes();
    late.expect("a", own(0, 1), 1000, abort);
    late.expect("b", own(0), 1000, later);
    late.settle("a", output(1, 1), 0);
    late.giveUpAll();
    expect([abort, later].map(({ signal }) => signal.aborted)).toEqual([true, true]);
    expect(late.settled("a", [1]).size).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("and not when it has ended", () => {
    const late = new LateOutcomes();
    late.expect("r", own(0, 1), 1000, abort);
    late.settle("r", output(0, 1), 0);
    late.settle("r", output(1, 1), 0);
    late.giveUp("r", [0]);
    vi.advanceTimersByTime(1000);
    expect(late.isExpected("r", 1)).toBe(false);
    expect(abort.signal.aborted).toBe(false);
  });
});

const output = (call: number, length: number): CallOutcome => ({
  kind: "output",
  call,
  output: "1".repeat(length),
});

describe("all outcomes that no run has taken are bounded", () => {
  const HALF = LATE_SIZE / 2;

  test("those that came first are forgotten, whatever run they belong to", () => {
    const late = new LateOutcomes();
    for (const run of ["a", "b", "c"]) late.expect(run, own(0), 1000, noAbort);
    for (const run of ["b", "a", "c"]) late.settle(run, output(0, HALF - 1000), 0);
    expect(["a", "b", "c"].map((run) => late.settled(run, [0]).size)).toEqual([1, 0, 1]);
    expect(late.isExpected("b", 0)).toBe(false);
    // What is forgotten needs no timer, and neither does what is taken: a timer would hold the outcome.
    expect(vi.getTimerCount()).toBe(2);
    for (const run of ["a", "b", "c"]) late.take(run, [0]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("what is taken, given up or expired no longer counts, and a call counts once", () => {
    const late = new LateOutcomes();
    for (let turn = 0; turn < 8; turn++) {
      late.expect(`${turn}`, own(0, 1, 2), turn + 1, noAbort);
      for (const call of [0, 1, 2]) late.settle(`${turn}`, output(call, LATE_SIZE / 4), 0);
      for (const call of [0, 1, 2]) late.settle(`${turn}`, output(call, LATE_SIZE / 4), 0);
      expect(late.settled(`${turn}`, [0, 1, 2]).size, `${turn}`).toBe(3);
      late.take(`${turn}`, [0]);
      late.giveUp(`${turn}`, [1]);
      vi.advanceTimersByTime(1);
    }
  });

  test("the newest is kept however large it is", () => {
    const late = new LateOutcomes();
    late.expect("r", own(0, 1), 1000, noAbort);
    late.settle("r", output(0, 1), 0);
    late.settle("r", output(1, LATE_SIZE), 0);
    expect([...late.settled("r", [0, 1]).keys()]).toEqual([1]);
  });

  test("an outcome that a resumed run waits for is not lost, and does not count", async () => {
    const late = new LateOutcomes();
    late.expect("r", own(0, 1, 2), 1000, noAbort);
    late.settle("r", output(0, 1), 0);
    const awaited = late.take("r", [1, 2]);
    late.settle("r", output(1, LATE_SIZE), 0);
    late.settle("r", output(2, LATE_SIZE), 0);
    expect((await awaited.get(1))?.call).toBe(1);
    expect((await awaited.get(2))?.call).toBe(2);
    expect(late.settled("r", [0]).size).toBe(1);
  });

  test("an outcome that the run has counts again when the run is suspended without having used it", () => {
    const late = new LateOutcomes();
    late.expect("r", own(0, 1), 1000, noAbort);
    late.take("r", [0, 1]);
    for (const call of [0, 1]) late.settle("r", output(call, HALF), 0);
    expect(late.settled("r", [0, 1]).size).toBe(2);
    late.expect("r", left(1, 0), 1000, noAbort);
    expect([...late.settled("r", [0, 1]).keys()]).toEqual([0]);
  });

  test("a call that asked and was made again has another outcome", () => {
    const late = new LateOutcomes();
    late.expect("r", own(0), 1000, noAbort);
    late.settle("r", { kind: "asked", call: 0, payload: null }, 0);
    late.take("r", [0]);
    late.expect("r", own(0), 1000, noAbort);
    expect(late.settled("r", [0]).size).toBe(0);
    late.settle("r", output(0, 1), 0);
    expect(late.settled("r", [0]).get(0)).toEqual(output(0, 1));
  });

  test("small outcomes and questions count for what they take", () => {
    // So many fake timers take seconds.
    vi.useRealTimers();
    const late = new LateOutcomes();
    const calls = Array.from({ length: 66_000 }, (_, call) => call);
    late.expect("small", own(...calls), Date.now() + DAY_MS, noAbort);
    for (const call of calls) late.settle("small", output(call, 1), 0);
    expect(late.settled("small", calls).size).toBeLessThan(65_537);
    const asked = Array.from({ length: 10 }, (_, call) => call);
    late.expect("asked", own(...asked), Date.now() + DAY_MS, noAbort);
    for (const call of asked) late.settle("asked", { kind: "asked", call, payload: null }, 2 ** 20);
    expect([...late.settled("asked", asked).keys()]).toEqual([7, 8, 9]);
  });
});
