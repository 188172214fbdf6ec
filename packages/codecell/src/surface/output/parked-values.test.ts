import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ParkedValues } from "./parked-values.ts";

describe("parked values", () => {
  test("come back as they were parked, under refs that count up", async () => {
    const parked = new ParkedValues({ maxBytes: 100, maxValues: 3 });
    expect(["1", '"ä"', "[]"].map((json) => parked.park(json))).toEqual(["r_1", "r_2", "r_3"]);
    expect(await parked.load("r_2")).toEqual({ ok: true, json: '"ä"' });
  });

  test("the oldest makes room, by bytes and by number, and a ref is never used again", async () => {
    const parked = new ParkedValues({ maxBytes: 10, maxValues: 2 });
    parked.park("1111");
    parked.park("2222");
    expect(parked.park("333")).toBe("r_3");
    expect(await parked.load("r_1")).toEqual({
      ok: false,
      message:
        'Cannot load "r_1": it made room for later results, kept are r_2, r_3; run the program that made it again and return less',
    });
    expect(parked.park("7777777777")).toBe("r_4");
    expect((await parked.load("r_3")).ok).toBe(false);
    expect((await parked.load("r_4")).ok).toBe(true);
  });

  test("a value that is too large is not kept and evicts nothing", async () => {
    const parked = new ParkedValues({ maxBytes: 5, maxValues: 2 });
    parked.park("1");
    expect(parked.park('"äää"')).toBeUndefined();
    expect((await parked.load("r_1")).ok).toBe(true);
    expect(new ParkedValues({ maxBytes: 5, maxValues: 0 }).park("1")).toBeUndefined();
  });

  test("the answer to an unknown ref names the refs that exist", async () => {
    const parked = new ParkedValues({ maxBytes: 1000, maxValues: 20 });
    expect(await parked.load("r_1")).toEqual({
      ok: false,
      message: 'Cannot load "r_1": no such result, no result is kept now',
    });
    for (let count = 0; count < 12; count++) parked.park("1");
    for (const ref of ["r_13", "r_01", "x", "__proto__", "r_1e0", "r_"]) {
      expect(await parked.load(ref)).toMatchObject({
        message: expect.stringMatching(/no such result, kept are 12, the latest r_3, .*, r_12$/u),
      });
    }
    const { message = "" } = (await parked.load("y".repeat(1000))) as { message?: string };
    expect(message.length).toBeLessThan(200);
  });

  test("lists and texts can be loaded in parts, and a part may be too large", async () => {
    const parked = new ParkedValues({ maxBytes: 1000, maxValues: 9 });
    const [list = "", text = "", record = ""] = ["[1,2,3,4]", '"abcdef"', '{"a":1}'].map((one) =>
      parked.park(one),
    );
    expect(await parked.load(list, { from: 1, count: 2 })).toEqual({ ok: true, json: "[2,3]" });
    expect(await parked.load(list, { from: 3 })).toEqual({ ok: true, json: "[4]" });
    expect(await parked.load(list, { from: -5, count: Number.NaN })).toEqual({ ok: true, json: "[]" });
    expect(await parked.load(text, { count: 3 })).toEqual({ ok: true, json: '"abc"' });
    expect(await parked.load(record, { from: 1 })).toMatchObject({
      ok: false,
      message: expect.stringContaining("only lists"),
    });
    expect(await parked.load(list, { maxBytes: 5 })).toMatchObject({
      ok: false,
      message: expect.stringContaining("9 bytes, at most 5"),
    });
    expect(await parked.load(list, { count: 1, maxBytes: 5 })).toEqual({ ok: true, json: "[1]" });
  });

  test("parts of lists and texts are those of their values", async () => {
    const anyItem = fc.oneof(fc.jsonValue(), fc.constantFrom('",]', "\\", '\\"', "[", "}"));
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.array(anyItem, { maxLength: 8 }), fc.string()),
        fc.nat(9),
        fc.nat(9),
        fc.constantFrom(undefined, 2),
        async (value, from, count, space) => {
          const parked = new ParkedValues({ maxBytes: 1e6, maxValues: 1 });
          const loaded = await parked.load(parked.park(JSON.stringify(value, undefined, space)) ?? "", {
            from,
            count,
          });
          expect(loaded.ok && JSON.parse(loaded.json)).toEqual(
            JSON.parse(JSON.stringify(value.slice(from, from + count))),
          );
        },
      ),
    );
  });

  test("are gone after clear", async () => {
    const parked = new ParkedValues({ maxBytes: 4, maxValues: 9 });
    parked.park("1234");
    parked.clear();
    expect((await parked.load("r_1")).ok).toBe(false);
    expect(parked.park("1234")).toBe("r_2");
  });

  test("never hold more than their bounds", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ maxLength: 30 })),
        fc.nat(60),
        fc.nat(5),
        async (values, maxBytes, maxValues) => {
          const parked = new ParkedValues({ maxBytes, maxValues });
          const refs = values.flatMap((value) => parked.park(JSON.stringify(value)) ?? []);
          const all = await Promise.all(refs.map((ref) => parked.load(ref)));
          const kept = all.flatMap((loaded) => (loaded.ok ? [loaded.json] : []));
          expect(kept.length).toBeLessThanOrEqual(maxValues);
          expect(kept.reduce((sum, json) => sum + Buffer.byteLength(json), 0)).toBeLessThanOrEqual(maxBytes);
        },
      ),
    );
  });
});
