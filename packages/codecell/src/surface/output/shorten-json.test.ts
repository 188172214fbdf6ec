import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../contract/value.ts";
import { shortenJson } from "./shorten-json.ts";
import { cutText, jsonTextBytes } from "./shorten-text.ts";

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const anyText = fc.string({ unit: "binary", maxLength: 200 });
const anyJson = fc.oneof(
  fc.jsonValue({ maxDepth: 6 }) as fc.Arbitrary<Json>,
  fc.array(
    fc.dictionary(
      anyText,
      fc.oneof(anyText, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant(null)),
    ),
  ),
);

describe("shortened texts", () => {
  test("are measured as JSON writes them", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(jsonTextBytes(text)).toBe(bytesOf(text));
      }),
    );
  });

  test("fit, begin like the whole text and split no code point [exec-wait:46]", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme", maxLength: 200 }),
        fc.integer({ min: 5, max: 300 }),
        (text, room) => {
          const cut = cutText(text, room);
          expect(bytesOf(cut)).toBeLessThanOrEqual(room);
          expect(cut.isWellFormed()).toBe(true);
          expect(text.startsWith(cut.slice(0, cut.lastIndexOf("…")))).toBe(true);
        },
      ),
    );
  });

  test("count the bytes that are missing", () => {
    expect(cutText("a".repeat(100), 30)).toBe(`${"a".repeat(12)}… (+88 bytes)`);
    expect(cutText("a".repeat(100), 10)).toBe("aaaaa…");
  });
});

describe("shortened values", () => {
  test("always fit, and are unchanged if they already fit [exec-wait:46]", () => {
    fc.assert(
      fc.property(anyJson, fc.integer({ min: 5, max: 2000 }), (value, room) => {
        const short = shortenJson(value, room);
        expect(bytesOf(short)).toBeLessThanOrEqual(room);
        if (bytesOf(value) <= room) expect(short).toBe(value);
      }),
      { numRuns: 500 },
    );
  });

  test("kept parts of records and lists stay in their places", () => {
    const follows = (short: Json, whole: Json): boolean => {
      if (typeof short === "string" && short.includes("…")) return true;
      if (Array.isArray(short) && Array.isArray(whole)) {
        return short.every((item: Json, index) => follows(item, (whole[index] ?? null) as Json));
      }
      if (typeof short === "object" && short !== null && !Array.isArray(short)) {
        return Object.entries(short as Record<string, Json>).every(
          ([key, field]) => /^…+$/u.test(key) || follows(field, (whole as Record<string, Json>)[key] ?? null),
        );
      }
      return Object.is(JSON.stringify(short), JSON.stringify(whole));
    };
    fc.assert(
      fc.property(anyJson, fc.integer({ min: 5, max: 500 }), (value, room) => {
        expect(follows(shortenJson(value, room), value)).toBe(true);
      }),
    );
  });

  test("small fields stay whole, large ones share the rest", () => {
    const value = { id: 7, body: "b".repeat(1000), title: "Hello", other: "o".repeat(1000) };
    const short = shortenJson(value, 300) as typeof value;
    expect(short).toMatchObject({ id: 7, title: "Hello" });
    expect(Object.keys(short)).toEqual(Object.keys(value));
    expect(short.body).toMatch(/^b{80,}… \(\+\d+ bytes\)$/u);
    expect(short.other).toMatch(/^o{80,}… \(\+\d+ bytes\)$/u);
  });

  test("lists show their first items and count the rest", () => {
    const rows = Array.from({ length: 500 }, (_, n) => ({ n }));
    expect(shortenJson(rows, 100)).toEqual([...rows.slice(0, 8), "… 492 more of 500 items"]);
    const large = shortenJson(
      rows.map(() => "r".repeat(1000)),
      400,
    ) as string[];
    expect(large).toHaveLength(4);
    expect(large[0]).toMatch(/^r{50,}… \(\+\d+ bytes\)$/u);
  });

  test("tables show their first records and count the rest; a field of the note's name is no obstacle", () => {
    const table = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`user-${n}`, { n }]));
    expect(shortenJson({ ...table, "…": 1 }, 100)).toEqual({
      "user-0": { n: 0 },
      "user-1": { n: 1 },
      "user-2": { n: 2 },
      "……": "498 more of 501 fields",
    });
  });

  test("parts without room say what they were", () => {
    const list = Array.from({ length: 12 }, () => 123_456_789);
    expect(shortenJson({ a: { b: list } }, 36)).toEqual({ a: "a record of 1 fields…" });
    expect(shortenJson({ a: { b: list } }, 60)).toEqual({ a: { b: [123_456_789, "… 11 more of 12 items"] } });
    expect(shortenJson(list, 20)).toBe("a list of 12 it…");
    expect(shortenJson(list, 5)).toBe("…");
  });

  test("a field may be called __proto__", () => {
    const whole = JSON.parse(`{"__proto__":{"a":1},"b":"${"b".repeat(90)}"}`) as Json;
    expect(JSON.stringify(shortenJson(whole, 64))).toMatch(
      /^\{"__proto__":\{"a":1\},"b":"b+… \(\+\d+ bytes\)"\}$/u,
    );
  });
});
