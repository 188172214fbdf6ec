import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../contract/value.ts";
import {
  fitShape,
  isCut,
  isShape,
  type JsonShape,
  mergeShapes,
  renderShape,
  shapeOf,
} from "./observed-shape.ts";

const json = fc.jsonValue() as fc.Arbitrary<Json>;
const merged = (...values: readonly Json[]): string =>
  renderShape(values.map((one) => shapeOf(one)).reduce(mergeShapes));

describe("observed shapes", () => {
  test("a field is optional only if a sample lacked it [handles:96]", () => {
    expect(merged({ a: 1, b: 2 }, { a: "s", c: [] })).toBe(
      "{ a: number | string; b?: number; c?: unknown[]; }",
    );
    expect(merged({ a: 1 }, { a: null }, { a: 2 })).toBe("{ a: null | number; }");
    expect(merged([{ a: 1 }, {}])).toBe("{ a?: number; }[]");
    expect(merged([1, "x"])).toBe("(number | string)[]");
    expect(merged({})).toBe("{}");
    expect(merged({ "a-b": true, ["__proto__"]: 2 })).toBe('{ __proto__: number; "a-b": boolean; }');
  });

  test("are bounded in depth, width, elements and variants [handles:95]", () => {
    let deep: Json = 1;
    for (let level = 0; level < 100; level++) deep = { deep };
    expect(renderShape(shapeOf(deep)).split("deep").length - 1).toBe(6);
    const wide = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`f${n}`, n]));
    const shape = shapeOf(wide);
    expect(shape).toMatchObject({ truncated: true });
    expect(Object.keys((shape as Extract<JsonShape, { kind: "object" }>).fields)).toHaveLength(40);
    expect(shapeOf([...Array.from({ length: 20 }, () => 1), "late"])).toEqual({
      kind: "array",
      element: { kind: "number" },
      truncated: true,
    });
    expect(merged(1, "a", null, true)).toBe("boolean | null | number | string");
    expect(merged(1, "a", null, true, [])).toBe("unknown");
  });

  test("lose their deepest levels first to fit, and say that they are cut [handles:95]", () => {
    const row = { id: 1, tags: [{ name: "a" }], owner: { name: "b", at: { x: 1 } } };
    const shape = shapeOf([row, null]);
    const fitted = (most: number): string =>
      renderShape(fitShape(shape, (one) => renderShape(one).length <= most));
    expect(fitted(200)).toBe(renderShape(shape));
    expect(fitted(90)).toBe(
      "(null | { id: number; owner: { at: unknown; name: string; }; tags: unknown[]; })[]",
    );
    expect(fitted(70)).toBe("(null | { id: number; owner: unknown; tags: unknown; })[]");
    expect(fitted(20)).toBe("unknown[]");
    expect(fitted(1)).toBe("unknown");
    expect(isCut(shape)).toBe(false);
    fc.assert(
      fc.property(json, fc.nat({ max: 200 }), (value, most) => {
        const whole = shapeOf(value);
        const fits = (one: JsonShape): boolean => JSON.stringify(one).length <= most;
        const less = fitShape(whole, fits);
        expect(isShape(less)).toBe(true);
        // A cut part stays cut, whatever else is seen.
        if (!fits(whole) && fits(less)) expect(isCut(less) && mergeShapes(less, whole)).toEqual(less);
      }),
    );
  });

  test("hold no values [handles:95]", () => {
    fc.assert(
      fc.property(json, (value) => {
        const strings: string[] = [];
        JSON.stringify(value, (_key, one: unknown) => {
          if (typeof one === "string" && one.length > 8) strings.push(one);
          return one;
        });
        const text = renderShape(shapeOf(value));
        for (const one of strings)
          if (!JSON.stringify(value).includes(`${JSON.stringify(one)}:`)) expect(text).not.toContain(one);
      }),
    );
  });

  test("are recognised after JSON, and other values are not", () => {
    fc.assert(
      fc.property(json, json, (a, b) => {
        const shape = mergeShapes(shapeOf(a), shapeOf(b));
        expect(isShape(JSON.parse(JSON.stringify(shape)))).toBe(true);
        expect(() => isShape(a)).not.toThrow();
      }),
    );
    for (const wrong of [
      null,
      1,
      [],
      {},
      { kind: "any" },
      { kind: "array", element: 1 },
      { kind: "object" },
      { kind: "object", fields: { a: { kind: "null" } } },
      { kind: "union", variants: [{ kind: "null" }, { kind: "null" }] },
      { kind: "union", variants: [{ kind: "union", variants: [] }] },
      { kind: "array", element: { kind: "null" }, truncated: 1 },
    ]) {
      expect(isShape(wrong), JSON.stringify(wrong)).toBe(false);
    }
  });

  test("the order of samples does not matter, and a repeated sample changes nothing", () => {
    fc.assert(
      fc.property(json, json, json, (a, b, c) => {
        const [one, two, three] = [shapeOf(a), shapeOf(b), shapeOf(c)];
        const all = mergeShapes(mergeShapes(one, two), three);
        expect(mergeShapes(three, mergeShapes(two, one))).toEqual(all);
        expect(mergeShapes(all, two)).toEqual(all);
      }),
    );
  });

  test("visits a bounded number of lists and records in any value", () => {
    let looks = 0;
    const counted = (depth: number): Json => {
      if (depth === 0) return 1;
      const list = Array.from({ length: 15 }, () => counted(depth - 1));
      return new Proxy(list, {
        get: (target, key, receiver) => {
          if (key === "slice") looks++;
          return Reflect.get(target, key, receiver) as unknown;
        },
      });
    };
    expect(renderShape(shapeOf(counted(5)))).toBe("number[][][][][]");
    expect(looks).toBeGreaterThan(0);
    expect(looks).toBeLessThanOrEqual(1024);
  });
});
