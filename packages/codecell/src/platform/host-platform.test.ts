import { AsyncLocalStorage, createHook } from "node:async_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createNodeHostPlatform, createPageHostPlatform, platform } from "./host-platform.ts";

afterEach(() => void vi.useRealTimers());

describe.each([
  ["node", createNodeHostPlatform()],
  ["page", createPageHostPlatform()],
])("platform: %s", (_name, { afterThis, afterTimers, captureContext, createRestTimer, randomUUID }) => {
  test("afterThis calls in order, after the running code and its microtasks", async () => {
    const happened: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    await Promise.resolve();
    afterThis(() => void happened.push("first"));
    afterThis(() => {
      happened.push("second");
      resolve();
    });
    void Promise.resolve().then(() => happened.push("microtask"));
    happened.push("now");
    await promise;
    expect(happened).toEqual(["now", "microtask", "first", "second"]);
  });

  test("afterTimers calls after the timers that are due together", async () => {
    const happened: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    const fire = (name: string) => (): void => {
      happened.push(name);
      if (happened.length === 1) {
        afterTimers(() => {
          happened.push("after");
          resolve();
        });
      }
    };
    setTimeout(fire("timer 1"), 1);
    setTimeout(fire("timer 2"), 1);
    // Wait until both are due.
    const until = performance.now() + 5;
    while (performance.now() < until);
    await promise;
    expect(happened).toEqual(["timer 1", "timer 2", "after"]);
  });

  test("a rest timer calls when nobody restarts it in time, and not after a stop", () => {
    vi.useFakeTimers();
    let calls = 0;
    const timer = createRestTimer(() => calls++, 100);
    vi.advanceTimersByTime(1000);
    expect(calls).toBe(0);
    for (let turn = 0; turn < 5; turn++) {
      timer.restart();
      vi.advanceTimersByTime(60);
    }
    expect(calls).toBe(0);
    vi.advanceTimersByTime(100);
    expect(calls).toBe(1);
    timer.restart();
    timer.stop();
    vi.advanceTimersByTime(1000);
    expect(calls).toBe(1);
    timer.restart();
    vi.advanceTimersByTime(100);
    expect(calls).toBe(2);
  });

  test("a captured context calls its function, and random ids differ", () => {
    expect(captureContext()(() => 5)).toBe(5);
    expect(randomUUID()).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/u);
    expect(randomUUID()).not.toBe(randomUUID());
  });
});

test("on Node.js a captured context keeps the async storage of its capturer", () => {
  const storage = new AsyncLocalStorage<string>();
  const captured = storage.run("mine", () => platform.captureContext());
  expect(storage.run("other", () => captured(() => storage.getStore()))).toBe("mine");
});

test("observers of async resources hear of the end of each captured context", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const open = new Set<number>();
  let captured = 0;
  const observer = createHook({
    init: (id, type) => {
      if (type !== "codecell.run") return;
      captured++;
      open.add(id);
    },
    destroy: (id) => void open.delete(id),
  }).enable();
  onTestFinished(() => void observer.disable());
  for (let count = 0; count < 100; count++) platform.captureContext()(() => count);
  expect(captured).toBe(100);
  await expect
    .poll(() => {
      collectGarbage();
      return open.size;
    })
    .toBeLessThan(10);
});
