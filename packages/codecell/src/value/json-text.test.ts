import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  asInput,
  isProtoText,
  MAX_JSON_CONTAINERS,
  MAX_JSON_DEPTH,
  parseJsonText,
  countBytes,
  utf8Bytes,
} from "./json-text.ts";

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

describe("parseJsonText", () => {
  test("reads back every JSON value", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        expect(parseJsonText(JSON.stringify(value), 1e9)).toEqual({
          ok: true,
          value: JSON.parse(JSON.stringify(value)),
        });
      }),
    );
  });

  test("never throws, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(typeof parseJsonText(text, 1e9).ok).toBe("boolean");
      }),
    );
  });

  test("refuses more UTF-8 bytes than allowed", () => {
    expect(parseJsonText('"ää"', 6)).toMatchObject({ ok: true });
    expect(parseJsonText('"ää"', 5)).toEqual({
      ok: false,
      problem: "it has 6 bytes, at most 5 are allowed",
    });
  });

  test("refuses nesting that could not be printed again", () => {
    expect(parseJsonText(nested(MAX_JSON_DEPTH), 1e9).ok).toBe(true);
    expect(parseJsonText(nested(MAX_JSON_DEPTH + 1), 1e9)).toMatchObject({ ok: false });
    expect(parseJsonText(nested(500_000), 1e9)).toMatchObject({ ok: false });
  });

  test("refuses more lists and records than can be built in a moment", () => {
    const many = (count: number): string =>
      `[${Array(count - 1)
        .fill("[]")
        .join(",")}]`;
    expect(parseJsonText(many(MAX_JSON_CONTAINERS), 1e9).ok).toBe(true);
    expect(parseJsonText(many(MAX_JSON_CONTAINERS + 1), 1e9)).toEqual({
      ok: false,
      problem: "it has more than 65536 lists and records",
    });
  });

  test("brackets inside strings are not nesting", () => {
    const text = JSON.stringify(
      ["[".repeat(5000), '\\"[{', `${"\\".repeat(7)}"[[[`].concat(Array(2000).fill("{")),
    );
    expect(parseJsonText(text, 1e9)).toMatchObject({ ok: true });
  });

  test("a __proto__ key stays data", () => {
    const parsed = parseJsonText('{"__proto__":{"admin":true}}', 1e9);
    expect(parsed.ok && Object.getPrototypeOf(parsed.value)).toBe(Object.prototype);
  });
});

test.each([
  ["utf8Bytes", utf8Bytes],
  ["countBytes, where there is no Buffer,", countBytes],
])("%s equals the encoder's count", (_, count) => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 60, size: "max" }), (text) => {
      expect(count(text)).toBe(new TextEncoder().encode(text).length);
    }),
  );
});

describe("an input", () => {
  const proto = ['{"__proto__":1}', String.raw`{"\u005f_proto__":1}`, String.raw`{"__pr\u006Fto__":1}`];

  test.each(proto)("%s is refused at any depth [policy:no-proto]", (text) => {
    for (const deep of [text, `[1,${text}]`, `{"a":{"b":[[${text}]]}}`]) {
      expect(asInput(deep, parseJsonText(deep, 1000))).toMatchObject({
        ok: false,
        problem: expect.stringContaining("__proto__"),
      });
      expect(isProtoText(deep)).toBe(true);
      // As a result the key is ordinary data.
      expect(parseJsonText(deep, 1000)).toMatchObject({ ok: true });
    }
  });

  test.each([
    '"__proto__"',
    '["__proto__"]',
    '{"a":"__proto__"}',
    '{"proto":1,"__proto":2}',
    String.raw`"\u0000"`,
  ])("%s has no key __proto__", (text) => {
    expect(asInput(text, parseJsonText(text, 1000))).toEqual({ ok: true, value: JSON.parse(text) });
  });

  test("is accepted unless one of its keys is __proto__", () => {
    const key = fc.oneof(fc.constantFrom("__proto__", "a", "__proto", "\u0001"), fc.string({ maxLength: 3 }));
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.oneof(fc.integer(), fc.constantFrom("__proto__", "x", null)),
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(key, tie("tree"), { maxKeys: 3, noNullPrototype: false }),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        const text = JSON.stringify(value);
        // Looks for the key with the engine's reviver, not with our code.
        let has = false;
        JSON.parse(text, (name, part: unknown) => ((has ||= name === "__proto__"), part));
        expect(asInput(text, parseJsonText(text, 1e6)).ok).toBe(!has);
      }),
    );
  });
});
