/** A guest may ruin its own globals; what the prelude gave it keeps working. */
import { describe, expect, test } from "vitest";
import { openGuest } from "./inside/testing/open-guest.ts";

/** What the exercise itself needs, captured before the poisoning. */
const SETUP = `
  const mapGet = Function.prototype.call.bind(Map.prototype.get);
  const viewLength = Function.prototype.call.bind(Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), "length").get);
  const objectKeys = Object.keys;
  const join = (made) => { const keys = objectKeys(made); let text = ""; for (let i = 0; i < keys.length; i++) text = text + keys[i] + "=" + made[keys[i]] + "; "; return text };
  const shown = { a: [1, { b: new Map([["k", new Set([1])]]) }], e: new TypeError("e"), d: new Date(0), r: /x/g };
  const cloned = { a: { b: 1 }, d: new Date(5), m: new Map([["k", { v: 1 }]]), u: new Uint8Array(4), r: /y/i, l: [1, [2]] };
  const bytes = new Uint8Array(4);
  const poison = (holder, key, how) => { try { defineProperty(holder, key, { __proto__: null, configurable: true, ...how }) } catch {} };
  const thrower = { get() { throw new Error("poison") }, set() { throw new Error("poison") } };
  const { ownKeys } = Reflect, { defineProperty } = Object;
  const poisonAll = (holder, except, other) => {
    const keys = ownKeys(holder);
    for (let i = 0; i < keys.length; i++) if (keys[i] !== except && keys[i] !== other) poison(holder, keys[i], thrower);
  };`;

const EXERCISE = `(() => {
  console.log("%s %d", "text", 5, shown);
  console.table(cloned.l);
  const params = new URLSearchParams("b=2&a=1&a=%E2%98%83");
  params.append("c", "3 4"); params.sort(); params.delete("b");
  const copy = structuredClone(cloned);
  const headers = new Headers();
  headers.append("B", "1"); headers.append("a", "2"); headers.append("b", "3");
  const controller = new AbortController();
  let fired = 0;
  controller.signal.addEventListener("abort", () => { fired += 1 });
  controller.abort();
  let refused = "no error";
  try { structuredClone(() => {}) } catch (error) { refused = typeof error }
  let invalid = "no error";
  try { new URL("::") } catch (error) { invalid = typeof error }
  return join({
    resolved: new URL("../x?q=1&r=%41#f", "http://user:pw@EXAMPLE.com:8080/a/b/c").href,
    address: new URL("http://0x7f.1/é").href,
    ipv6: new URL("http://[1:0::2]/").host,
    idn: new URL("http://bücher.example/").host,
    params: params.toString(),
    copy: copy.a.b + mapGet(copy.m, "k").v + viewLength(copy.u) + copy.l[1][0],
    uuid: crypto.randomUUID(),
    filled: crypto.getRandomValues(bytes) === bytes,
    random: Math.random(),
    text: new TextDecoder().decode(new TextEncoder().encode("aé€")),
    header: headers.get("b"),
    fired, refused, invalid,
    now: performance.now() >= 0,
  });
})()`;

