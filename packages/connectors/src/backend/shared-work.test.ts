import { describe, expect, test } from "vitest";
import { SharedWork } from "./shared-work.ts";

const never = new AbortController().signal;

describe("shared work", () => {
  test("is done once for all who want it at the same time, and again for who comes later", async () => {
    const shared = new SharedWork<number>();
    let done = 0;
    const join = (): Promise<number> => shared.join(never, () => Promise.resolve(++done));
    expect(await Promise.all([join(), join(), join()])).toEqual([1, 1, 1]);
    expect(await join()).toBe(2);
  });

  test("fails for all, and is tried again", async () => {
    const shared = new SharedWork<number>();
    const fail = (): Promise<number> => Promise.reject(new Error("no"));
    const outcomes = await Promise.allSettled([shared.join(never, fail), shared.join(never, fail)]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await shared.join(never, () => Promise.resolve(1))).toBe(1);
  });

  test("goes on when one leaves, and is told to stop when all have left", async () => {
    const shared = new SharedWork<number>();
    const [one, other] = [new AbortController(), new AbortController()];
    let told: AbortSignal | undefined;
    const work = (signal: AbortSignal): Promise<number> => {
      told = signal;
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error("told to stop")));
      });
    };
    const waiting = [shared.join(one.signal, work), shared.join(other.signal, work)];
    one.abort(new Error("left"));
    await expect(waiting[0]).rejects.toThrow("left");
    expect(told?.aborted).toBe(false);
    other.abort(new Error("left too"));
    await expect(waiting[1]).rejects.toThrow("left too");
    expect(told?.aborted).toBe(true);
    expect(await shared.join(never, () => Promise.resolve(2))).toBe(2);
  });

  test("that does not stop when it is told to is not done twice at a time", async () => {
    const shared = new SharedWork<number>();
    const outcome = Promise.withResolvers<number>();
    const leaver = new AbortController();
    const left = shared.join(leaver.signal, () => outcome.promise);
    leaver.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    let begun = 0;
    const late = shared.join(never, () => Promise.resolve(++begun));
    const gone = new AbortController();
    const lateAndGone = shared.join(gone.signal, () => Promise.resolve(++begun));
    gone.abort(new Error("left as well"));
    await expect(lateAndGone).rejects.toThrow("left as well");
    outcome.resolve(7);
    expect(await late).toBe(7);
    expect(begun).toBe(0);
  });
});
