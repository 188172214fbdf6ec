/** structuredClone compared with that of Node.js on the same expressions. */
import { inspect } from "node:util";
import { runInThisContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { openGuest } from "./inside/testing/open-guest.ts";
import { isReference } from "./inside/testing/reference.ts";

const FAIL =
  "(() => { try { structuredClone(VALUE); return 'no error' } catch (error) { return error.name + ' ' + error.code } })()";

describe("clones", () => {
  test
    .skipIf(!isReference)
    .each([
      "1",
      "null",
      "undefined",
      "10n",
      "'text'",
      "[1, , 3]",
      "Object.assign([1], { extra: 2 })",
      "{ a: { b: [1, { c: 2 }] }, d: undefined }",
      "{ get a() { return 5 } }",
      "Object.create({ inherited: 1 }, { own: { value: 2, enumerable: true }, hidden: { value: 3 } })",
      "{ ['__proto__']: 1, constructor: 2 }",
      "{ [Symbol('s')]: 1, a: 1 }",
      "[new Date(5), new Date(NaN), /x\\/y/giu]",
      "[new Number(1), new String('s'), new Boolean(true), Object(2n)]",
      "new Map([[{ a: 1 }, new Map([[1, 2]])]])",
      "new Set([1, { a: 1 }, new Set([2])])",
      "[new Uint8Array([1, 2, 3]), new Float64Array([0.5]), new BigUint64Array([7n]), new Uint8ClampedArray([300])]",
      "new Uint16Array(new Uint8Array([1, 2, 3, 4, 5, 6]).buffer, 2, 1)",
      "new DataView(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2)",
      "new Uint8Array([1, 2, 3]).buffer",
      "new (class Point { x = 1; get y() { return 2 } })()",
      "Object.create(null)",
    ])("%s", async (expression) => {
    using guest = await openGuest();
    const native = structuredClone(runInThisContext(`(${expression})`) as unknown);
    guest.evaluate(`console.log([structuredClone(${expression})])`);
    const shown = inspect([native], { depth: 3 });
    // Node.js shows the contents of a DataView; the guest shows only its length.
    expect(guest.log[0]?.text).toBe(shown.includes("DataView") ? "[ DataView { [byteLength]: 2 } ]" : shown);
  });

  test("cycles and shared parts", async () => {
    using guest = await openGuest();
    expect(
      guest.evaluate(`(() => {
        const shared = { n: 1 };
        const root = { shared, again: shared, map: new Map([[shared, shared]]), set: new Set([shared]) };
        root.self = root;
        const copy = structuredClone(root);
        return [copy.self === copy, copy.shared === copy.again, copy.map.get(copy.shared) === copy.shared,
          copy.set.has(copy.shared), copy.shared !== shared];
      })()`),
    ).toEqual([true, true, true, true, true]);
  });

  test("errors keep their kind, message, stack and cause", async () => {
    using guest = await openGuest();
    expect(
      guest.evaluate(`(() => {
        const original = new RangeError("bad", { cause: { code: 1 } });
        original.extra = true;
        const copy = structuredClone(original);
        const custom = structuredClone(Object.assign(new Error("c"), { name: "Custom" }));
        const dom = structuredClone(new DOMException("d", "AbortError"));
        return [copy instanceof RangeError, copy.message, copy.stack === original.stack, copy.cause, "extra" in copy,
          custom.name, dom.name, dom.message, dom instanceof DOMException];
      })()`),
    ).toEqual([true, "bad", true, { code: 1 }, false, "Error", "AbortError", "d", true]);
  });

  test("views of one buffer share the copy, and transfer detaches", async () => {
    using guest = await openGuest();
    expect(
      guest.evaluate(`(() => {
        const buffer = new Uint8Array([1, 2, 3, 4]).buffer;
        const copy = structuredClone({ buffer, view: new Uint8Array(buffer, 1, 2) }, { transfer: [buffer] });
        return [buffer.detached, buffer.byteLength, copy.view.buffer === copy.buffer, [...copy.view]];
      })()`),
    ).toEqual([true, 0, true, [2, 3]]);
  });

  test("1e5 levels deep", async () => {
    using guest = await openGuest();
    expect(
      guest.evaluate(`(() => {
        let deep = {};
        for (let i = 0; i < 1e5; i++) deep = i % 2 ? { deep } : [deep];
        let copy = structuredClone(deep), depth = 0;
        while ((copy = copy.deep ?? copy[0])) depth++;
        return depth;
      })()`),
    ).toBe(100_000);
  });
});

describe("refuses with DataCloneError", () => {
  test.each([
    "() => {}",
    "Symbol('s')",
    "Object(Symbol('s'))",
    "new Proxy({}, { ownKeys() { throw new Error('trap ran') } })",
    "{ a: [() => {}] }",
    "Promise.resolve()",
    "new WeakMap()",
    "new WeakSet()",
    "new WeakRef({})",
    "(function* () {})()",
    "new URL('http://a')",
    "new Headers()",
    "new AbortController().signal",
    "crypto",
    "new SharedArrayBuffer(1)",
    "(() => { const b = new ArrayBuffer(1); b.transfer(); return b })()",
  ])("%s", async (expression) => {
    using guest = await openGuest();
    expect(guest.evaluate(FAIL.replace("VALUE", expression))).toBe("DataCloneError 25");
  });

  test("a bad transfer list, without detaching anything", async () => {
    using guest = await openGuest();
    expect(
      guest.evaluate(`(() => {
        const buffer = new ArrayBuffer(4), errors = [];
        for (const [value, transfer] of [[1, [{}]], [1, [buffer, buffer]], [() => {}, [buffer]]]) {
          try { structuredClone(value, { transfer }) } catch (error) { errors.push(error.name) }
        }
        return [errors, buffer.detached];
      })()`),
    ).toEqual([["DataCloneError", "DataCloneError", "DataCloneError"], false]);
    expect(guest.evaluate("structuredClone()")).toMatch(/^TypeError/);
  });
});
