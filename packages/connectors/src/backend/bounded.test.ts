import { describe, expect, test } from "vitest";
import { bounded } from "./bounded.ts";

const never = new AbortController().signal;
const about = { connector: "shop", what: 'calling "buy"', timeoutMs: 60_000, signal: never };

describe("bounded", () => {
  test("gives what the work gives", async () => {
    await expect(bounded(about, () => Promise.resolve(1))).resolves.toBe(1);
  });

  test("gives the work's own error", async () => {
    const error = new Error("broken");
    await expect(bounded(about, () => Promise.reject(error))).rejects.toBe(error);
  });

  test("ends work that takes too long, and tells it to stop", async () => {
    let told: AbortSignal | undefined;
    const asked = bounded({ ...about, timeoutMs: 1 }, (signal) => {
      told = signal;
      return new Promise<never>(() => {});
    });
    await expect(asked).rejects.toMatchObject({
      code: "TOOL_CALL_TIMEOUT",
      connector: "shop",
      message: 'Stopped calling "buy": "shop" gave no answer within 1 ms',
    });
    expect(told?.aborted).toBe(true);
  });

  test("ends work that nobody waits for any more", async () => {
    const caller = new AbortController();
    let told: AbortSignal | undefined;
    const asked = bounded({ ...about, signal: caller.signal }, (signal) => {
      told = signal;
      return new Promise<never>(() => {});
    });
    const reason = new Error("the run ended");
    caller.abort(reason);
    await expect(asked).rejects.toMatchObject({ code: "CALL_ABORTED", cause: reason });
    expect(told?.aborted).toBe(true);
  });

  test("begins no work that nobody waits for", async () => {
    let isBegun = false;
    const asked = bounded({ ...about, signal: AbortSignal.abort() }, () => {
      isBegun = true;
      return Promise.resolve();
    });
    await expect(asked).rejects.toMatchObject({ code: "CALL_ABORTED" });
    expect(isBegun).toBe(false);
  });

  test("ignores an error that comes after the end", async () => {
    const late = Promise.withResolvers<never>();
    await expect(bounded({ ...about, timeoutMs: 1 }, () => late.promise)).rejects.toMatchObject({
      code: "TOOL_CALL_TIMEOUT",
    });
    late.reject(new Error("too late"));
    // An unhandled rejection would fail the test run.
    await new Promise((resolve) => setImmediate(resolve));
  });
});
