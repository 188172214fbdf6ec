/**
 * Harden: removes what a guest must not have. Runs inside the guest, last and once, before the image is taken.
 *
 * - No code from strings: eval is gone, and every Function constructor throws, however the guest reaches it.
 * - No access to our own functions: Error.prepareStackTrace stays undefined, so the guest gets no call sites.
 * - Engine globals outside the written list are removed, so a new engine version cannot add one unnoticed.
 * - Intrinsics are not frozen: that would break ordinary programs (the override mistake).
 */
import { GuestProxy } from "./brands.ts";
import { exposeGlobal } from "./expose.ts";
import {
  at,
  defineConstant,
  defineHidden,
  deleteProperty,
  getPrototypeOf,
  InternalError,
  isError,
  type List,
  ownData,
  ownKeys,
  primordial,
  record,
  setPrototypeOf,
  stringIndexOf,
  toStringTag,
} from "./primordials.ts";

const { Error, EvalError, Function: NativeFunction } = primordial;
const internalErrorPrototype = InternalError.prototype;
const engineKeys = ownKeys(globalThis) as List<string | symbol>;

const KEPT =
  "AggregateError Array ArrayBuffer AsyncDisposableStack BigInt BigInt64Array BigUint64Array Boolean " +
  "DOMException DataView Date DisposableStack Error EvalError FinalizationRegistry Float16Array Float32Array " +
  "Float64Array Function Infinity Int16Array Int32Array Int8Array Iterator JSON Map Math NaN Number Object " +
  "Promise Proxy RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer String SuppressedError Symbol " +
  "SyntaxError TypeError URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet " +
  "atob btoa decodeURI decodeURIComponent encodeURI encodeURIComponent escape globalThis isFinite isNaN " +
  "parseFloat parseInt performance queueMicrotask undefined unescape";

/**
 * Whether a caught value is the engine's own out-of-memory error. Runs no guest code. A guest that once caught a
 * genuine error could build a look-alike from its prototype, so use this for messages, not for limits.
 */
export function isOutOfMemory(value: unknown): boolean {
  if (!isError(value) || getPrototypeOf(value) !== internalErrorPrototype) return false;
  const message = ownData(value, "message");
  if (typeof message !== "string") return false;
  // The longest string of the engine would not fit into any program's memory.
  return stringIndexOf(message, "out of memory") >= 0 || stringIndexOf(message, "string too long") >= 0;
}

export function harden(): void {
  removeUnlistedGlobals();
  replaceFunctionConstructors();
  lockStackTraces();
  exposeGlobal("Proxy", GuestProxy);
  defineHidden(internalErrorPrototype, "constructor", Error);
}

function removeUnlistedGlobals(): void {
  const kept = record<boolean>();
  for (const name of KEPT.split(" ")) kept[name] = true;
  for (let i = 0; i < engineKeys.length; i += 1) {
    const key = at(engineKeys, i);
    if (key !== toStringTag && (typeof key === "symbol" || kept[key] !== true))
      deleteProperty(globalThis, key);
  }
}

function replaceFunctionConstructors(): void {
  const Replaced = replaceConstructor(NativeFunction.prototype, "Function");
  exposeGlobal("Function", Replaced);
  const samples: readonly (readonly [string, object])[] = [
    ["AsyncFunction", async function () {}],
    ["GeneratorFunction", function* () {}],
    ["AsyncGeneratorFunction", async function* () {}],
  ];
  for (const [name, sample] of samples) {
    const replaced = replaceConstructor(getPrototypeOf(sample) as object, name);
    setPrototypeOf(replaced, Replaced);
    defineConstant(getPrototypeOf(sample) as object, "constructor", replaced, true);
  }
  for (const oddity of ["fileName", "lineNumber", "columnNumber"]) {
    deleteProperty(NativeFunction.prototype, oddity);
  }
}

function replaceConstructor(prototype: object, name: string): object {
  const replaced = function (): never {
    throw new EvalError("Code generation from strings is disabled");
  };
  defineConstant(replaced, "name", name, true);
  defineConstant(replaced, "length", 1, true);
  replaced.prototype = prototype;
  defineConstant(replaced, "prototype", prototype, false);
  defineHidden(prototype, "constructor", replaced);
  return replaced;
}

function lockStackTraces(): void {
  defineConstant(Error, "prepareStackTrace", undefined, false);
}
