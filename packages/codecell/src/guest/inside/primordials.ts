/**
 * Primordials: the engine's own functions, captured before guest code can replace them. Runs inside the guest.
 *
 * Rules for all code in this folder that runs after guest code has run:
 * - No method calls on values, and no for-of, spread or array destructuring over our own data, because guest prototypes
 *   decide what these do. Use the captured functions below. Use for-of only where a standard says that the guest's own
 *   iterable is iterated.
 * - Our sequences are `List`s: arrays without a prototype. Their type has no methods, so the compiler enforces the
 *   rule, and an index write cannot reach a setter on Array.prototype.
 * - Property descriptors and records have no prototype.
 * - `split`, `replace`, `match` and similar methods consult symbols that the guest can replace, even when captured. Do
 *   not use them.
 * - Template literals are fine: the build turns them into sums, because QuickJS would call String.prototype.concat,
 *   which the guest can replace.
 * - State lives in module scope or private fields, never on an object that guest code can reach.
 */
const { bind, call } = Function.prototype;

export const uncurryThis: <Args extends readonly unknown[], Result>(
  method: (...args: Args) => Result,
) => (self: unknown, ...args: Args) => Result = bind.bind(call) as never;

export const { apply, ownKeys, deleteProperty } = Reflect;
export const {
  create,
  defineProperty,
  freeze,
  getOwnPropertyDescriptor,
  getPrototypeOf,
  hasOwn,
  is,
  keys,
  setPrototypeOf,
} = Object;
export const { isArray } = Array;
export const { isError } = Error as ErrorConstructor & { isError(value: unknown): value is Error };
export const { isInteger } = Number;
export const { floor, min, max } = Math;
export const { parse: jsonParse, stringify: jsonStringify } = JSON;
export const { now: dateNow } = Date;
export const { fromCharCode } = String;
export const { asyncIterator, iterator, toStringTag } = Symbol;

const engine = globalThis as unknown as {
  readonly DOMException: DOMExceptionConstructor;
  readonly InternalError: ErrorConstructor;
  readonly atob: (text: string) => string;
  readonly btoa: (text: string) => string;
  readonly queueMicrotask: (callback: () => void) => void;
};
export type DOMExceptionConstructor = new (
  message?: string,
  name?: string,
) => Error & { readonly code: number };
export const { DOMException, InternalError, atob, btoa, queueMicrotask } = engine;

const captured = {
  Array,
  ArrayBuffer,
  BigInt,
  Boolean,
  DataView,
  Date,
  Error,
  EvalError,
  Float32Array,
  Float64Array,
  Function,
  Map,
  Number,
  Object,
  Promise,
  Proxy,
  RangeError,
  ReferenceError,
  RegExp,
  Set,
  String,
  Symbol,
  SyntaxError,
  TypeError,
  URIError,
  Uint16Array,
  Uint32Array,
  Uint8Array,
  WeakMap,
  WeakSet,
};
export { captured as primordial };

type Getter<Result> = (self: unknown) => Result;

export function captureGetter<Result>(holder: object, key: PropertyKey): Getter<Result> {
  return uncurryThis((getOwnPropertyDescriptor(holder, key) as PropertyDescriptor).get as () => Result);
}

export const arrayJoin: (items: unknown, separator: string) => string = uncurryThis(Array.prototype.join);
export const arraySort: <T>(items: List<T>, compare: (a: T, b: T) => number) => List<T> = uncurryThis(
  Array.prototype.sort,
) as never;

