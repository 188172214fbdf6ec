import { beforeEach, describe, expect, test } from "vitest";
import { quantumMs } from "../protocol/quantum.ts";
import { CellTime } from "./cell-time.ts";
import { ThreadClock } from "./thread-clock.ts";

/** A thread whose clocks show what a test sets. */
let wallMs: number;
let threadMs: number;
let waiting: number;
/** How often CellTime read the thread's clock. */
let asked: number;

const LIMIT_MS = 1000;

beforeEach(() => {
  wallMs = 5000;
  threadMs = 70;
  waiting = 0;
  asked = 0;
});

function timeOf(moves = 0, hasThreadTime = true): CellTime {
  return new CellTime(1, LIMIT_MS, moves, {
    now: () => wallMs,
    threadClock: hasThreadTime ? new ThreadClock(() => (asked++, threadMs)) : undefined,
    countWaiting: () => waiting,
  });
}

/** The cell runs for `ms`, and is polled once at the end. */
function run(time: CellTime, ms: number): boolean {
  wallMs += ms;
  threadMs += ms;
  return time.mustStop();
}

/** The cell stands still for `ms`: its thread does not run. */
function stand(time: CellTime, ms: number): boolean {
  wallMs += ms;
  return time.mustStop();
}

function burst(time: CellTime, ms: number): void {
  time.begin(1);
  run(time, ms);
  time.end();
}

describe("the time of a cell", () => {
  test("a cell may use its limit, over all bursts, and not more", () => {
    const time = timeOf();
    for (let bursts = 0; bursts < 9; bursts++) burst(time, LIMIT_MS / 10);
    expect(time.usedMs).toBe(900);
    time.begin(1);
    expect(run(time, 99)).toBe(false);
    expect(run(time, 2)).toBe(true);
    expect(time.verdict).toBe("out of time");
  });

  test("short bursts read the thread's clock once in two milliseconds, and otherwise count by the wall clock", () => {
    const time = timeOf();
    for (let bursts = 0; bursts < 100; bursts++) burst(time, 0.1);
    expect(time.usedMs).toBeCloseTo(10);
    expect(asked).toBeLessThanOrEqual(5);
  });

  test("what the thread did just before a burst counts for it only if the burst took as long by the clock", () => {
    const time = timeOf();
    time.begin(1);
    time.end();
    // Another cell's burst.
    run(time, 1.9);
    time.begin(1);
    stand(time, 0.9);
    time.end();
    expect(time.usedMs).toBeCloseTo(0.9);
    time.begin(1);
    stand(time, 500);
    time.end();
    expect(time.usedMs).toBeLessThan(3);
  });

  test("time in which the thread did not run does not count [host:fair]", () => {
    const time = timeOf();
    waiting = 1;
    time.begin(1);
    expect(stand(time, 10 * LIMIT_MS)).toBe(false);
    expect(run(time, 15)).toBe(false);
    time.end();
    expect(time.usedMs).toBe(15);
  });

  test("alone it computes up to its limit; when others come it leaves at once [host:fair]", () => {
    const time = timeOf();
    time.begin(1);
    expect(run(time, 500)).toBe(false);
    waiting = 1;
    expect(run(time, 1.5)).toBe(true);
    expect(time.verdict).toBe("computes");
  });

  test("others do not make it leave before its quantum is over", () => {
    const time = timeOf();
    waiting = 1;
    time.begin(1);
    expect(run(time, quantumMs(0, 1) - 1)).toBe(false);
    expect(run(time, 2)).toBe(true);
    expect(time.verdict).toBe("computes");
  });

  test("a verdict stays, even if no cell waits any more and the limit passes", () => {
    const time = timeOf();
    waiting = 1;
    time.begin(1);
    expect(run(time, 100)).toBe(true);
    waiting = 0;
    expect(run(time, LIMIT_MS)).toBe(true);
    expect(time.verdict).toBe("computes");
  });

  test("out of time comes first: a move gives no time [host:fair]", () => {
    const time = timeOf();
    waiting = 1;
    time.begin(1);
    expect(run(time, LIMIT_MS + 1)).toBe(true);
    expect(time.verdict).toBe("out of time");
  });

  test("all bursts of a placement count together, also those without a check", () => {
    const time = timeOf();
    waiting = 1;
    let bursts = 0;
    for (; time.verdict === undefined && bursts < 1000; bursts++) {
      time.begin(1);
      wallMs += 5;
      threadMs += 5;
      if (bursts % 4 === 3) time.mustStop();
      time.end();
    }
    expect(time.verdict).toBe("computes");
    expect(bursts).toBeLessThan(10);
  });

  test("a slow first burst on a cold worker does not count as computing", () => {
    const time = timeOf();
    waiting = 100;
    time.begin(1);
    wallMs += 90;
    threadMs += 90;
    time.end();
    time.begin(1);
    expect(time.verdict).toBeUndefined();
  });

  test("a program of many short bursts stays for as long as it lives", () => {
    const time = timeOf();
    waiting = 100;
    for (let bursts = 0; bursts < 2000; bursts++) {
      time.begin(1);
      wallMs += 0.4;
      threadMs += 0.4;
      time.end();
    }
    expect(time.verdict).toBeUndefined();
  });

  test("bursts that are repeated in one go count as separate bursts", () => {
    const time = timeOf();
    waiting = 1;
    time.begin(400);
    expect(run(time, 150)).toBe(false);
  });

  test("time used before a restore counts toward the limit, not toward the quantum", () => {
    const time = timeOf();
    time.restore(900);
    waiting = 1;
    time.begin(1);
    expect(run(time, 10)).toBe(false);
    expect(run(time, 12)).toBe(true);
    expect(time.verdict).toBe("computes");
    const other = timeOf();
    other.restore(900);
    other.begin(1);
    expect(run(other, 101)).toBe(true);
    expect(other.verdict).toBe("out of time");
  });

  test("a moved cell gets a longer quantum", () => {
    const time = timeOf(1);
    waiting = 1;
    time.begin(1);
    expect(run(time, quantumMs(1, 0) - 1)).toBe(false);
    expect(run(time, 2)).toBe(true);
  });

  test("the more cells wait, the sooner guest code that computes leaves", () => {
    const polls = (others: number): number => {
      const time = timeOf();
      waiting = others;
      time.begin(1);
      let count = 1;
      while (!run(time, 0.11)) count++;
      expect(time.verdict).toBe("computes");
      return count;
    };
    expect(polls(50)).toBeLessThan(polls(1) / 4);
  });

  test("without a clock per thread, only guest code that keeps running counts as computing", () => {
    const time = timeOf(0, false);
    waiting = 1;
    time.begin(1);
    expect(stand(time, 500)).toBe(false);
    for (let polls = 0; polls < 300 && !run(time, 0.2); polls++);
    expect(time.verdict).toBe("computes");
  });
});
