import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { largestTurnMs } from "../../../../test/fuzz/thread-time.ts";
import { copyJson, isLarge, printJson, type PrintOptions, printSteps } from "./print-json.ts";
import { atOnce } from "../loop/turn.ts";

/** Prints in pieces, however small the value is. */
function printed(value: unknown, options?: PrintOptions): string | undefined {
  const pieces: string[] = [];
  return atOnce(printSteps(value, (piece) => pieces.push(piece), options)) ? pieces.join("") : undefined;
}

const fields = (count: number, prefix = "k"): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${prefix}${at.toString(36)}`, at]));

describe("printJson", () => {
  test("gives the text of JSON.stringify, piece by piece", () => {
    fc.assert(
      fc.property(
        fc.anything({ withDate: true, withNullPrototype: true, withSparseArray: true }),
        (value) => {
          let text: string | undefined;
          try {
            text = JSON.stringify(value);
          } catch {
            expect(() => printed(value)).toThrow(TypeError);
            return;
          }
          expect(printed(value)).toBe(text);
        },
      ),
    );
  });

  test.each([
    [{ a: undefined, b: () => 1, c: Symbol("c"), d: Number.NaN, e: -0 }],
    [[undefined, () => 1, Symbol("c"), Infinity]],
    [{ toJSON: (name: string) => [name] }],
    [{ at: { toJSON: (name: string) => name } }],
    [Object.assign(() => 1, { toJSON: () => 2 })],
    [[Object(1), Object("a"), Object(false)]],
    [{ __proto__: null, "a\u2028": "\ud800" }],
    [undefined],
    [null],
  ])("gives the text of JSON.stringify for values that do not print as they look: %#", (value) => {
    expect(printed(value)).toBe(JSON.stringify(value));
  });

  test("prints a value twice if it occurs twice, and refuses a value that contains itself", async () => {
    const twice = { a: 1 };
    expect(printed([twice, { twice }])).toBe('[{"a":1},{"twice":{"a":1}}]');
    const cycle: unknown[] = [];
    cycle.push({ cycle });
    expect(() => printed(cycle)).toThrow(TypeError);
    expect(await printJson(cycle)).toBeUndefined();
  });

  test("prints large values in turns, and small values at once", async () => {
    const large = { list: Array.from({ length: 9 }, (_, at) => fields(2000, `k${at}_`)), at: new Date(0) };
    const printing = printJson(large);
    expect(printing).toBeInstanceOf(Promise);
    expect(await printing).toBe(JSON.stringify(large));
    expect(printJson(fields(100))).toBe(JSON.stringify(fields(100)));
  });

  test("gives undefined for a large value that is not JSON", async () => {
    const large: unknown[] = ["a".repeat(100_000)];
    expect(await printJson([...large, 1n])).toBeUndefined();
    large.push(large);
    expect(await printJson(large)).toBeUndefined();
  });

  test.each([
    ["text", "a".repeat(70_000), true],
    ["texts", Array.from({ length: 70 }, () => "a".repeat(1000)), true],
    ["fields", fields(20_000), true],
    ["items", Array.from({ length: 40_000 }, () => 1), true],
    ["a set", { set: new Set(Array.from({ length: 70_000 }, (_, at) => at)) }, true],
    ["bytes", new Uint8Array(70_000), true],
    ["little", { a: [1, "b"], c: fields(1000) }, false],
    [
      "what fails when it is read",
      {
        get a(): never {
          throw new Error("no");
        },
      },
      true,
    ],
  ])("tells what is large: %s", (_, value, expected) => {
    expect(isLarge(value)).toBe(expected);
  });

  test("prints equal values alike when their names are sorted", () => {
    const one = { b: [{ d: 1, c: 2 }], a: 0 };
    expect(printed(one, { isSorted: true })).toBe('{"a":0,"b":[{"c":2,"d":1}]}');
  });

  test("spells out what JSON would lose, in large and in small values", async () => {
    const spell = (part: unknown): unknown => (part instanceof Set ? [...part] : part);
    const large = { long: "a".repeat(70_000), set: new Set([1, { in: new Set([2]) }]) };
    expect(await copyJson(large, { spell })).toEqual({ long: large.long, set: [1, { in: [2] }] });
    expect(copyJson({ set: new Set([1]) }, { spell })).toEqual({ set: [1] });
  });

  test("takes the text of a part where it is known", () => {
    const part = { b: [1] };
    const textOf = (one: object): string | undefined => (one === part ? '{ "b": [1] }' : undefined);
    expect(printed({ a: part, c: [part, { d: 1 }] }, { textOf })).toBe(
      '{"a":{ "b": [1] },"c":[{ "b": [1] },{"d":1}]}',
    );
  });

  test("gives undefined for a value nested too deeply to be read again", async () => {
    let deep: unknown = "a".repeat(70_000);
    for (let level = 0; level < 20_000; level++) deep = [deep];
    expect(await printJson(deep)).toBeUndefined();
  });

  let made = 0;

  test("[host:short-turns] copies a megabyte of names in short turns", async () => {
    const prepare = (): (() => unknown) => {
      const value = fields(70_000, `p${made++}_`);
      return () => copyJson(value);
    };
    expect(await largestTurnMs(prepare, { attempts: 5, enough: 50 })).toBeLessThan(50);
  });

  test("[host:short-turns] prints megabytes of tiny parts in short turns, even if all texts are kept", async () => {
    const prepare = (): (() => unknown) => {
      const values = Array.from({ length: 4 }, () => JSON.parse(`[${'"",'.repeat(349_000)}""]`) as unknown);
      return async () => {
        const texts: unknown[] = [];
        for (const value of values) texts.push(await printJson(value));
        return texts;
      };
    };
    expect(await largestTurnMs(prepare, { attempts: 5, enough: 50 })).toBeLessThan(50);
  });
});
