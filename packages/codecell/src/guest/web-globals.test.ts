/** The lazy globals of the feature `web`: how they look before and after their first use, and hostile programs. */
import { describe, expect, test } from "vitest";
import { FEATURE_TABLE } from "../contract/feature-table.ts";
import { openGuest } from "./inside/testing/open-guest.ts";

const NAMES: readonly string[] = FEATURE_TABLE.web.globals;

describe("a global of the feature [handles:103]", () => {
  test("is absent without the feature", async () => {
    using guest = await openGuest();
    expect(guest.evaluate(`${JSON.stringify(NAMES)}.filter((name) => name in globalThis)`)).toEqual([]);
  });

  test("is an accessor until its first use, then a property like that of a class", async () => {
    using guest = await openGuest({ withWeb: true });
    expect(
      guest.evaluate(`(() => {
        const shown = (name) => { const { get, set, value, ...rest } = Object.getOwnPropertyDescriptor(globalThis, name); return [typeof get, typeof set, typeof value, get?.name, rest] };
        const before = shown("Blob");
        const first = Blob;
        return [before, shown("Blob"), first === Blob, shown("File")[0], Object.keys(globalThis), "Response" in globalThis, typeof Response];
      })()`),
    ).toEqual([
      ["function", "function", "undefined", "get Blob", { enumerable: false, configurable: true }],
      ["undefined", "undefined", "function", null, { writable: true, enumerable: false, configurable: true }],
      true,
      "function",
      [],
      true,
      "function",
    ]);
  });

  test.each(NAMES)("%s has its own name and prototype", async (name) => {
    using guest = await openGuest({ withWeb: true });
    expect(
      guest.evaluate(`[${name}.name, ${name}.prototype.constructor === ${name}, typeof ${name}]`),
    ).toEqual([name, true, "function"]);
  });

  test("can be replaced, deleted and inherited before its first use, and stays so", async () => {
    using guest = await openGuest({ withWeb: true });
    expect(
      guest.evaluate(`(() => {
        const { get } = Object.getOwnPropertyDescriptor(globalThis, "FormData");
        Blob = 5;
        delete globalThis.File;
        Object.defineProperty(globalThis, "Request", { value: 6 });
        const heir = Object.create(globalThis);
        heir.Response = 7;
        return [typeof Response, Blob, typeof File, Request, heir.Response, Object.keys(heir), get() === FormData, get.call({}) === FormData, "prototype" in get];
      })()`),
    ).toEqual(["function", 5, "undefined", 6, 7, ["Response"], true, true, false]);
  });

  test("works on a global object that was frozen before", async () => {
    using guest = await openGuest({ withWeb: true });
    expect(
      guest.evaluate("(() => { Object.freeze(globalThis); return [new Blob(['x']).size, Blob === Blob] })()"),
    ).toEqual([1, true]);
  });

  test("cannot be loaded by a program through anything that the loading uses", async () => {
    using guest = await openGuest({ withWeb: true });
    const script = `(async () => {
      let seen = "";
      const { defineProperty } = Object;
      const note = (name) => function () { seen = seen + name; return undefined };
      Object.defineProperty = note("defineProperty"); Object.getOwnPropertyDescriptor = note("descriptor");
      for (const name of ["push", "map", "join", "slice"]) Array.prototype[name] = note(name);
      Map.prototype.get = WeakMap.prototype.get = note("get"); Promise.prototype.then = note("then"); Promise.resolve = note("resolve");
      for (const key of ["0", "1", "2"]) defineProperty(Array.prototype, key, { set: note("index"), configurable: true });
      Object.prototype.then = undefined;
      const reader = new Response(new Blob(["x"]).stream()).body.getReader();
      const { value } = await reader.read();
      return [value[0], (await reader.read()).done, seen];
    })()`;
    expect(guest.settle(script)).toEqual([120, true, ""]);
  });
});

