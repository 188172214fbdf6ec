/**
 * Brands: tells the kind of a guest object without running guest code. Runs inside the guest.
 *
 * - The guest's `Proxy` records every proxy that it makes, so that our code can look at a proxy without its traps.
 * - A brand is read from internal slots where the engine shows them, never from `constructor`, `instanceof` or a
 *   toStringTag that guest code can set. Promises and generators show no slots: their prototype decides.
 * - An object whose prototype is exactly Object.prototype counts as a plain object.
 */
import {
  apply,
  captureGetter,
  create,
  defineConstant,
  getPrototypeOf,
  isArray,
  isError,
  mapGet,
  mapSet,
  mapSize,
  primordial,
  setSize,
  typedArrayKind,
  uncurryThis,
  weakMapGet,
  weakMapHas,
  weakMapSet,
  arrayBufferByteLength,
  dataViewBuffer,
  defineHidden,
  DOMException,
} from "./primordials.ts";

export type Brand =
  | "Object"
  | "Proxy"
  | "Function"
  | "Array"
  | "Error"
  | "TypedArray"
  | "Map"
  | "Set"
  | "WeakMap"
  | "WeakSet"
  | "WeakRef"
  | "FinalizationRegistry"
  | "Date"
  | "RegExp"
  | "Promise"
  | "Generator"
  | "ArrayBuffer"
  | "SharedArrayBuffer"
  | "DataView"
  | "Number"
  | "String"
  | "Boolean"
  | "BigInt"
  | "Symbol"
  | "DOMException"
  | "Platform";

const MAX_CHAIN = 64;
const { Proxy: NativeProxy, TypeError, Object, Map, WeakMap } = primordial;
const objectPrototype = Object.prototype;
const proxyTargets = new WeakMap<object, object>();
const revocable = NativeProxy.revocable;
const revokedTarget: object = create(null) as object;

function makeProxy(this: unknown, target: object, handler: ProxyHandler<object>): object {
  if (new.target === undefined) throw new TypeError("Constructor Proxy requires 'new'");
  const proxy = new NativeProxy(target, handler);
  weakMapSet(proxyTargets, proxy, target);
  return proxy;
}

/** The guest's `Proxy`. It is a bound function, because the real `Proxy` has no `prototype` either. */
export const GuestProxy: object = uncurryThis(primordial.Function.prototype.bind)(makeProxy, null) as object;
defineConstant(GuestProxy, "name", "Proxy", true);
defineConstant(GuestProxy, "length", 2, true);
defineHidden(
  GuestProxy,
  "revocable",
  {
    revocable(target: object, handler: ProxyHandler<object>): object {
      const made = revocable(target, handler);
      const { proxy, revoke } = made;
      weakMapSet(proxyTargets, proxy, target);
      made.revoke = (): void => {
        weakMapSet(proxyTargets, proxy, revokedTarget);
        apply(revoke, undefined, []);
      };
      return made;
    },
  }.revocable,
);

export function isProxy(value: object): boolean {
  return weakMapHas(proxyTargets, value);
}

export function isRevoked(target: object): boolean {
  return target === revokedTarget;
}

/** The innermost target of a proxy, or the value itself. */
export function unwrapProxy(value: object): object {
  let current = value;
  for (let depth = 0; depth < MAX_CHAIN; depth += 1) {
    const target = weakMapGet(proxyTargets, current);
    if (target === undefined) return current;
    current = target;
  }
  return revokedTarget;
}

type Check = { readonly brand: Brand; readonly probe: ((value: unknown) => unknown) | undefined };
const checks = new Map<object, Check>();

function addCheck(prototype: object, brand: Brand, probe?: (value: unknown) => unknown): void {
  const check = create(null) as { brand: Brand; probe: ((value: unknown) => unknown) | undefined };
  check.brand = brand;
  check.probe = probe;
  mapSet(checks, prototype, check);
}

const probeKey = {};
addCheck(Map.prototype, "Map", mapSize);
addCheck(Set.prototype, "Set", setSize);
addCheck(WeakMap.prototype, "WeakMap", (value) => weakMapHas(value as WeakMap<object, unknown>, probeKey));
const weakSetHas = uncurryThis(WeakSet.prototype.has);
addCheck(WeakSet.prototype, "WeakSet", (value) => weakSetHas(value, probeKey));
addCheck(WeakRef.prototype, "WeakRef");
addCheck(FinalizationRegistry.prototype, "FinalizationRegistry");
addCheck(Date.prototype, "Date", uncurryThis(Date.prototype.getTime));
addCheck(RegExp.prototype, "RegExp", captureGetter(RegExp.prototype, "source"));
addCheck(Promise.prototype, "Promise");
addCheck(ArrayBuffer.prototype, "ArrayBuffer", arrayBufferByteLength);
addCheck(
  SharedArrayBuffer.prototype,
  "SharedArrayBuffer",
  captureGetter(SharedArrayBuffer.prototype, "byteLength"),
);
addCheck(DataView.prototype, "DataView", dataViewBuffer);
addCheck(Number.prototype, "Number", uncurryThis(Number.prototype.valueOf));
addCheck(String.prototype, "String", uncurryThis(String.prototype.valueOf));
addCheck(Boolean.prototype, "Boolean", uncurryThis(Boolean.prototype.valueOf));
addCheck(BigInt.prototype, "BigInt", uncurryThis(BigInt.prototype.valueOf));
addCheck(Symbol.prototype, "Symbol", uncurryThis(Symbol.prototype.valueOf));
addCheck(DOMException.prototype as object, "DOMException", captureGetter(DOMException.prototype, "name"));
addCheck(getPrototypeOf(function* () {}.prototype as object) as object, "Generator");
addCheck(getPrototypeOf(async function* () {}.prototype as object) as object, "Generator");

/** Marks the instances of a prelude class as platform objects instead of plain data. */
export function registerPlatformPrototype(prototype: object): void {
  addCheck(prototype, "Platform");
}

export function brandOf(value: object): Brand {
  if (isProxy(value)) return "Proxy";
  if (typeof value === "function") return "Function";
  if (isArray(value)) return "Array";
  if (isError(value)) return "Error";
  if (typedArrayKind(value) !== undefined) return "TypedArray";
  let prototype = getPrototypeOf(value) as object | null;
  for (let depth = 0; depth < MAX_CHAIN; depth += 1) {
    if (prototype === null || prototype === objectPrototype || isProxy(prototype)) return "Object";
    const check = mapGet(checks, prototype);
    if (check !== undefined && passes(check, value)) return check.brand;
    prototype = getPrototypeOf(prototype) as object | null;
  }
  return "Object";
}

function passes(check: Check, value: object): boolean {
  if (check.probe === undefined) return true;
  try {
    check.probe(value);
    return true;
  } catch {
    return false;
  }
}
