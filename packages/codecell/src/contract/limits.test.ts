import { describe, expect, test } from "vitest";
import { LIMIT_BOUNDS, type LimitName, resolveLimits } from "./limits.ts";

const names = Object.keys(LIMIT_BOUNDS) as LimitName[];

describe("limits", () => {
  test("without options every limit has its default", () => {
    expect(resolveLimits()).toEqual(
      Object.fromEntries(names.map((name) => [name, LIMIT_BOUNDS[name].default])),
    );
  });

  test.each(names)("%s is clamped to its bounds", (name) => {
    const { min, max } = LIMIT_BOUNDS[name];
    expect(resolveLimits({ [name]: max + 1 })[name]).toBe(max);
    expect(resolveLimits({ [name]: max })[name]).toBe(max);
    expect(resolveLimits({ [name]: min })[name]).toBe(min);
    expect(resolveLimits({ [name]: 0 })[name]).toBe(min);
  });

  test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "5", null])("%s is refused", (value) => {
    expect(() => resolveLimits({ wallTimeMs: value as number })).toThrow(
      value === null ? /./ : `Cannot set limit "wallTimeMs" to ${value}: expected a positive integer`,
    );
  });

  test("an unknown name is refused", () => {
    expect(() => resolveLimits({ timeoutMs: 5 } as never)).toThrow(
      'Cannot set limit "timeoutMs": no such limit',
    );
  });

  test("the resolved limits cannot be changed", () => {
    expect(Object.isFrozen(resolveLimits())).toBe(true);
  });
});
