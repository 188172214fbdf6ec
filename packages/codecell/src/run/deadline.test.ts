import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Deadline } from "./deadline.ts";

describe("deadline", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("passes after the given time", () => {
    const passed = vi.fn<() => void>();
    using _deadline = new Deadline(1000, passed);
    vi.advanceTimersByTime(999);
    expect(passed).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(passed).toHaveBeenCalledOnce();
  });

  test("time spent paused does not count, however many pauses overlap", () => {
    const passed = vi.fn<() => void>();
    using deadline = new Deadline(1000, passed);
    vi.advanceTimersByTime(400);
    deadline.pause();
    deadline.pause();
    vi.advanceTimersByTime(60_000);
    deadline.resume();
    vi.advanceTimersByTime(60_000);
    deadline.resume();
    vi.advanceTimersByTime(599);
    expect(passed).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(passed).toHaveBeenCalledOnce();
  });

  test("time between many short pauses counts", () => {
    const passed = vi.fn<() => void>();
    using deadline = new Deadline(1000, passed);
    for (let pause = 0; pause < 100; pause++) {
      deadline.pause();
      vi.advanceTimersByTime(15);
      deadline.resume();
      vi.advanceTimersByTime(5);
    }
    expect(passed).not.toHaveBeenCalled();
    vi.advanceTimersByTime(499);
    expect(passed).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(passed).toHaveBeenCalledOnce();
  });

  test("keeps the process alive, but not while it is paused", () => {
    vi.useRealTimers();
    const alive = (): number => process.getActiveResourcesInfo().filter((one) => one === "Timeout").length;
    const before = alive();
    using deadline = new Deadline(60_000, () => {});
    expect(alive()).toBe(before + 1);
    deadline.pause();
    deadline.pause();
    expect(alive()).toBe(before);
    deadline.resume();
    expect(alive()).toBe(before);
    deadline.resume();
    expect(alive()).toBe(before + 1);
  });

  test("never passes after it was disposed, also if a pause ends afterwards", () => {
    const passed = vi.fn<() => void>();
    const deadline = new Deadline(1000, passed);
    deadline.pause();
    deadline[Symbol.dispose]();
    deadline.resume();
    vi.advanceTimersByTime(10_000);
    expect(passed).not.toHaveBeenCalled();
  });
});
