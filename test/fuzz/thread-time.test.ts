import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { largestTurnMs } from "./thread-time.ts";

/** A few milliseconds of work. */
function work(): number {
  let sum = 0;
  for (let at = 0; at < 20_000_000; at++) sum += Math.imul(at, at);
  return sum;
}

test("work that is done in turns holds the thread less than the same work at once", async () => {
  const times = { attempts: 3, enough: 0 };
  const whole = await largestTurnMs(() => () => Array.from({ length: 8 }, work), times);
  const inTurns = async (): Promise<void> => {
    for (let turn = 0; turn < 8; turn++) {
      work();
      await nextTurn();
    }
  };
  expect(await largestTurnMs(() => inTurns, times)).toBeLessThan(whole / 2);
});

test("the shortest of several attempts counts, and no more attempts are made than needed", async () => {
  let made = 0;
  const prepare = (): (() => unknown) => {
    const isFirst = made++ === 0;
    return () => (isFirst ? Array.from({ length: 8 }, work) : undefined);
  };
  expect(await largestTurnMs(prepare, { attempts: 5, enough: 5 })).toBeLessThan(5);
  expect(made).toBe(2);
});
