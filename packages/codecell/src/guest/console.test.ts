/** The guest's console: its output looks like that of Node.js, stays within its bound, and it never throws. */
import { format, inspect } from "node:util";
import { runInThisContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { openGuest } from "./inside/testing/open-guest.ts";

async function printed(script: string): Promise<string> {
  using guest = await openGuest();
  const value = guest.evaluate(`(() => { ${script} })()`);
  expect(value).toBe(null);
  return guest.log.map((line) => line.text).join("\n");
}

describe("values look as in Node", () => {
  test.each([
    "'text'",
    "['text', \"it's\", 'a\\nb', '`\\'\"', '\\u0001\\ud800']",
    "[1, -0, NaN, Infinity, 10n, true]",
    "[null, undefined, Symbol('s')]",
    "({ a: 1, 'b-c': { d: [1, { e: 2 }] }, 1: 2 })",
    "({ get a() { return 1 }, set a(v) {}, get b() { return 1 }, set c(v) {} })",
    "new Map([['a', { b: 1 }], [{ c: 2 }, []]])",
    "new Set([1, 'x', [2]])",
    "[new Date(0), new Date(NaN), /a\\/b/giu]",
    "[new Uint8Array([1, 2]), new Float64Array(2), new BigInt64Array(1)]",
    "[function named() {}, () => {}, class {}, class Foo {}, class Bar extends Map {}, async () => {}, function* gen() {}]",
    "[Object.create(null), Object.create({}), new (class Point { x = 1 })(), Object.create(class A {}.prototype)]",
    "[, 1, , , 2]",
    "[[], {}, '', [[]], [{}]]",
    "[new Number(1), new String('abc'), new Boolean(false), Object(1n), Object(Symbol('b'))]",
    "Object.assign([1, 2], { extra: true })",
    "Object.assign(() => {}, { extra: true })",
    "[new WeakMap(), new WeakSet()]",
    "(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return [proxy] })()",
    "(() => { const o = { name: 'o' }; o.self = o; o.list = [o]; return o })()",
    "(() => { const a = {}, b = { a }; a.b = b; return [a, b, a] })()",
    "Array.from({ length: 5 }, (_, i) => ({ index: i, label: 'item ' + i, nested: { deep: true } }))",
  ])("%s", async (expression) => {
    const value = runInThisContext(`(${expression})`) as unknown;
    expect(await printed(`console.log(${expression})`)).toBe(
      typeof value === "string" ? value : inspect(value, { depth: 3 }),
    );
  });

  // These differ between versions: Node 22 puts brackets around symbols, Node 26 marks proxies.
  test.each([
    ["({ a: 1, [Symbol('k')]: 1 })", "{ a: 1, Symbol(k): 1 }"],
    ["({ [Symbol.toStringTag]: 'Tagged', a: 1 })", "{ a: 1, Symbol(Symbol.toStringTag): 'Tagged' }"],
    ["new Proxy({ a: 1 }, { get() { throw 1 }, ownKeys() { throw 1 } })", "{ a: 1 }"],
  ])("as in Node 24: %s", async (expression, text) => {
    expect(await printed(`console.log(${expression})`)).toBe(text);
  });

  test.each([
    "'%s is %d and %i and %f', 'x', 1.5, '42px', '2.5'",
    "'%j %% %c.', { a: [1] }, 'css'",
    "'%s', 1n, 'rest', { a: 1 }",
    "'100%', 1",
    "'%x %s', 1",
    "'%d %d', 'abc', 5n",
    "'%s %s', null, undefined",
    "'a', 'b', 1, { c: 'd' }",
    "'%', 1",
  ])("format(%s)", async (args) => {
    const given = runInThisContext(`[${args}]`) as unknown[];
    expect(await printed(`console.log(${args})`)).toBe(format(...given));
  });
});

test("errors show name, message, stack, extra properties and cause", async () => {
  const text = await printed(
    "class MyError extends Error { name = 'MyError' } console.log(Object.assign(new MyError('bad', { cause: new TypeError('inner') }), { code: 'E1' }))",
  );
  expect(text).toMatch(/^MyError: bad\n {4}at .*guest\.js:1/);
  expect(text).toContain("code: 'E1'");
  expect(text).toContain("[cause]: TypeError: inner");
});

test("each method has its level", async () => {
  using guest = await openGuest();
  guest.evaluate("['log', 'info', 'warn', 'error', 'debug'].map((level) => console[level](level))");
  expect(guest.log).toEqual(
    ["log", "info", "warn", "error", "debug"].map((level) => ({ level, text: level })),
  );
});

test("table, dir, assert, count, group and time", async () => {
  expect(
    await printed(`
      console.table([{ a: 1, b: 'x' }, { a: 2, c: true }]);
      console.table(['p', 'q']);
      console.table(5);
      console.dir({ a: { b: { c: {} } } }, { depth: 0 });
      console.assert(true, 'no');
      console.assert(false, 'value %d', 7);
      console.count(); console.count('x'); console.count(); console.countReset(); console.count();
      console.group('outer'); console.log('two\\nlines'); console.groupEnd(); console.groupEnd(); console.log('flat');
      console.timeEnd('never');
    `),
  ).toBe(
    [
      "┌─────────┬───┬─────┬──────┐",
      "│ (index) │ a │ b   │ c    │",
      "├─────────┼───┼─────┼──────┤",
      "│ 0       │ 1 │ 'x' │      │",
      "│ 1       │ 2 │     │ true │",
      "└─────────┴───┴─────┴──────┘",
      "┌─────────┬────────┐",
      "│ (index) │ Values │",
      "├─────────┼────────┤",
      "│ 0       │ 'p'    │",
      "│ 1       │ 'q'    │",
      "└─────────┴────────┘",
      "5",
      "{ a: [Object] }",
      "Assertion failed: value 7",
      "default: 1",
      "x: 1",
      "default: 2",
      "default: 1",
      "outer",
      "  two",
      "  lines",
      "flat",
      "Timer 'never' does not exist",
    ].join("\n"),
  );
});

describe("the text says how much is left out", () => {
  test.each([
    ["Array.from({ length: 250 }, (_, i) => i)", "… 150 more items"],
    ["new Set(Array.from({ length: 101 }, (_, i) => i))", "… 1 more item"],
    ["new Map(Array.from({ length: 300 }, (_, i) => [i, i]))", "… 200 more items"],
    ["Object.fromEntries(Array.from({ length: 120 }, (_, i) => ['k' + i, i]))", "… 20 more keys"],
    ["['x'.repeat(100_000)]", "more characters"],
    ["'x'.repeat(100_000)", "more characters"],
    ["new Uint8Array(1e6)", "… 999900 more items"],
  ])("%s", async (expression, expected) => {
    const text = await printed(`console.log(${expression})`);
    expect(text).toContain(expected);
    expect(text.length).toBeLessThanOrEqual(16_384);
  });
});

describe("hostile values", () => {
  test.each([
    "new Proxy({}, { ownKeys() { for (;;); }, getPrototypeOf() { for (;;); }, get() { for (;;); } })",
    "new Proxy(new Proxy([], { get() { throw 1 } }), {})",
    "(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy })()",
    "Object.create(new Proxy({}, { getPrototypeOf() { throw 1 }, get() { throw 1 } }))",
    "({ get [Symbol.toStringTag]() { throw 1 } })",
    "({ constructor: new Proxy(class {}, { get() { throw 1 } }) })",
    "Object.create({ get constructor() { throw 1 } })",
    "Object.defineProperty(new Error('x'), 'stack', { get() { throw 1 } })",
    "Object.defineProperty(new Error('x'), 'message', { get() { throw 1 } })",
    "Object.assign(new Error('x'), { name: { toString() { throw 1 } } })",
    "Object.setPrototypeOf(new Map([[1, 2]]), null)",
    "Object.setPrototypeOf([1], { get length() { throw 1 } })",
    "Object.defineProperty(() => {}, 'name', { get() { throw 1 } })",
    "(() => { let a = {}; for (let i = 0; i < 1e5; i++) a = { a }; return a })()",
    "(() => { let p = {}; for (let i = 0; i < 1000; i++) p = new Proxy(p, {}); return p })()",
    "(() => { const m = {}; for (let i = 0; i < 100; i++) m['k' + i] = m; return [m, m, m] })()",
    "(() => { let row = []; for (let d = 0; d < 4; d++) row = Array.from({ length: 100 }, () => row); return row })()",
    "{ a: 2n ** 200_000n }.a",
    "Array(4294967295)",
    "Object.assign([], { length: 1e9 })",
    "globalThis",
    "[Symbol.prototype, Date.prototype, RegExp.prototype, Map.prototype, Promise.prototype, Error.prototype, URL.prototype]",
  ])("%s never makes console throw", async (expression) => {
    const text = await printed(
      `const value = ${expression.startsWith("{") ? `(${expression.slice(0, -2)})["a"]` : expression}; console.log(value); console.log('%s %d %i %f %o', value, value, value, value, value); console.table(value); console.dir(value)`,
    );
    expect(text.length).toBeLessThan(70_000);
  });
});