const POISONS: { readonly [name: string]: string } = {
  "Array.prototype": "poisonAll(Array.prototype, 'length')",
  "index setters on Array.prototype": "for (let i = 0; i < 20; i++) poison(Array.prototype, i, thrower)",
  "index setters on Object.prototype": "for (let i = 0; i < 20; i++) poison(Object.prototype, i, thrower)",
  "String.prototype": "poisonAll(String.prototype, 'length')",
  "Number, Boolean, BigInt, Symbol and Date prototypes":
    "for (const type of [Number, Boolean, BigInt, Symbol, Date]) poisonAll(type.prototype)",
  "matching symbols on Object.prototype":
    "for (const key of ['split', 'replace', 'match', 'search', 'matchAll', 'toPrimitive', 'toStringTag', 'iterator', 'species']) poison(Object.prototype, Symbol[key], thrower)",
  "descriptor names on Object.prototype":
    "for (const key of ['get', 'set', 'writable', 'enumerable', 'configurable', 'value']) poison(Object.prototype, key, thrower)",
  "Object.prototype itself":
    "poisonAll(Object.prototype); for (const key of ['value', 'done', 'then', 'name', 'index', 'once', 'signal', 'transfer', 'fatal', 'host']) poison(Object.prototype, key, { value: 'poison', writable: true })",
  "Map, Set, WeakMap and WeakSet":
    "for (const type of [Map, Set, WeakMap, WeakSet]) poisonAll(type.prototype)",
  "RegExp.prototype": "poisonAll(RegExp.prototype)",
  "typed arrays and buffers":
    "for (const holder of [Uint8Array.prototype, Object.getPrototypeOf(Uint8Array.prototype), ArrayBuffer.prototype, DataView.prototype, Uint8Array, Object.getPrototypeOf(Uint8Array)]) poisonAll(holder, 'prototype')",
  "Function.prototype": "poisonAll(Function.prototype)",
  Promise: "poisonAll(Promise.prototype); poisonAll(Promise, 'prototype')",
  "static functions":
    "const { random } = Math; for (const holder of [Reflect, JSON, Number, String, Array, Promise, Date, Symbol, Error, Proxy, Math, Object]) { const found = poison; for (const key of Reflect.ownKeys?.(holder) ?? Object.getOwnPropertyNames(holder)) if (key !== 'prototype' && key !== 'defineProperty' && key !== 'ownKeys' && key !== 'getOwnPropertyNames') found(holder, key, { value() { throw new Error('poison') } }) } Object.defineProperty(Math, 'random', { value: random })",
  "global functions":
    "for (const key of ['parseInt', 'parseFloat', 'encodeURIComponent', 'decodeURIComponent', 'escape', 'unescape', 'atob', 'btoa', 'isNaN', 'isFinite', 'queueMicrotask']) globalThis[key] = () => { throw new Error('poison') }",
  "global constructors":
    "for (const key of Object.getOwnPropertyNames(globalThis)) if (/^[A-Z]/.test(key) && !/^(URL|Text|Headers|Abort|Event|Math|NaN|Inf)/.test(key)) globalThis[key] = function () { throw new Error('poison') }",
  "iterator prototypes":
    "const its = [[][Symbol.iterator](), new Map().entries(), new Set().values(), ''[Symbol.iterator](), (function* () {})()]; for (let i = 0; i < 5; i++) poisonAll(Object.getPrototypeOf(its[i])); poisonAll(Iterator.prototype)",
  errors:
    "for (const type of [Error, TypeError, RangeError, DOMException]) { poisonAll(type.prototype, 'name'); poisonAll(type, 'prototype') }",
  "the web classes' inheritance":
    "Object.setPrototypeOf(URL.prototype, null); Object.setPrototypeOf(Headers, null); Object.setPrototypeOf(AbortController.prototype, new Proxy({}, {}))",
};

describe("after a guest has poisoned", () => {
  test.each(Object.keys(POISONS))("%s", async (name) => {
    using clean = await openGuest();
    clean.vm.evalCode(SETUP);
    const expected = clean.vm.evalCode(EXERCISE).toString();
    using guest = await openGuest();
    guest.vm.evalCode(SETUP);
    guest.vm.evalCode(POISONS[name] ?? "");
    expect(guest.vm.evalCode(EXERCISE).toString()).toBe(expected);
    expect(guest.log.map((line) => line.text)).toEqual(clean.log.map((line) => line.text));
  });

  test("Array.prototype[Symbol.iterator]: only its own iterables suffer", async () => {
    using guest = await openGuest();
    expect(
      guest.evaluate(`(() => {
        Array.prototype[Symbol.iterator] = () => { throw new Error("mine") };
        try { new Headers([["a", "b"]]) } catch (error) { return error.message }
      })()`),
    ).toBe("mine");
  });

  test("AbortSignal's parent: it gets none of the prelude's values", async () => {
    using guest = await openGuest();
    expect(
      guest.evaluate(`(() => {
        const seen = [];
        Object.setPrototypeOf(AbortSignal, function (...args) { seen.push(args.length) });
        try { new AbortController() } catch {}
        return seen;
      })()`),
    ).toEqual([0]);
  });
});