/** What hostile programs do to the built-ins; the objects of the feature go on as if nothing had happened. */
const POISONS: Readonly<Record<string, string>> = {
  "Array.prototype": "poisonAll(Array.prototype, 'length', Symbol.iterator)",
  "index setters":
    "for (let i = 0; i < 20; i++) { poison(Array.prototype, i, thrower); poison(Object.prototype, i, thrower) }",
  "String.prototype": "poisonAll(String.prototype, 'length')",
  "RegExp.prototype": "poisonAll(RegExp.prototype)",
  "Map and WeakMap": "for (const type of [Map, Set, WeakMap, WeakSet]) poisonAll(type.prototype)",
  "typed arrays and buffers":
    "for (const holder of [Uint8Array.prototype, Object.getPrototypeOf(Uint8Array.prototype), ArrayBuffer.prototype, Uint8Array, Object.getPrototypeOf(Uint8Array)]) poisonAll(holder, 'prototype')",
  "Function.prototype": "poisonAll(Function.prototype)",
  // The engine itself reads the constructor and `then` of promises.
  "static functions of Promise":
    "poisonAll(Promise, 'prototype', Symbol.species); for (const key of ['catch', 'finally']) poison(Promise.prototype, key, thrower)",
  "names that records have":
    "for (const key of ['value', 'done', 'body', 'bytes', 'text', 'kind', 'state', 'stream', 'chunk', 'close', 'size', 'mark', 'type', 'pull', 'cancel', 'start', 'get', 'set', 'enumerable', 'configurable', 'writable']) poison(Object.prototype, key, { value: 'poison', writable: true })",
  "static functions":
    "for (const holder of [Reflect, JSON, Number, String, Array, Math, Object]) { const keys = ownKeys(holder); for (let i = 0; i < keys.length; i++) if (keys[i] !== 'prototype') poison(holder, keys[i], { value() { throw new Error('poison') } }) }",
  "global constructors":
    "for (const key of ['Uint8Array', 'ArrayBuffer', 'Map', 'WeakMap', 'TypeError', 'RangeError', 'Headers', 'URL', 'URLSearchParams', 'TextEncoder', 'TextDecoder', 'AbortSignal', 'DOMException', 'String', 'Number']) globalThis[key] = function () { throw new Error('poison') }",
  "the web's own prototypes":
    "for (const type of [Headers, AbortSignal, TextDecoder, TextEncoder, URL, URLSearchParams]) poisonAll(type.prototype)",
};

describe("after a program has poisoned", () => {
  const SETUP = `
    const { ownKeys } = Reflect, { defineProperty } = Object, { parse } = JSON;
    const bytes = new Uint8Array([1, 2, 3]), encoded = new Uint8Array([195, 169]);
    const poison = (holder, key, how) => { try { defineProperty(holder, key, { __proto__: null, configurable: true, ...how }) } catch {} };
    const thrower = { get() { throw new Error("poison") }, set() { throw new Error("poison") } };
    const poisonAll = (holder, except, other) => { const keys = ownKeys(holder); for (let i = 0; i < keys.length; i++) if (keys[i] !== except && keys[i] !== other) poison(holder, keys[i], thrower) };
    const params = new URLSearchParams("a=b"), controller = new AbortController();`;
  const EXERCISE = `(async () => {
    const blob = new Blob([bytes, "é"], { __proto__: null, type: "A/b", endings: "native" });
    const form = new FormData(); form.append("a", "1"); form.append("b", blob, "n"); form.delete("c");
    const made = new Response(form);
    const back = await made.formData();
    const copy = new Response("{\\"a\\":\\"é\\"}", { __proto__: null, status: 201, headers: undefined, statusText: "" }).clone();
    const request = new Request("http://A/x", { __proto__: null, method: "post", body: params, signal: controller.signal });
    let got = "";
    const source = new ReadableStream({ __proto__: null, start(c) { c.enqueue("x"); c.enqueue("y"); c.close() } }, { __proto__: null, highWaterMark: 2 });
    const upper = new TransformStream({ __proto__: null, transform(chunk, c) { c.enqueue(chunk + "!") } }, { __proto__: null }, { __proto__: null });
    const sink = new WritableStream({ __proto__: null, write(chunk) { got += chunk } }, { __proto__: null });
    await source.pipeThrough(upper, { __proto__: null }).pipeTo(sink, { __proto__: null });
    const reader = blob.stream().getReader();
    const { value } = await reader.read();
    return blob.size + " " + blob.type + " " + await blob.text() + " " + (await back.get("b").bytes())[0] + back.get("a") + " " +
      (await copy.json()).a + copy.status + " " + request.url + request.method + (await request.text()) + " " + got + value[3];
  })()`;

  test.each(Object.keys(POISONS))("%s", async (name) => {
    using clean = await openGuest({ withWeb: true });
    clean.vm.evalCode(SETUP);
    const expected = clean.settle(EXERCISE);
    expect(expected).toBe("5 a/b \u0001\u0002\u0003é 11 é201 http://a/xPOSTa=b x!y!195");
    using guest = await openGuest({ withWeb: true });
    guest.vm.evalCode(SETUP);
    guest.vm.evalCode(POISONS[name] ?? "");
    expect(guest.settle(EXERCISE)).toBe(expected);
  });
});

