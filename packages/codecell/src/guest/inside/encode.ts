/**
 * Encode: a guest value as JSON text, in one pass.
 *
 * - Every getter, `toJSON` and proxy trap runs once: what was checked is what crosses.
 * - What JSON cannot carry is refused with its path, never lost: functions, symbols, BigInts, cycles,
 *   promises, collections, binary data. `undefined`, NaN, infinities and functions in lists behave as in
 *   `JSON.stringify`.
 */
import {
  getPrototypeOf,
  isArray,
  isError,
  jsonStringify,
  keys as keysOf,
  primordial,
  record,
  stringSlice,
  uncurryThis,
} from "./primordials.ts";

const objectPrototype = primordial.Object.prototype;
const objectToString = uncurryThis(objectPrototype.toString);
const { isFinite } = primordial.Number;

const MAX_DEPTH = 1000;

const HINTS: Readonly<Record<string, string>> = {
  __proto__: null as never,
  "[object Promise]": "a Promise, did you forget to await it",
  "[object Map]": "a Map, use Object.fromEntries(map) or [...map]",
  "[object Set]": "a Set, use [...set]",
  "[object WeakMap]": "a WeakMap",
  "[object WeakSet]": "a WeakSet",
  "[object WeakRef]": "a WeakRef",
  "[object RegExp]": "a RegExp, use its source",
  "[object ArrayBuffer]": "an ArrayBuffer, use [...new Uint8Array(buffer)]",
  "[object SharedArrayBuffer]": "a SharedArrayBuffer",
  "[object DataView]": "a DataView",
  "[object Generator]": "a generator, use [...generator]",
  "[object AsyncGenerator]": "an async generator",
  "[object Iterator Helper]": "an iterator, use its toArray()",
  "[object Map Iterator]": "an iterator, use its toArray()",
  "[object Set Iterator]": "an iterator, use its toArray()",
  "[object Array Iterator]": "an iterator, use its toArray()",
  "[object Uint8Array]": "a Uint8Array, use [...array]",
  "[object Uint8ClampedArray]": "a Uint8ClampedArray, use [...array]",
  "[object Int8Array]": "an Int8Array, use [...array]",
  "[object Uint16Array]": "a Uint16Array, use [...array]",
  "[object Int16Array]": "an Int16Array, use [...array]",
  "[object Uint32Array]": "a Uint32Array, use [...array]",
  "[object Int32Array]": "an Int32Array, use [...array]",
  "[object Float16Array]": "a Float16Array, use [...array]",
  "[object Float32Array]": "a Float32Array, use [...array]",
  "[object Float64Array]": "a Float64Array, use [...array]",
  "[object BigInt64Array]": "a BigInt64Array",
  "[object BigUint64Array]": "a BigUint64Array",
};

/** Returns the text, or throws a TypeError that names the path from `root`. */
export function encode(value: unknown, root: string): string {
  // keys[d] is the key at depth d of the value being visited; seen[d] the object itself.
  const keys = record<string | number>();
  const seen = record<object>();

  function refuse(depth: number, what: string): never {
    let path = root;
    for (let level = 1; level <= depth && level < 20; level++) {
      const key = keys[level];
      path += typeof key === "number" ? `[${key}]` : `.${stringSlice(`${key}`, 0, 100)}`;
    }
    throw new primordial.TypeError(`Cannot pass ${path}: it is ${what}`);
  }

  function visit(input: unknown, depth: number, key: string | number): string | undefined {
    let item = input;
    if (
      typeof item === "bigint" ||
      (typeof item === "object" && item !== null) ||
      typeof item === "function"
    ) {
      const toJson = (item as { toJSON?: unknown }).toJSON;
      if (typeof toJson === "function") item = (item as { toJSON(key: string): unknown }).toJSON(`${key}`);
    }
    switch (typeof item) {
      case "string":
        return jsonStringify(item);
      case "number":
        return isFinite(item) ? `${item}` : "null";
      case "boolean":
        return item ? "true" : "false";
      case "undefined":
        return undefined;
      case "bigint":
        return refuse(depth, "a BigInt, use String(value) or Number(value)");
      case "function":
        return refuse(depth, "a function");
      case "symbol":
        return refuse(depth, "a symbol");
      default:
        return item === null ? "null" : visitObject(item as object, depth);
    }
  }

  function visitObject(item: object, depth: number): string {
    if (depth > MAX_DEPTH) refuse(depth, `nested deeper than ${MAX_DEPTH} levels`);
    if (isArray(item)) {
      enter(item, depth);
      return visitArray(item, depth);
    }
    const prototype = getPrototypeOf(item);
    if (prototype !== objectPrototype && prototype !== null) {
      const tag = objectToString(item);
      const hint = HINTS[tag];
      if (hint !== undefined) refuse(depth, hint);
      if (tag === "[object Number]") return visit(+(item as unknown as number), depth, "") ?? "null";
      if (tag === "[object String]") return jsonStringify(`${item as unknown as string}`);
      if (tag === "[object Boolean]") return (item as unknown as boolean).valueOf() ? "true" : "false";
      if (isError(item)) {
        const { name, message } = item;
        return `{"name":${jsonStringify(`${name}`)},"message":${jsonStringify(`${message}`)}}`;
      }
    }
    enter(item, depth);
    return visitRecord(item as Record<string, unknown>, depth);
  }

  function enter(item: object, depth: number): void {
    for (let level = 0; level < depth; level++) if (seen[level] === item) refuse(depth, "part of a cycle");
    seen[depth] = item;
  }

  function visitArray(item: readonly unknown[], depth: number): string {
    let text = "[";
    const length = item.length;
    for (let index = 0; index < length; index++) {
      keys[depth + 1] = index;
      // As in JSON.stringify: a hole in a list is kept as one.
      const element = item[index];
      const part = (typeof element === "function" ? undefined : visit(element, depth + 1, index)) ?? "null";
      text += index === 0 ? part : `,${part}`;
    }
    return `${text}]`;
  }

  function visitRecord(item: Record<string, unknown>, depth: number): string {
    let text = "{";
    const names = keysOf(item);
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string;
      keys[depth + 1] = name;
      const part = visit(item[name], depth + 1, name);
      if (part !== undefined) text += `${text === "{" ? "" : ","}${jsonStringify(name)}:${part}`;
    }
    return `${text}}`;
  }

  return visit(value, 0, "") ?? "null";
}
