/** What counts as looking at the promise of a call, and that such a promise is otherwise like any other. */
import { describe, expect, test } from "vitest";
import { type Guest, openGuest } from "./inside/testing/open-guest.ts";

/** A guest with a watched promise `p` and the functions that settle it. */
async function openWatching(): Promise<Guest> {
  const guest = await openGuest();
  guest.evaluate(
    "void Object.assign(globalThis, { plain: Promise.withResolvers(), ...Promise.withResolvers() })",
  );
  guest.evaluate("void (globalThis.p = promise)");
  guest.watch("p");
  return guest;
}

const OBSERVERS: readonly (readonly [string, string])[] = [
  ["await", "(async () => { await p })()"],
  ["await in a function that is called later", "Promise.resolve().then(async () => { await p })"],
  ["then", "p.then(() => {})"],
  ["then without functions", "p.then()"],
  ["then of the prototype", "Promise.prototype.then.call(p, () => {})"],
  ["catch", "p.catch(() => {})"],
  ["finally", "p.finally(() => {})"],
  ["Promise.all", "Promise.all([p])"],
  ["Promise.race", "Promise.race([p])"],
  ["Promise.any", "Promise.any([p])"],
  ["Promise.allSettled", "Promise.allSettled([p])"],
  ["Promise.resolve", "Promise.resolve(p)"],
  ["Promise.try", "Promise.try(() => p)"],
  ["resolving another promise with it", "new Promise((resolve) => resolve(p))"],
  ["returning it from an async function", "(async () => p)()"],
  ["returning it from then", "Promise.resolve().then(() => p)"],
  ["for await", "(async () => { for await (const value of [p]); })()"],
  ["yield of an async generator", "(async function* () { yield p })().next()"],
  ["return of an async generator", "(async function* () { return p })().next()"],
  ["Array.fromAsync", "Array.fromAsync([p])"],
  [
    "await after then was replaced",
    "(() => { Promise.prototype.then = null; (async () => { await p })() })()",
  ],
  [
    "await after Promise was replaced",
    "(() => { globalThis.Promise = null; (async () => { await p })() })()",
  ],
  [
    "await after the constructor was replaced",
    "(() => { Promise.prototype.constructor = Array; (async () => { await p })() })()",
  ],
  ["await of one without prototype", "(async () => { await Object.setPrototypeOf(p, null) })()"],
];

describe("these observe the promise of a call", () => {
  test.each(OBSERVERS)("%s", async (_name, script) => {
    using guest = await openWatching();
    expect(guest.isObserved()).toBe(false);
    guest.evaluate(`void ${script}`);
    guest.drain();
    expect(guest.isObserved()).toBe(true);
  });
});

describe("these do not observe it", () => {
  test.each([
    ["keeping it", "(globalThis.kept = [p, { p }])"],
    [
      "asking what it is",
      "[typeof p, p instanceof Promise, Object.prototype.toString.call(p), String(p), p === p]",
    ],
    ["asking for its methods", "[typeof p.then, 'catch' in p, p.finally.name]"],
    ["listing its properties", "[Object.keys(p), { ...p }, JSON.stringify(p), JSON.stringify({ p })]"],
    [
      "printing it",
      "(console.log(p, { p }, [p]), console.dir(p), console.table([p]), console.error('%o %s', p, p))",
    ],
    ["cloning it", "(() => { try { structuredClone(p) } catch { return 1 } })()"],
    ["settling it", "resolve(1)"],
    ["other promises", "Promise.all([plain.promise, (async () => { await plain.promise })()])"],
  ])("%s", async (_name, script) => {
    using guest = await openWatching();
    guest.evaluate(`void ${script}`);
    guest.drain();
    expect(guest.isObserved()).toBe(false);
  });
});

describe("a watched promise is like any other", () => {
  test.each([
    [
      "what it is",
      "[x instanceof Promise, Object.getPrototypeOf(x) === Promise.prototype, x.constructor === Promise]",
    ],
    ["its text", "[String(x), Object.prototype.toString.call(x), JSON.stringify([x])]"],
    ["its visible properties", "[Object.keys(x), Object.entries({ ...x })]"],
    [
      "that it cannot be cloned",
      "(() => { try { return structuredClone(x) } catch (e) { return e.name + e.message } })()",
    ],
    ["that resolve gives it back", "Promise.resolve(x) === x"],
    ["that a subclass wraps it", "(class extends Promise {}).resolve(x) === x"],
  ])("%s", async (_name, script) => {
    using guest = await openWatching();
    const ask = (name: string): unknown => guest.evaluate(`((x) => ${script})(${name})`);
    expect(ask("p")).toEqual(ask("plain.promise"));
  });

  test("it is printed the same way", async () => {
    using guest = await openWatching();
    guest.evaluate("(console.log(p, { p }), console.log(plain.promise, { p: plain.promise }))");
    expect(guest.log[0]).toEqual(guest.log[1]);
    expect(guest.log[0]?.text).toContain("Promise");
  });

  test("it settles after as many rounds of the job queue, in whatever way the program waits", async () => {
    async function turns(promise: string, resolve: string): Promise<unknown> {
      using guest = await openWatching();
      guest.evaluate(`void (async (x) => {
        globalThis.seen = {};
        let turn = 0;
        const note = (name) => () => { seen[name] = turn };
        (async () => { await x; note("await")() })();
        x.then(note("then"));
        x.finally(() => {}).then(note("finally"));
        (async () => x)().then(note("return"));
        Promise.all([x]).then(note("all"));
        Promise.race([x]).then(note("race"));
        new Promise((resolve) => resolve(x)).then(note("resolve"));
        ${resolve}(1);
        for (; turn < 20; turn++) await null;
      })(${promise})`);
      guest.drain();
      return guest.evaluate("seen");
    }
    const watched = await turns("p", "resolve");
    expect(Object.keys(watched as object)).toHaveLength(7);
    expect(watched).toEqual(await turns("plain.promise", "plain.resolve"));
  });

  test("the mark cannot be removed and leads nowhere", async () => {
    using guest = await openWatching();
    expect(guest.evaluate("delete p.constructor")).toBe(false);
    expect(guest.evaluate("Reflect.defineProperty(p, 'constructor', { value: Array })")).toBe(false);
    expect(guest.evaluate("Reflect.set(p, 'constructor', Array)")).toBe(false);
    const getter = "Object.getOwnPropertyDescriptor(p, 'constructor').get";
    expect(guest.evaluate(`${getter}.call(null) === Promise`)).toBe(true);
    expect(guest.evaluate(`(() => { try { new (${getter})() } catch (e) { return e.name } })()`)).toBe(
      "TypeError",
    );
  });
});
