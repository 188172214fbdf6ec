/** What hardening removes from a guest, and what still works without it. */
import { expect, test } from "vitest";
import { openGuest } from "./inside/testing/open-guest.ts";

const DISABLED = "EvalError: Code generation from strings is disabled";

test.each([
  "Function('return 1')",
  "new Function('return 1')",
  "(() => {}).constructor('return 1')",
  "(async () => {}).constructor('return 1')",
  "(function* () {}).constructor('yield 1')",
  "(async function* () {}).constructor('yield 1')",
  "Object.getPrototypeOf((async () => {}).constructor)('return 1')",
  "Reflect.construct(Function, ['return 1'])",
  "Reflect.construct(Function, ['return 1'], Object)",
  "Reflect.construct(Object, [], Function).constructor('return 1')",
  "new (class extends Function {})('return 1')",
  "new (class extends (async () => {}).constructor {})('return 1')",
  "[].constructor.constructor('return 1')()",
  "console.log.constructor('return 1')()",
  "new URL('http://a').href.constructor.constructor('return 1')()",
  "Function.prototype.constructor('return 1')",
  "Function.apply(null, ['return 1'])",
  "Function.bind(null)('return 1')",
])("%s is refused", async (script) => {
  using guest = await openGuest();
  expect(guest.evaluate(script)).toBe(DISABLED);
});

test("eval is gone", async () => {
  using guest = await openGuest();
  expect(guest.evaluate("[typeof eval, 'eval' in globalThis]")).toEqual(["undefined", false]);
  expect(guest.evaluate("(0, eval)('1')")).toBe("ReferenceError: eval is not defined");
});

test("functions keep their classes, names and constructors", async () => {
  using guest = await openGuest();
  expect(
    guest.evaluate(`[
      (() => {}) instanceof Function, (async () => {}) instanceof Function, URL instanceof Function,
      Function.name, Function.length, Function.prototype === Object.getPrototypeOf(() => {}),
      (() => {}).constructor === Function, (async () => {}).constructor.name, (function* () {}).constructor.name,
      Object.getPrototypeOf((async () => {}).constructor) === Function,
      Object.prototype.toString.call(Function), typeof Function,
    ]`),
  ).toEqual([
    true,
    true,
    true,
    "Function",
    1,
    true,
    true,
    "AsyncFunction",
    "GeneratorFunction",
    true,
    "[object Function]",
    "function",
  ]);
});

test("the guest gets no call sites", async () => {
  using guest = await openGuest();
  expect(
    guest.evaluate(`(() => {
      const seen = [];
      const spy = (error, sites) => { seen.push(typeof sites); return "spied" };
      try { Error.prepareStackTrace = spy } catch {}
      try { Object.defineProperty(Error, "prepareStackTrace", { value: spy }) } catch {}
      try { delete Error.prepareStackTrace; Error.prepareStackTrace = spy } catch {}
      class Mine extends Error {}
      Mine.prepareStackTrace = spy;
      TypeError.prepareStackTrace = spy;
      const target = {};
      Error.captureStackTrace(target);
      try { new URL("") } catch (error) { seen.push(typeof error.stack) }
      return [seen, typeof new Mine("x").stack, typeof new TypeError("x").stack, typeof target.stack, Error.prepareStackTrace ?? null];
    })()`),
  ).toEqual([["string"], "string", "string", "string", null]);
});

test("InternalError has no name, and a genuine out-of-memory error differs from a forged one", async () => {
  using guest = await openGuest({ memoryBytes: 16 * 1024 * 1024 });
  expect(guest.evaluate("typeof InternalError")).toBe("undefined");
  const genuine = "(() => { try { 'x'.repeat(2 ** 29) } catch (error) { return error } })()";
  expect(guest.evaluate(`(${genuine}).constructor === Error`)).toBe(true);
  expect(guest.isOutOfMemory(genuine)).toBe(true);
  for (const forged of [
    "new Error('out of memory')",
    "Object.assign(new Error('out of memory'), { name: 'InternalError' })",
    "new Proxy(new Error('out of memory'), { getPrototypeOf() { throw 1 } })",
    "({ get message() { throw 1 } })",
    "null",
    "'out of memory'",
  ]) {
    expect(guest.isOutOfMemory(forged)).toBe(false);
  }
});

test("ordinary programs may override what they inherit", async () => {
  using guest = await openGuest();
  expect(
    guest.evaluate(`(() => {
      const own = {};
      own.toString = () => "mine";
      own.constructor = 1;
      Array.prototype.last = function () { return this.at(-1) };
      return [String(own), [1, 2].last(), Object.isFrozen(Object.prototype)];
    })()`),
  ).toEqual(["mine", 2, false]);
});

test("performance has only its clock, which follows Date", async () => {
  using guest = await openGuest();
  expect(
    guest.evaluate(`[
      typeof performance.now(), performance.timeOrigin + performance.now() - Date.now() < 50,
      Object.getOwnPropertyNames(Object.getPrototypeOf(performance)), Object.getOwnPropertyNames(performance), String(performance),
    ]`),
  ).toEqual(["number", true, ["constructor", "timeOrigin", "now", "toJSON"], [], "[object Performance]"]);
});

test("a callback cannot see which prelude function called it", async () => {
  using guest = await openGuest();
  expect(
    guest.evaluate(`(() => {
      const seen = [];
      const look = new Headers([["a", "b"]]);
      function callback() {
        for (const read of [() => callback.caller, () => arguments.callee.caller, () => callback.arguments]) {
          try { seen.push(typeof read()) } catch (error) { seen.push(error.name) }
        }
      }
      look.forEach(callback);
      return seen.filter((kind) => kind === "function" || kind === "object");
    })()`),
  ).toEqual([]);
});

test("a proxy made by the guest behaves like any other", async () => {
  using guest = await openGuest();
  expect(
    guest.evaluate(`(() => {
      const trapped = new Proxy({ a: 1 }, { get: (target, key) => "got " + String(key) });
      const { proxy, revoke } = Proxy.revocable([1], {});
      const before = Array.isArray(proxy);
      revoke();
      const errors = [];
      for (const attempt of [() => proxy[0], () => Proxy({}, {}), () => new Proxy(1, {}), () => class extends Proxy {}]) {
        try { attempt(); errors.push("no error") } catch (error) { errors.push(error.name) }
      }
      return [trapped.b, before, errors, typeof new Proxy(() => {}, {}), Reflect.construct(Proxy, [{ c: 2 }, {}]).c];
    })()`),
  ).toEqual(["got b", true, ["TypeError", "TypeError", "TypeError", "TypeError"], "function", 2]);
});
