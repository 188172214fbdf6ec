import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { SavedValues } from "./saved-values.ts";

describe("saved values", () => {
  test("come back as they were saved, under refs that count up", async () => {
    const saved = new SavedValues({ maxBytes: 100, maxValues: 3 });
    expect(["1", '"ä"', "[]"].map((json) => saved.save(json))).toEqual(["r_1", "r_2", "r_3"]);
    expect(await saved.load("r_2")).toEqual({ ok: true, json: '"ä"' });
  });

  test("the oldest makes room, by bytes and by number, and a ref is never used again", async () => {
    const saved = new SavedValues({ maxBytes: 10, maxValues: 2 });
    saved.save("1111");
    saved.save("2222");
    expect(saved.save("333")).toBe("r_3");
    expect(await saved.load("r_1")).toEqual({
      ok: false,
      message:
        'Cannot load "r_1": it made room for later results, kept are r_2, r_3; run the program that made it again and return less',
    });
    expect(saved.save("7777777777")).toBe("r_4");
    expect((await saved.load("r_3")).ok).toBe(false);
    expect((await saved.load("r_4")).ok).toBe(true);
  });

  test("a value that is too large is not kept and evicts nothing", async () => {
    const saved = new SavedValues({ maxBytes: 5, maxValues: 2 });
    saved.save("1");
    expect(saved.save('"äää"')).toBeUndefined();
    expect((await saved.load("r_1")).ok).toBe(true);
    expect(new SavedValues({ maxBytes: 5, maxValues: 0 }).save("1")).toBeUndefined();
  });

  test("the answer to an unknown ref names the refs that exist", async () => {
    const saved = new SavedValues({ maxBytes: 1000, maxValues: 20 });
    expect(await saved.load("r_1")).toEqual({
      ok: false,
      message: 'Cannot load "r_1": no such result, no result is kept now',
    });
    for (let count = 0; count < 12; count++) saved.save("1");
    for (const ref of ["r_13", "r_01", "x", "__proto__", "r_1e0", "r_"]) {
      expect(await saved.load(ref)).toMatchObject({
        message: expect.stringMatching(/no such result, kept are 12, the latest r_3, .*, r_12$/u),
      });
    }
    const { message = "" } = (await saved.load("y".repeat(1000))) as { message?: string };
    expect(message.length).toBeLessThan(200);
  });

  test("lists and texts can be loaded in parts, and a part may be too large", async () => {
    const saved = new SavedValues({ maxBytes: 1000, maxValues: 9 });
    const [list = "", text = "", record = ""] = ["[1,2,3,4]", '"abcdef"', '{"a":1}'].map((one) =>
      saved.save(one),
    );
    expect(await saved.load(list, { from: 1, count: 2 })).toEqual({ ok: true, json: "[2,3]" });
    expect(await saved.load(list, { from: 3 })).toEqual({ ok: true, json: "[4]" });
    expect(await saved.load(list, { from: -5, count: Number.NaN })).toEqual({ ok: true, json: "[]" });
    expect(await saved.load(text, { count: 3 })).toEqual({ ok: true, json: '"abc"' });
    expect(await saved.load(record, { from: 1 })).toMatchObject({
      ok: false,
      message: expect.stringContaining("only lists"),
    });
    expect(await saved.load(list, { maxBytes: 5 })).toMatchObject({
      ok: false,
      message: expect.stringContaining("9 bytes, at most 5"),
    });
    expect(await saved.load(list, { count: 1, maxBytes: 5 })).toEqual({ ok: true, json: "[1]" });
  });

  test("a part of a list or text equals the same slice of the value", async () => {
    const anyItem = fc.oneof(fc.jsonValue(), fc.constantFrom('",]', "\\", '\\"', "[", "}"));
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.array(anyItem, { maxLength: 8 }), fc.string()),
        fc.nat(9),
        fc.nat(9),
        fc.constantFrom(undefined, 2),
        async (value, from, count, space) => {
          const saved = new SavedValues({ maxBytes: 1e6, maxValues: 1 });
          const loaded = await saved.load(saved.save(JSON.stringify(value, undefined, space)) ?? "", {
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
    const saved = new SavedValues({ maxBytes: 4, maxValues: 9 });
    saved.save("1234");
    saved.clear();
    expect((await saved.load("r_1")).ok).toBe(false);
    expect(saved.save("1234")).toBe("r_2");
  });

  test("never hold more than their bounds", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ maxLength: 30 })),
        fc.nat(60),
        fc.nat(5),
        async (values, maxBytes, maxValues) => {
          const saved = new SavedValues({ maxBytes, maxValues });
          const refs = values.flatMap((value) => saved.save(JSON.stringify(value)) ?? []);
          const all = await Promise.all(refs.map((ref) => saved.load(ref)));
          const kept = all.flatMap((loaded) => (loaded.ok ? [loaded.json] : []));
          expect(kept.length).toBeLessThanOrEqual(maxValues);
          expect(kept.reduce((sum, json) => sum + Buffer.byteLength(json), 0)).toBeLessThanOrEqual(maxBytes);
        },
      ),
    );
  });
});
