/** How values leave the guest: as JSON text, or refused with the path to the part that JSON cannot carry. */
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { createHost } from "../run/host/host.ts";

const host = createHost({ workers: 1 });
afterAll(() => host[Symbol.asyncDispose]());

async function evaluate(source: string): Promise<unknown> {
  const result = await host.start({ source, tools: { echo: { execute: (input) => input } } }).result;
  return result.status === "completed" ? result.value : JSON.stringify(result);
}

/** The message with which a value is refused as input. */
function refusal(expression: string): Promise<unknown> {
  return evaluate(
    `try { await tools.echo(${expression}); return "crossed" } catch (e) { return e.name + ": " + e.message }`,
  );
}

describe("values that leave the guest", () => {
  test("every JSON value arrives as it was, and an input with a key __proto__ is refused", async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ maxDepth: 5 }), async (value) => {
        const text = JSON.stringify(value);
        const expected: unknown = JSON.parse(text);
        const parse = `JSON.parse(${JSON.stringify(text)})`;
        expect(await evaluate(`return ${parse}`)).toEqual(expected);
        const echoed = await evaluate(`return await tools.echo(${parse})`);
        if (text.includes('"__proto__":')) expect(echoed).toContain("which inputs may not have");
        else expect(echoed).toEqual(expected);
      }),
      // Found by chance, in one of many runs.
      { numRuns: 50, examples: [[{ ["__proto__"]: "" }]] },
    );
  });

  test.each([
    ["{ a: undefined, b: 1 }", { b: 1 }],
    ["[undefined, () => 1, , NaN, Infinity, -0]", [null, null, null, null, null, 0]],
    ["new Date(0)", "1970-01-01T00:00:00.000Z"],
    ["[new Number(5), new String('s'), new Boolean(false)]", [5, "s", false]],
    ["{ toJSON(key) { return [key, 1] } }", ["", 1]],
    ["{ a: { toJSON(key) { return key } } }", { a: "a" }],
    ["new (class A { x = 1; #y = 2; get z() { return 3 } })", { x: 1 }],
    ["new TypeError('no')", { name: "TypeError", message: "no" }],
    ["Object.create(null, { a: { value: 1, enumerable: true }, b: { value: 2 } })", { a: 1 }],
    ["(function () { return arguments })(1, 2)", { 0: 1, 1: 2 }],
    ["new Proxy({ a: 1 }, {})", { a: 1 }],
    ["'\\ud800 \\u2028 \\0'", "\ud800 \u2028 \0"],
  ])("%s crosses", async (expression, expected) => {
    expect(await evaluate(`return await tools.echo(${expression})`)).toEqual(expected);
  });

  test("a key __proto__ crosses as data in a result, but never to a tool", async () => {
    const expression = "{ ['__proto__']: { admin: true } }";
    expect(await evaluate(`return ${expression}`)).toEqual({ ["__proto__"]: { admin: true } });
    expect(await evaluate(`return await tools.echo(${expression})`)).toContain(
      'it has a key \\"__proto__\\", which inputs may not have',
    );
  });

  test.each([
    ["{ items: [1, { id: 10n }] }", "input.items[1].id: it is a BigInt, use String(value) or Number(value)"],
    ["{ a: { b: () => 1 } }", "input.a.b: it is a function"],
    ["Symbol('x')", "input: it is a symbol"],
    ["[new Map()]", "input[0]: it is a Map, use Object.fromEntries(map) or [...map]"],
    ["{ s: new Set([1]) }", "input.s: it is a Set, use [...set]"],
    ["{ user: tools.echo(1) }", "input.user: it is a Promise, did you forget to await it"],
    ["new Uint8Array(2)", "input: it is a Uint8Array, use [...array]"],
    ["/x/", "input: it is a RegExp, use its source"],
    ["(() => { const o = { a: {} }; o.a.o = o; return o })()", "input.a.o: it is part of a cycle"],
  ])("%s is refused with its path", async (expression, message) => {
    expect(await refusal(expression)).toBe(`TypeError: Cannot pass ${message}`);
  });

  test("a result is refused in the same words", async () => {
    expect(await evaluate("return { total: 1n }")).toContain("Cannot pass the result.total: it is a BigInt");
  });

  test("a value that is too deep is refused, and the path stays short", async () => {
    const message = await refusal(
      "(() => { let o = {}; for (let i = 0; i < 5000; i++) o = { deep: o }; return o })()",
    );
    expect(message).toMatch(
      /^TypeError: Cannot pass input … (\.deep){20}: it is nested deeper than 200 levels$/,
    );
  });

  test("getters and toJSON run once", async () => {
    expect(
      await evaluate(`let n = 0; const o = { get a() { n++; return 1 } };
        Object.defineProperty(o, 'toJSON', { get() { n += 10; return undefined } });
        await tools.echo(o); return n`),
    ).toBe(11);
  });

  test("the same object twice is not a cycle", async () => {
    expect(await evaluate("const o = { x: 1 }; return await tools.echo([o, o, { o }])")).toEqual([
      { x: 1 },
      { x: 1 },
      { o: { x: 1 } },
    ]);
  });
});