/** For an index that may be outside the text: there `text[index]` would consult guest prototypes. */
export const stringCharAt: (text: string, index: number) => string = uncurryThis(String.prototype.charAt);
export const stringCharCodeAt: (text: string, index: number) => number = uncurryThis(
  String.prototype.charCodeAt,
);
export const stringCodePointAt: (text: string, index: number) => number = uncurryThis(
  String.prototype.codePointAt,
) as never;
export const stringIndexOf: (text: string, part: string, from?: number) => number = uncurryThis(
  String.prototype.indexOf,
);
export const stringLastIndexOf: (text: string, part: string) => number = uncurryThis(
  String.prototype.lastIndexOf,
);
export const stringSlice: (text: string, start: number, end?: number) => string = uncurryThis(
  String.prototype.slice,
);
export const stringRepeat: (text: string, count: number) => string = uncurryThis(String.prototype.repeat);
export const stringPadEnd: (text: string, length: number) => string = uncurryThis(String.prototype.padEnd);
export const stringToLowerCase: (text: string) => string = uncurryThis(String.prototype.toLowerCase);
export const stringToUpperCase: (text: string) => string = uncurryThis(String.prototype.toUpperCase);
export const stringNormalize: (text: string, form: string) => string = uncurryThis(
  String.prototype.normalize,
);
export const stringToWellFormed: (text: string) => string = uncurryThis(String.prototype.toWellFormed);
export const numberToString: (value: number, radix?: number) => string = uncurryThis(
  Number.prototype.toString,
);
export const bigintToString: (value: bigint) => string = uncurryThis(BigInt.prototype.toString);
export const symbolToString: (value: symbol) => string = uncurryThis(Symbol.prototype.toString);
/** The built-in exec. `test`, `match` and `replace` would look up an `exec` that the guest can replace. */
export const regExpExec: (pattern: RegExp, text: string) => RegExpExecArray | null = uncurryThis(
  RegExp.prototype.exec,
);

const regExpFlags = [
  "hasIndices",
  "global",
  "ignoreCase",
  "multiline",
  "dotAll",
  "unicode",
  "unicodeSets",
  "sticky",
];
const regExpFlagGetters = regExpFlags.map((key) => captureGetter<boolean>(RegExp.prototype, key));
export const regExpSource: (pattern: unknown) => string = captureGetter(RegExp.prototype, "source");

/** Reads each flag by itself: the built-in `flags` getter would read getters that the guest can replace. */
export function regExpFlagsOf(pattern: unknown): string {
  let flags = "";
  for (let i = 0; i < 8; i += 1) {
    if ((regExpFlagGetters[i] as Getter<boolean>)(pattern)) flags += "dgimsuvy"[i] as string;
  }
  return flags;
}

/** Always makes the engine's own Promise. Read its record by own names only. */
export const withResolvers: () => PromiseWithResolvers<unknown> = Promise.withResolvers.bind(Promise);

/** Calls one of the two functions when a promise of ours settles. */
export const promiseThen: <T>(
  promise: Promise<T>,
  onValue: (value: T) => void,
  onReason: (reason: unknown) => void,
) => unknown = uncurryThis(Promise.prototype.then) as never;

export const mapGet: <K, V>(map: Map<K, V>, key: K) => V | undefined = uncurryThis(
  Map.prototype.get,
) as never;
export const mapSet: <K, V>(map: Map<K, V>, key: K, value: V) => unknown = uncurryThis(
  Map.prototype.set,
) as never;
export const mapHas: <K, V>(map: Map<K, V>, key: K) => boolean = uncurryThis(Map.prototype.has);
export const mapDelete: <K, V>(map: Map<K, V>, key: K) => boolean = uncurryThis(Map.prototype.delete);
export const mapForEach: <K, V>(map: Map<K, V>, visit: (value: V, key: K) => void) => void = uncurryThis(
  Map.prototype.forEach,
) as never;
export const mapSize: Getter<number> = captureGetter(Map.prototype, "size");
export const setAdd: <T>(set: Set<T>, item: T) => unknown = uncurryThis(Set.prototype.add) as never;
export const setHas: <T>(set: Set<T>, item: T) => boolean = uncurryThis(Set.prototype.has);
export const setSize: Getter<number> = captureGetter(Set.prototype, "size");
type IteratorNext<T> = (iteratorOfOurs: unknown) => { readonly done?: boolean; readonly value: T };
export const mapEntries: (map: Map<unknown, unknown>) => unknown = uncurryThis(Map.prototype.entries);
export const mapNext: IteratorNext<List<unknown>> = uncurryThis(new Map().entries().next) as never;
export const setValues: (set: Set<unknown>) => unknown = uncurryThis(Set.prototype.values);
export const setNext: IteratorNext<unknown> = uncurryThis(new Set().values().next);
export const weakMapGet: <K extends WeakKey, V>(map: WeakMap<K, V>, key: K) => V | undefined = uncurryThis(
  WeakMap.prototype.get,
) as never;
export const weakMapSet: <K extends WeakKey, V>(map: WeakMap<K, V>, key: K, value: V) => unknown =
  uncurryThis(WeakMap.prototype.set) as never;
