import { describe, expect, test } from "vitest";
import { isThenable, whenKnown } from "./when-known.ts";

describe("whenKnown", () => {
  test("goes on at once with a value", () => {
    expect(whenKnown(1, (value) => value + 1)).toBe(2);
  });

  test("waits for a promise", async () => {
    const next = whenKnown(Promise.resolve(1), (value) => value + 1);
    expect(next).toBeInstanceOf(Promise);
    expect(await next).toBe(2);
  });

  test("throws what the next step throws, and rejects with what a promise rejects with", async () => {
    const fail = (): never => {
      throw new Error("next");
    };
    expect(() => whenKnown(1, fail)).toThrow("next");
    await expect(whenKnown(Promise.resolve(1), fail)).rejects.toThrow("next");
    await expect(whenKnown(Promise.reject(new Error("first")), fail)).rejects.toThrow("first");
  });
});

test.each<[string, unknown, boolean]>([
  ["a promise", Promise.resolve(), true],
  // oxlint-disable-next-line unicorn/no-thenable
  ["an object with a function then", { then: () => {} }, true],
  // oxlint-disable-next-line unicorn/no-thenable
  ["a function with a function then", Object.assign(() => {}, { then: () => {} }), true],
  // oxlint-disable-next-line unicorn/no-thenable
  ["an object with another then", { then: 1 }, false],
  ["a function", () => {}, false],
  ["null", null, false],
  ["nothing", undefined, false],
])("whether %s can be waited for", (_, value, is) => {
  expect(isThenable(value)).toBe(is);
});
