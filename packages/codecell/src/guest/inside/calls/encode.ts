/**
 * Encode: encodes a guest value as JSON text in one pass. Runs inside the guest.
 *
 * - Every getter, `toJSON` and proxy trap runs once: the value that crosses is the value that was checked.
 * - What JSON cannot carry is refused with its path, never lost: functions, symbols, BigInts, cycles, promises,
 *   collections, binary data. `undefined`, NaN, infinities and functions in lists behave as in `JSON.stringify`.
 */
import {
  apply,
  getPrototypeOf,
  isArray,
  isError,
  jsonStringify,
  keys as keysOf,
  primordial,
  record,
  stringSlice,
  uncurryThis,
} from "../primordials.ts";

const objectPrototype = primordial.Object.prototype;
const objectToString = uncurryThis(objectPrototype.toString);

/** A depth that fits the guest's stack, with room for the program's own calls. */
const MAX_DEPTH = 200;
const MOST_KEYS = 20;
/**
 * Programs use the same few names again and again: remembering how a name is written costs less than encoding it again.
 */
const MOST_LABELS = 64;
const LONGEST_LABEL = 32;
const labels = record<string>();
let labelCount = 0;

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

/** An object between the root and the value that is being visited. */
interface EncodePlace {
  readonly parent: EncodePlace | undefined;
  /** The key under which its parent holds it. */
  readonly key: string | number;
  readonly item: object;
  readonly depth: number;
}

/** Returns the text, or throws a TypeError that names the path from `root`. */
export function encode(value: unknown, root: string): string {
  return visit(value, undefined, root) ?? "null";
}

function visit(input: unknown, parent: EncodePlace | undefined, key: string | number): string | undefined {
  let item = input;
  if (typeof item === "object" ? item !== null : typeof item === "bigint" || typeof item === "function") {
    const toJson = (item as { toJSON?: unknown }).toJSON;
    if (typeof toJson === "function") item = apply(toJson, item, [parent === undefined ? "" : `${key}`]);
    // This comes first, because most values here are objects.
    if (typeof item === "object" && item !== null) return visitObject(item, parent, key);
  }
  switch (typeof item) {
    case "string":
      return jsonStringify(item);
    case "number":
      return numberText(item);
    case "boolean":
      return item ? "true" : "false";
    case "undefined":
      return undefined;
    case "bigint":
      return refuse(parent, key, "a BigInt, use String(value) or Number(value)");
    case "function":
      return refuse(parent, key, "a function");
    case "symbol":
      return refuse(parent, key, "a symbol");
    default:
      return "null";
  }
}

/** One function for lists and records, because each frame of a level counts against the guest's stack. */
function visitObject(item: object, parent: EncodePlace | undefined, key: string | number): string {
  const prototype = getPrototypeOf(item);
  const isList = isArray(item);
  if (!isList && prototype !== objectPrototype && prototype !== null) {
    const tag = objectToString(item);
    const hint = HINTS[tag];
    if (hint !== undefined) refuse(parent, key, hint);
    if (tag === "[object Number]") return visit(+(item as unknown as number), parent, key) ?? "null";
    if (tag === "[object String]") return jsonStringify(`${item as unknown as string}`);
    if (tag === "[object Boolean]") return (item as unknown as boolean).valueOf() ? "true" : "false";
    if (isError(item)) {
      const { name, message } = item;
      return `{"name":${jsonStringify(`${name}`)},"message":${jsonStringify(`${message}`)}}`;
    }
  }
  const depth = parent === undefined ? 0 : parent.depth + 1;
  if (depth > MAX_DEPTH) refuse(parent, key, `nested deeper than ${MAX_DEPTH} levels`);
  for (let place = parent; place !== undefined; place = place.parent) {
    if (place.item === item) refuse(parent, key, "part of a cycle");
  }
  // Made when the first child needs it, because most inputs are flat.
  let place: EncodePlace | undefined;
  let text = "";
  if (isList) {
    const list = item as readonly unknown[];
    const { length } = list;
    for (let index = 0; index < length; index++) {
      const element = list[index];
      // As in JSON.stringify: an item without a text becomes null.
      const part =
        typeof element === "number"
          ? numberText(element)
          : typeof element === "function"
            ? "null"
            : (visit(element, (place ??= { parent, key, item, depth }), index) ?? "null");
      text += index === 0 ? part : `,${part}`;
    }
    return `[${text}]`;
  }
  const names = keysOf(item);
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as string;
    const value = (item as Record<string, unknown>)[name];
    const part =
      typeof value === "string"
        ? jsonStringify(value)
        : typeof value === "number"
          ? numberText(value)
          : visit(value, (place ??= { parent, key, item, depth }), name);
    if (part === undefined) continue;
    const label = labels[name] ?? toLabel(name);
    text = text === "" ? label + part : `${text},${label}${part}`;
  }
  return `{${text}}`;
}

function numberText(value: number): string {
  // Saves a call of `isFinite`: subtracting an infinity or NaN from itself gives NaN.
  return value - value === 0 ? `${value}` : "null";
}

function toLabel(name: string): string {
  const label = `${jsonStringify(name)}:`;
  if (labelCount < MOST_LABELS && name.length <= LONGEST_LABEL) {
    labelCount += 1;
    labels[name] = label;
  }
  return label;
}

function refuse(parent: EncodePlace | undefined, key: string | number, what: string): never {
  let path = renderKey(key, parent === undefined);
  let shown = 1;
  for (let place = parent; place !== undefined; place = place.parent) {
    const isRoot = place.parent === undefined;
    if (isRoot || shown < MOST_KEYS) path = renderKey(place.key, isRoot) + path;
    else if (shown === MOST_KEYS) path = ` … ${path}`;
    shown += 1;
  }
  throw new primordial.TypeError(`Cannot pass ${path}: it is ${what}`);
}

function renderKey(key: string | number, isRoot: boolean): string {
  if (isRoot) return `${key}`;
  return typeof key === "number" ? `[${key}]` : `.${stringSlice(key, 0, 100)}`;
}