export const weakMapHas: <K extends WeakKey, V>(map: WeakMap<K, V>, key: K) => boolean = uncurryThis(
  WeakMap.prototype.has,
);

const typedArrayPrototype: object = getPrototypeOf(Uint8Array.prototype) as object;
/** The kind of a typed array ("Uint8Array", …), undefined for any other value; never throws. */
export const typedArrayKind: Getter<string | undefined> = captureGetter(typedArrayPrototype, toStringTag);
export const typedArrayLength: Getter<number> = captureGetter(typedArrayPrototype, "length");
export const typedArrayBuffer: Getter<ArrayBuffer> = captureGetter(typedArrayPrototype, "buffer");
export const typedArrayByteOffset: Getter<number> = captureGetter(typedArrayPrototype, "byteOffset");
export const typedArrayByteLength: Getter<number> = captureGetter(typedArrayPrototype, "byteLength");
export const typedArraySet: (target: Uint8Array, source: Uint8Array, offset?: number) => void = uncurryThis(
  Uint8Array.prototype.set,
);
export const arrayBufferByteLength: Getter<number> = captureGetter(ArrayBuffer.prototype, "byteLength");
export const dataViewBuffer: Getter<ArrayBuffer> = captureGetter(DataView.prototype, "buffer");
export const dataViewByteOffset: Getter<number> = captureGetter(DataView.prototype, "byteOffset");
export const dataViewByteLength: Getter<number> = captureGetter(DataView.prototype, "byteLength");

/** What async iterators inherit from. */
export const asyncIteratorPrototype: object = getPrototypeOf(
  getPrototypeOf(getPrototypeOf((async function* () {})()) as object) as object,
) as object;

export type List<T> = { length: number; [index: number]: T };

export function list<T>(): List<T> {
  return setPrototypeOf([], null) as List<T>;
}

export function append<T>(items: List<T>, item: T): void {
  items[items.length] = item;
}

export function at<T>(items: List<T>, index: number): T {
  return items[index] as T;
}

/** A record without a prototype, for lookups by untrusted keys. */
export function record<T>(): { [key: string]: T } {
  return create(null) as { [key: string]: T };
}

const hidden = descriptor(false);
const visible = descriptor(true);

function descriptor(enumerable: boolean): PropertyDescriptor {
  const made = create(null) as PropertyDescriptor;
  made.writable = true;
  made.enumerable = enumerable;
  made.configurable = true;
  return made;
}

/** Defines a property like a built-in: writable, configurable, not enumerable. */
export function defineHidden(target: object, key: PropertyKey, value: unknown): void {
  hidden.value = value;
  defineProperty(target, key, hidden);
  hidden.value = undefined;
}

/** Defines a property like an assignment, but without calling setters, `__proto__` included. */
export function defineVisible(target: object, key: PropertyKey, value: unknown): void {
  visible.value = value;
  defineProperty(target, key, visible);
  visible.value = undefined;
}

/** Defines a property that is not writable and not enumerable. */
export function defineConstant(
  target: object,
  key: PropertyKey,
  value: unknown,
  configurable: boolean,
): void {
  const constant = create(null) as PropertyDescriptor;
  constant.value = value;
  constant.configurable = configurable;
  defineProperty(target, key, constant);
}

/** The value of an own data property; undefined for an accessor or an absent property. Not for proxies. */
export function ownData(target: object, key: PropertyKey): unknown {
  const found = getOwnPropertyDescriptor(target, key);
  return found !== undefined && hasOwn(found, "value") ? found.value : undefined;
}
