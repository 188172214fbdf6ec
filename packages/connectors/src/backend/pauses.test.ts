import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { bounded } from "./bounded.ts";
import { Pauses } from "./pauses.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => void vi.useRealTimers());

describe("a time", () => {
  test("passes outside of pauses alone, however they lie", async () => {
    const steps = fc.array(fc.record({ ms: fc.integer({ min: 0, max: 100 }), isPause: fc.boolean() }));
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 300 }), steps, async (ms, given) => {
        const pauses = new Pauses();
        let isLate = false;
        const stop = pauses.timer(ms, () => {
          isLate = true;
        });
        let passed = 0;
        for (const step of given) {
          const pause = step.isPause ? Promise.withResolvers<void>() : undefined;
          const paused = pause === undefined ? undefined : pauses.during(() => pause.promise);
          await vi.advanceTimersByTimeAsync(step.ms);
          if (pause === undefined) passed += step.ms;
          pause?.resolve();
          await paused;
          // What is left when nothing is left comes with the next turn.
          await vi.advanceTimersByTimeAsync(0);
          expect(isLate).toBe(passed >= ms);
        }
        stop();
      }),
    );
  });

  test("stands still as long as one pause is open", async () => {
    const pauses = new Pauses();
    const [one, other] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const late = vi.fn<() => void>();
    pauses.timer(10, late);
    const both = [pauses.during(() => one.promise), pauses.during(() => other.promise)];
    one.resolve();
    await both[0];
    await vi.advanceTimersByTimeAsync(1000);
    expect(late).not.toHaveBeenCalled();
    other.resolve();
    await both[1];
    await vi.advanceTimersByTimeAsync(10);
    expect(late).toHaveBeenCalledOnce();
  });

  test("stands still for a time only, however many pauses there are", async () => {
    const pauses = new Pauses(100);
    const [late, begunLater] = [vi.fn<() => void>(), vi.fn<() => void>()];
    pauses.timer(10, late);
    for (let asked = 0; asked < 4; asked++) {
      const pause = Promise.withResolvers<void>();
      const paused = pauses.during(() => pause.promise);
      if (asked === 3) pauses.timer(10, begunLater);
      await vi.advanceTimersByTimeAsync(30);
      if (asked < 3) expect(late).not.toHaveBeenCalled();
      pause.resolve();
      await paused;
    }
    expect(late).toHaveBeenCalledOnce();
    // Its own patience is not over.
    expect(begunLater).not.toHaveBeenCalled();
  });

  test("that begins in a pause begins with its end, and never if it was ended", async () => {
    const pauses = new Pauses();
    const pause = Promise.withResolvers<void>();
    const paused = pauses.during(() => pause.promise);
    const [late, ended] = [vi.fn<() => void>(), vi.fn<() => void>()];
    pauses.timer(10, late);
    pauses.timer(10, ended)();
    pause.resolve();
    await paused;
    await vi.advanceTimersByTimeAsync(9);
    expect(late).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(late).toHaveBeenCalledOnce();
    expect(ended).not.toHaveBeenCalled();
  });
});

test("work that waits for a person is not late for that", async () => {
  const pauses = new Pauses();
  const answer = Promise.withResolvers<string>();
  const bound = {
    connector: "a",
    what: "asking",
    timeoutMs: 10,
    signal: new AbortController().signal,
    pauses,
  };
  const work = bounded(bound, () => pauses.during(() => answer.promise));
  await vi.advanceTimersByTimeAsync(1000);
  answer.resolve("yes");
  expect(await work).toBe("yes");
});