describe("large things", () => {
  test.each([
    [
      "10,000 chunks through a pipe",
      "(async () => { let left = 10000, sum = 0; await new ReadableStream({ pull(c) { if (left-- > 0) c.enqueue(1); else c.close() } }).pipeThrough(new TransformStream()).pipeTo(new WritableStream({ write(n) { sum += n } })); return sum })()",
      10_000,
    ],
    [
      "100,000 chunks queued and read",
      "(async () => { let sum = 0; for await (const one of new ReadableStream({ start(c) { for (let i = 0; i < 100000; i++) c.enqueue(1); c.close() } })) sum += one; return sum })()",
      100_000,
    ],
    [
      "a body of 50,000 chunks",
      "new Response(new ReadableStream({ start(c) { for (let i = 0; i < 50000; i++) c.enqueue(new Uint8Array(2)); c.close() } })).bytes().then((bytes) => bytes.length)",
      100_000,
    ],
    [
      "a form of 5,000 entries, written and read",
      "(async () => { const form = new FormData(); for (let i = 0; i < 5000; i++) form.append('k' + i, 'é'); return [...await new Response(form).formData()].length })()",
      5000,
    ],
    [
      "a file of 2 MB in a form",
      "(async () => { const form = new FormData(); form.append('f', new Blob([new Uint8Array(2e6)])); return (await new Response(form).formData()).get('f').size })()",
      2_000_000,
    ],
    [
      "a content type of 1 MB",
      "new Response('x', { headers: { 'content-type': 'multipart/form-data' + ';a=\"'.repeat(2e5) } }).formData().catch((error) => error.name)",
      "TypeError",
    ],
    ["line breaks without end", "new Blob(['\\r\\n'.repeat(5e5)], { endings: 'native' }).size", 500_000],
  ] as const)("%s", { timeout: 20_000 }, async (_name, script, expected) => {
    using guest = await openGuest({ withWeb: true });
    expect(guest.settle(script)).toEqual(expected);
  });

  test.each([
    "new Blob([new Uint8Array(2e7), 'x'])",
    "(() => { const form = new FormData(); for (;;) form.append('k', 'v'.repeat(1e5) + form) })()",
    "new ReadableStream({ start(c) { for (;;) c.enqueue(new Uint8Array(1e5)) } })",
  ])("%s stays inside the memory limit, and the guest goes on", { timeout: 20_000 }, async (script) => {
    using guest = await openGuest({ memoryBytes: 24 * 1024 * 1024, withWeb: true });
    guest.evaluate("[typeof Blob, typeof ReadableStream]");
    expect(guest.evaluate(`void (${script})`)).toMatch(/out of memory|^null$/);
    expect(guest.settle("new Blob(['after']).text()")).toBe("after");
  });
});
