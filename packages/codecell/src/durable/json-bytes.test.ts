import { fc, test as propertyTest } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { atOnce } from "../loop/turn.ts";
import { toJsonBytes, toJsonPieces } from "./json-bytes.ts";

describe("JSON bytes in pieces", () => {
  propertyTest.prop([
    fc.anything({
      withNullPrototype: true,
      values: [
        fc.string({ unit: "binary" }),
        fc.integer(),
        fc.constant(undefined),
        fc.boolean(),
        fc.constant(null),
      ],
    }),
  ])("are the same bytes", (value) => {
    const whole = Buffer.from(JSON.stringify(value) ?? "null");
    expect(Buffer.concat(atOnce(toJsonPieces(value))).equals(whole)).toBe(true);
  });

  test("are made one at a time, and never exceed the given number of bytes", () => {
    const value = { calls: Array.from({ length: 40 }, () => ({ input: '"'.repeat(100_000) })) };
    const { length } = toJsonBytes(value);
    let steps = 0;
    for (const work = toJsonPieces(value, length); work.next().done !== true;) steps++;
    expect(steps).toBeGreaterThan(10);
    const most = toJsonPieces(value, 1_000_000);
    expect(() => atOnce(most)).toThrow(RangeError);
    let printed = 0;
    expect(() => {
      for (const work = toJsonPieces(value, 1_000_000); work.next().done !== true;) printed++;
    }).toThrow(RangeError);
    expect(printed).toBeLessThan(8);
  });
});
