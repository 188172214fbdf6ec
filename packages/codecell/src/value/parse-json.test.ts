import { fc, test as propertyTest } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import type { RecordNames } from "./json-text.ts";
import { buildBytesSteps, parseJson } from "./parse-json.ts";
import { atOnce } from "../loop/turn.ts";

const ALL = 1e9;

function byEngine(text: string): unknown {
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch {
    return { ok: false, problem: "it is not JSON" };
  }
}

/** Printed, so that the order of keys and an own `__proto__` are compared. */
async function read(text: string, piece: number): Promise<{ readonly ok: boolean; readonly text: string }> {
  const parsed = await parseJson(text, ALL, piece);
  return { ok: parsed.ok, text: JSON.stringify(parsed) };
}

function readBytes(text: string, piece: number): string {
  try {
    return JSON.stringify({ ok: true, value: atOnce(buildBytesSteps(Buffer.from(text), piece)) });
  } catch {
    return JSON.stringify({ ok: false, problem: "it is not JSON" });
  }
}

const spaces = fc.constantFrom(undefined, 1, "\t", "\n");
const keys = fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "0", "1", "a"));
const values = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(fc.string({ unit: "binary" }), fc.double(), fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie("value"), { maxLength: 6 }),
    fc.array(fc.tuple(keys, tie("value")), { maxLength: 6 }).map((entries) => Object.fromEntries(entries)),
  ),
})).value;

describe("JSON in pieces", () => {
  propertyTest.prop([values, spaces, fc.integer({ min: 1, max: 40 })], { numRuns: 500 })(
    "equals what the engine reads at once",
    async (value, space, piece) => {
      const text = JSON.stringify(value, undefined, space);
      expect((await read(text, piece)).text).toBe(JSON.stringify(byEngine(text)));
      expect(readBytes(text, piece)).toBe(JSON.stringify(byEngine(text)));
    },
  );

  propertyTest.prop(
    [
      values,
      fc.array(
        fc.tuple(
          fc.nat(),
          fc.constantFrom("", ",", ",,", "[", "]", "{", "}", ":", '"', "\\", "0", " ", "\u00a0"),
        ),
        {
          minLength: 1,
          maxLength: 3,
        },
      ),
      fc.integer({ min: 1, max: 40 }),
    ],
    { numRuns: 2000 },
  )("is refused where the engine refuses it", async (value, changes, piece) => {
    let text = JSON.stringify(value);
    for (const [place, put] of changes) {
      const at = place % (text.length + 1);
      text = text.slice(0, at) + put + text.slice(at + (put === "" ? 1 : 0));
    }
    expect((await read(text, piece)).text).toBe(JSON.stringify(byEngine(text)));
    // UTF-8 has no lone surrogates, so replace them.
    const encoded = text.toWellFormed();
    expect(readBytes(encoded, piece)).toBe(JSON.stringify(byEngine(encoded)));
  });

  test.each([
    '{"a":[1,2,3],"a":[4,5,6],"b":1}',
    '{"a":1,"b":[1,2,3,4],"a":[5,6,7,8]}',
    '[[[1,2,3,4],5],{"x":{"y":[1,2,3]}},6]',
    "[1,2,3,4,]",
    "[1,2,3,4 5]",
    "[[1,2,3,4][5,6]]",
    "[[1,2,3,4],]",
    "[[1,2,3,4]",
    "[1,2,3,4]]",
    "[1,2,3,4}",
    '{"a":[1,2,3,4}}',
    '{"a":1[1,2,3,4]}',
    '{"a":-[1,2,3,4]}',
    "{[1,2,3,4]:1}",
    '{"a"[1,2,3,4]}',
    "1,2,3,4",
    ",1,2,3",
    "[,1,2,3]",
    "x[1,2,3,4]",
    "[1,2,3,4]x",
  ])("cut at any piece size, equals the engine's reading: %s", async (text) => {
    for (let piece = 1; piece < text.length; piece++) {
      expect((await read(text, piece)).text).toBe(JSON.stringify(byEngine(text)));
    }
  });

  propertyTest.prop([values, fc.integer({ min: 1, max: 40 })], { numRuns: 200 })(
    "knows the names of every record that it built in pieces, as the engine lists them",
    async (value, piece) => {
      const names: RecordNames = new Map();
      await parseJson(JSON.stringify(value), ALL, piece, names);
      for (const [record, listed] of names) expect(listed).toEqual(Object.keys(record));
    },
  );

  test("lists a name once, even if the text has it twice", async () => {
    const names: RecordNames = new Map();
    const parsed = await parseJson('{"a":1,"b":2,"a":3,"c":[1,2]}', ALL, 1, names);
    expect(parsed).toEqual({ ok: true, value: { a: 3, b: 2, c: [1, 2] } });
    expect([...names.values()]).toEqual([["a", "b", "c"]]);
  });

  test("gives small values without a promise", () => {
    expect(parseJson('{"a":1}', ALL)).toEqual({ ok: true, value: { a: 1 } });
  });

  test("refuses a text that is too large before building any of it", async () => {
    expect(await parseJson(`[${"[],".repeat(70_000)}0]`, ALL)).toMatchObject({ ok: false });
    expect(await parseJson(`"${"ä".repeat(70_000)}"`, 140_001)).toMatchObject({
      problem: "it has 140002 bytes, at most 140001 are allowed",
    });
  });
});
