import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hasOnlyUniqueItems, withoutUniqueItems } from "./unique-items.ts";

/** Equal as JSON Schema means it: the order of keys does not count. */
function areEqual(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null)
    return Object.is(a, b) || a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every(
    (key) =>
      Object.hasOwn(b, key) &&
      areEqual((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]),
  );
}

function isUniqueByComparing(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++)
      for (let j = 0; j < i; j++) if (areEqual(value[i], value[j])) return false;
  }
  return Object.values(value).every(isUniqueByComparing);
}

describe("hasOnlyUniqueItems", () => {
  test("says what comparing all items with each other says", () => {
    const small = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom(0, 1, "1", true, null),
        tie("list"),
        tie("record"),
      ),
      list: fc.array(tie("value"), { maxLength: 3 }),
      record: fc.dictionary(fc.constantFrom("a", "b"), tie("value"), { maxKeys: 2 }),
    })).value;
    fc.assert(
      fc.property(small, (value) => {
        expect(hasOnlyUniqueItems(value)).toBe(isUniqueByComparing(value));
      }),
      { numRuns: 500 },
    );
  });
});

test("withoutUniqueItems takes the keyword out and leaves everything else, names and values too", () => {
  expect(
    withoutUniqueItems({
      uniqueItems: true,
      items: { type: "array", uniqueItems: true, default: [{ uniqueItems: true }] },
      properties: { uniqueItems: true, other: { uniqueItems: false } },
      allOf: [{ uniqueItems: true, minItems: 1 }],
      enum: [{ uniqueItems: true }],
    }),
  ).toEqual({
    items: { type: "array", default: [{ uniqueItems: true }] },
    properties: { uniqueItems: true, other: {} },
    allOf: [{ minItems: 1 }],
    enum: [{ uniqueItems: true }],
  });
});
