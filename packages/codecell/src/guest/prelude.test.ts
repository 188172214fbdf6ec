/** The checked-in prelude, and everything that a guest can reach from its global object. */
import { readFile } from "node:fs/promises";
import { CompileFlags, QuickJS } from "quickjs-wasi";
import { describe, expect, test } from "vitest";
import { bundlePrelude, renderPreludeModule } from "../../../../scripts/build-guest.ts";
import { openGuest } from "./inside/testing/open-guest.ts";

const GLOBALS =
  "AbortController AbortSignal AggregateError Array ArrayBuffer AsyncDisposableStack BigInt BigInt64Array " +
  "BigUint64Array Boolean DOMException DataView Date DisposableStack Error EvalError Event EventTarget " +
  "FinalizationRegistry Float16Array Float32Array Float64Array Function Headers Infinity Int16Array Int32Array " +
  "Int8Array Iterator JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set " +
  "SharedArrayBuffer String SuppressedError Symbol SyntaxError TextDecoder TextEncoder TypeError URIError URL " +
  "URLSearchParams Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet atob btoa console " +
  "crypto decodeURI decodeURIComponent encodeURI encodeURIComponent escape globalThis isFinite isNaN parseFloat " +
  "parseInt performance queueMicrotask structuredClone undefined unescape";

/** Walks names, symbols, prototypes and accessors; returns every object found with the path to it. */
const WALK = `(() => {
  const found = new Map([[globalThis, ""]]);
  const queue = [globalThis];
  const visit = (value, path) => {
    if ((typeof value !== "object" && typeof value !== "function") || value === null || found.has(value)) return;
    found.set(value, path);
    queue.push(value);
  };
  const samples = { arrow: () => {}, async: async () => {}, generator: function* () {}, asyncGenerator: async function* () {},
    headers: new Headers([["a", "b"]]).entries(), params: new URLSearchParams("a=b").entries(), url: new URL("http://a/?b"),
    signal: new AbortController().signal, event: new Event("x"), error: new Error("x"), proxy: new Proxy({}, {}),
    revocable: Proxy.revocable({}, {}), decoder: new TextDecoder(), match: /x/.exec("x"), args: (function () { return arguments })(),
    iterator: [][Symbol.iterator](), promise: Promise.resolve() };
  for (const name of Reflect.ownKeys(samples)) visit(samples[name], "<" + name + ">");
  for (const object of queue) {
    const path = found.get(object);
    visit(Object.getPrototypeOf(object), path + ".__proto__");
    for (const key of Reflect.ownKeys(object)) {
      const at = path + (path === "" ? "" : ".") + String(key);
      const described = Object.getOwnPropertyDescriptor(object, key);
      visit(described.value, at);
      visit(described.get, "get " + at);
      visit(described.set, "set " + at);
    }
  }
  return found;
})()`;

test("prelude.generated.ts equals what scripts/build-guest.ts makes from the sources", async () => {
  const checkedIn = await readFile(new URL("prelude.generated.ts", import.meta.url), "utf8");
  expect(checkedIn === (await renderPreludeModule())).toBe(true);
});

