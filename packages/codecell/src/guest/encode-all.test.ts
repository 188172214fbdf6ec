/** Values that a program outputs: always JSON text, with a description in place of what JSON cannot carry. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeAll } from "./inside/calls/encode-all.ts";
import { isReference } from "./inside/testing/reference.ts";

const read = (value: unknown): unknown => JSON.parse(encodeAll(value));

describe.skipIf(!isReference)("encodeAll", () => {
  test("writes JSON values as JSON.stringify does", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(encodeAll(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  test("gives JSON text for any value", () => {
    fc.assert(
      fc.property(
        fc.anything({
          withBigInt: true,
          withDate: true,
          withMap: true,
          withSet: true,
          withTypedArray: true,
          withNullPrototype: true,
          withSparseArray: true,
        }),
        (value) => {
          expect(() => read(value)).not.toThrow();
        },
      ),
    );
  });

  test("replaces a part with a description, and keeps everything around it [exec-wait:44]", () => {
    const cyclic: Record<string, unknown> = { n: 1 };
    cyclic["self"] = cyclic;
    const value = {
      big: 12345678901234567890n,
      at: new Date(0),
      error: new RangeError("no"),
      map: new Map([["k", { v: 2n }]]),
      set: new Set([1]),
      cyclic,
      list: [undefined, Symbol("s"), function named() {}],
      left: undefined,
      get bad(): never {
        throw new Error("unread");
      },
      last: "kept",
    };
    expect(read(value)).toEqual({
      big: "12345678901234567890",
      at: "1970-01-01T00:00:00.000Z",
      error: { name: "RangeError", message: "no" },
      map: [["k", { v: "2" }]],
      set: [1],
      cyclic: { n: 1, self: "[Circular]" },
      list: [null, "Symbol(s)", "[Function named]"],
      bad: "[Threw when read]",
      last: "kept",
    });
  });

  test("describes binary data, and does not pass it on [exec-wait:45]", () => {
    expect(read([new Uint8Array(3), new ArrayBuffer(9)])).toEqual([
      "[Uint8Array of 3 items]",
      "[ArrayBuffer of 9 bytes]",
    ]);
  });

  test("survives proxies, getters and toJSON that throw, and great depth", () => {
    const hostile = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error("no");
        },
      },
    );
    expect(read({ hostile, ok: 1n })).toMatchObject({ ok: "1" });
    expect(read({ a: { toJSON: () => 5n }, ok: 1 })).toEqual({ a: "5", ok: 1 });
    const odd = Object.assign(new Error(), { message: Symbol("odd") });
    const throwing = {
      toJSON: () => {
        throw odd;
      },
    };
    expect(read({ throwing, ok: 1n })).toEqual({ throwing: "[Threw a value]", ok: "1" });
    let deep: unknown = 1n;
    for (let level = 0; level < 5000; level++) deep = [deep];
    expect(encodeAll(deep)).toContain("[Nested too deeply]");
  });
});
