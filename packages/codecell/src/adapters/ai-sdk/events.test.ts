import { runInNewContext } from "node:vm";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type CodeModeConsoleEvent, type CodeModeLifecycle, Hooks } from "./events.ts";

const EVENT: CodeModeConsoleEvent = { invocationId: "1", outerToolCallId: "2", level: "log", text: "line" };
const never = (): Promise<void> => new Promise(() => {});

/** Calls the hook with an event. `isOver` says whether the program no longer waits for the hook. */
function telling(hooks: Hooks): { isOver: boolean } {
  const state = { isOver: false };
  void hooks.call("onConsole", EVENT).then(() => {
    state.isOver = true;
  });
  return state;
}

describe("a hook", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("that never settles is waited for once, however many events there are", async () => {
    const onConsole = vi.fn<() => Promise<void>>(never);
    const onHookError = vi.fn<(error: unknown) => void>();
    const hooks = new Hooks({ onConsole, onHookError });
    const first = telling(hooks);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(first.isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(first.isOver).toBe(true);
    const second = telling(hooks);
    await vi.advanceTimersByTimeAsync(0);
    expect(second.isOver).toBe(true);
    expect(onConsole).toHaveBeenCalledTimes(2);
    expect(onHookError).toHaveBeenCalledTimes(1);
  });

  test("that was late once still has its failures reported", async () => {
    const onHookError = vi.fn<(error: unknown) => void>();
    const onConsole = vi.fn<() => Promise<void>>(never);
    const hooks = new Hooks({ onConsole, onHookError });
    telling(hooks);
    await vi.advanceTimersByTimeAsync(10_000);
    onConsole.mockRejectedValueOnce(new Error("Late"));
    telling(hooks);
    await vi.advanceTimersByTimeAsync(0);
    expect(onHookError).toHaveBeenLastCalledWith(new Error("Late"), { hook: "onConsole", event: EVENT });
  });

  test("for errors that never settles delays nobody either", async () => {
    const fail = (): void => {
      throw new Error("No disk");
    };
    const told = telling(new Hooks({ onConsole: fail, onHookError: never }));
    await vi.advanceTimersByTimeAsync(9_999);
    expect(told.isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(told.isOver).toBe(true);
  });

  test.each<[string, () => unknown]>([
    ["a promise of another realm", () => runInNewContext('Promise.reject(new Error("No disk"))')],
    [
      "what is not a promise and has a then",
      // oxlint-disable-next-line unicorn/no-thenable -- that is the point
      () => ({ then: (_: unknown, reject: (error: Error) => void) => reject(new Error("No disk")) }),
    ],
  ])("may give %s", async (_what, give) => {
    const errors: string[] = [];
    const lifecycle = {
      onConsole: give,
      onHookError: (error: unknown) => void errors.push(String(error)),
    } as CodeModeLifecycle;
    await new Hooks(lifecycle).call("onConsole", EVENT);
    expect(errors).toEqual(["Error: No disk"]);
  });
});