test("the prelude is one expression, small when evaluated", async () => {
  const wasm = await readFile(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm")));
  const vm = await QuickJS.create({ wasm, memoryLimit: 64 * 1024 * 1024, maxStackSize: 256 * 1024 });
  const bytecode = vm.compile(await bundlePrelude(), "prelude.js", 0, CompileFlags.STRIP_SOURCE);
  vm.runGC();
  const before = vm.getMemoryUsage().memoryUsedSize;
  const host = vm.newFunction("host", () => vm.undefined);
  const functions = vm.callFunction(vm.evalBytecode(bytecode), vm.undefined, host);
  vm.runGC();
  const heapBytes = vm.getMemoryUsage().memoryUsedSize - before;
  expect(functions.isArray).toBe(true);
  expect(heapBytes).toBeLessThan(400 * 1024);
  vm.dispose();
});

describe("from the global object", () => {
  test("the names are those of the written list", async () => {
    using guest = await openGuest();
    expect(guest.evaluate("Object.getOwnPropertyNames(globalThis).sort()")).toEqual(GLOBALS.split(" "));
    expect(guest.evaluate("Object.getOwnPropertySymbols(globalThis).map(String)")).toEqual([
      "Symbol(Symbol.toStringTag)",
    ]);
    expect(guest.evaluate("Object.keys(globalThis)")).toEqual([]);
  });

  test("no reachable function evaluates a string", async () => {
    using guest = await openGuest();
    const tried = guest.evaluate(`(() => {
      const code = "globalThis.evaluated = 1; return globalThis";
      let count = 0;
      for (const [value, path] of ${WALK}) {
        if (typeof value !== "function") continue;
        count += 1;
        for (const attempt of [() => value(code), () => new value(code), () => value("a", code), () => Reflect.construct(value, [code], Object)]) {
          try {
            const made = attempt();
            if (typeof made === "function" && made !== value) made();
          } catch {}
        }
        if ("evaluated" in globalThis) return path;
      }
      return count;
    })()`);
    guest.drain();
    expect(tried).toBeGreaterThan(600);
    expect(guest.evaluate("'evaluated' in globalThis")).toBe(false);
  });

  test("the only reachable functions that are not native are meant for guests", async () => {
    using guest = await openGuest({ withSource: true });
    const paths = guest.evaluate(`(() => {
      const toString = Function.prototype.toString;
      const paths = [];
      for (const [value, path] of ${WALK}) {
        if (typeof value === "function" && !toString.call(value).includes("[native code]")) paths.push(path);
      }
      return paths.filter((path) => !/^<(arrow|async|generator|asyncGenerator)>$/.test(path)).sort();
    })()`) as string[];
    expect(paths.join("\n")).toMatchInlineSnapshot(`
      "<args>.callee
      <async>.__proto__.constructor
      <asyncGenerator>.__proto__.constructor
      <decoder>.__proto__.decode
      <event>.__proto__.composedPath
      <event>.__proto__.preventDefault
      <event>.__proto__.stopImmediatePropagation
      <event>.__proto__.stopPropagation
      <generator>.__proto__.constructor
      <headers>.__proto__.next
      <params>.__proto__.next
      <revocable>.revoke
      <signal>.__proto__.throwIfAborted
      <url>.__proto__.toJSON
      <url>.__proto__.toString
      AbortController
      AbortController.prototype.abort
      AbortSignal
      AbortSignal.abort
      AbortSignal.any
      AbortSignal.timeout
      Event
      EventTarget
      EventTarget.prototype.addEventListener
      EventTarget.prototype.dispatchEvent
      EventTarget.prototype.removeEventListener
      Function
      Headers
      Headers.prototype.append
      Headers.prototype.delete
      Headers.prototype.entries
      Headers.prototype.forEach
      Headers.prototype.get
      Headers.prototype.getSetCookie
      Headers.prototype.has
      Headers.prototype.keys
      Headers.prototype.set
      Headers.prototype.values
      Math.random
      Proxy.revocable
      TextDecoder
      TextEncoder
      TextEncoder.prototype.encode
      TextEncoder.prototype.encodeInto
      URL
      URL.canParse
      URL.parse
      URLSearchParams
      URLSearchParams.prototype.append
      URLSearchParams.prototype.delete
      URLSearchParams.prototype.entries
      URLSearchParams.prototype.forEach
      URLSearchParams.prototype.get
      URLSearchParams.prototype.getAll
      URLSearchParams.prototype.has
      URLSearchParams.prototype.keys
      URLSearchParams.prototype.set
      URLSearchParams.prototype.sort
      URLSearchParams.prototype.toString
      URLSearchParams.prototype.values
      console.assert
      console.clear
      console.count
      console.countReset
      console.debug
      console.dir
      console.dirxml
      console.error
      console.group
      console.groupCollapsed
      console.groupEnd
      console.info
      console.log
      console.table
      console.time
      console.timeEnd
      console.timeLog
      console.trace
      console.warn
      crypto.__proto__.constructor
      crypto.__proto__.getRandomValues
      crypto.__proto__.randomUUID
      get <decoder>.__proto__.encoding
      get <decoder>.__proto__.fatal
      get <decoder>.__proto__.ignoreBOM
      get <event>.__proto__.bubbles
      get <event>.__proto__.cancelBubble
      get <event>.__proto__.cancelable
      get <event>.__proto__.composed
      get <event>.__proto__.currentTarget
      get <event>.__proto__.defaultPrevented
      get <event>.__proto__.eventPhase
      get <event>.__proto__.isTrusted
      get <event>.__proto__.srcElement
      get <event>.__proto__.target
      get <event>.__proto__.timeStamp
      get <event>.__proto__.type
      get <signal>.__proto__.aborted
      get <signal>.__proto__.onabort
      get <signal>.__proto__.reason
      get <url>.__proto__.hash
      get <url>.__proto__.host
      get <url>.__proto__.hostname
      get <url>.__proto__.href
      get <url>.__proto__.origin
      get <url>.__proto__.password
      get <url>.__proto__.pathname
      get <url>.__proto__.port
      get <url>.__proto__.protocol
      get <url>.__proto__.search
      get <url>.__proto__.searchParams
      get <url>.__proto__.username
      get AbortController.prototype.signal
      get TextEncoder.prototype.encoding
      get URLSearchParams.prototype.size
      get performance.__proto__.timeOrigin
      performance.__proto__.constructor
      performance.__proto__.now
      performance.__proto__.toJSON
      set <event>.__proto__.cancelBubble
      set <signal>.__proto__.onabort
      set <url>.__proto__.hash
      set <url>.__proto__.host
      set <url>.__proto__.hostname
      set <url>.__proto__.href
      set <url>.__proto__.password
      set <url>.__proto__.pathname
      set <url>.__proto__.port
      set <url>.__proto__.protocol
      set <url>.__proto__.search
      set <url>.__proto__.username
      structuredClone"
    `);
  });

  test("no reachable property holds a part of the prelude's own state", async () => {
    using guest = await openGuest();
    const strange = guest.evaluate(`(() => {
      const strange = [];
      for (const [value, path] of ${WALK}) {
        if (Array.isArray(value) && Object.getPrototypeOf(value) === null) strange.push(path);
      }
      return strange;
    })()`);
    expect(strange).toEqual([]);
  });
});
