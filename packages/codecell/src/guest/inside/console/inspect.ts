/**
 * Inspect: shows any guest value as text, like the console of Node.js. Runs inside the guest.
 *
 * - Runs no guest code: getters are shown, not called; proxies are shown as their target, without traps.
 * - Depth, entries per collection and characters overall are bounded. The text says how much is left out.
 */
import { type Brand, brandOf, isProxy, isRevoked, unwrapProxy } from "../brands.ts";
import { describeError, describeFunction, describePrototype } from "./inspect-names.ts";
import { layOut, type LayoutPlace } from "./inspect-layout.ts";
import { renderKey, renderString } from "./inspect-text.ts";
import {
  append,
  arrayBufferByteLength,
  at,
  bigintToString,
  dataViewByteLength,
  getOwnPropertyDescriptor,
  hasOwn,
  is,
  type List,
  list,
  mapEntries,
  mapGet,
  mapNext,
  mapSet,
  mapSize,
  max,
  min,
  numberToString,
  ownKeys,
  primordial,
  regExpFlagsOf,
  regExpSource,
  setNext,
  setSize,
  setValues,
  symbolToString,
  typedArrayKind,
  typedArrayLength,
  uncurryThis,
} from "../primordials.ts";

const MAX_ENTRIES = 100;
/** Listing the keys of a longer array costs more memory than the array, so its named properties are not shown. */
const LISTED_KEYS = 1000;
/** The room that every object takes, so that empty objects are not free. */
const OBJECT_COST = 4;
const MAX_BYTES = 50;
const { Map, Uint8Array } = primordial;
const dateToIso = uncurryThis(Date.prototype.toISOString);
const dateTime = uncurryThis(Date.prototype.getTime);
const unbox = {
  Number: uncurryThis(Number.prototype.valueOf),
  String: uncurryThis(String.prototype.valueOf),
  Boolean: uncurryThis(Boolean.prototype.valueOf),
  BigInt: uncurryThis(BigInt.prototype.valueOf),
  Symbol: uncurryThis(Symbol.prototype.valueOf),
};

type InspectState = {
  room: number;
  readonly maxDepth: number;
  readonly path: List<object>;
  readonly circular: Map<object, number>;
  circularCount: number;
  innerDepth: number;
};

export function renderValue(value: unknown, maxDepth: number, room: number): string {
  const state: InspectState = {
    room,
    maxDepth,
    path: list(),
    circular: new Map(),
    circularCount: 0,
    innerDepth: 0,
  };
  return render(value, state);
}

function render(value: unknown, state: InspectState): string {
  if ((typeof value === "object" && value !== null) || typeof value === "function") {
    return renderObject(value, state);
  }
  const text = renderPrimitive(value, state.room);
  state.room -= text.length;
  return text;
}

export function renderPrimitive(value: unknown, room: number): string {
  switch (typeof value) {
    case "string":
      return renderString(value, room);
    case "number":
      return is(value, -0) ? "-0" : numberToString(value);
    case "bigint":
      return `${renderBigInt(value)}n`;
    case "symbol":
      return symbolToString(value);
    case "boolean":
      return value ? "true" : "false";
    default:
      return value === null ? "null" : "undefined";
  }
}

const BIGINT_SHOWN = 10n ** 1000n;

/**
 * The engine's decimal conversion takes quadratic time and cannot be interrupted, so huge BigInts are not converted.
 */
export function renderBigInt(value: bigint): string {
  return value < BIGINT_SHOWN && value > -BIGINT_SHOWN ? bigintToString(value) : "<more than 1000 digits>";
}

function renderObject(given: object, state: InspectState): string {
  const value = isProxy(given) ? unwrapProxy(given) : given;
  if (isRevoked(value)) return "<Revoked Proxy>";
  if (isOnPath(value, state)) {
    let index = mapGet(state.circular, value);
    if (index === undefined) {
      state.circularCount += 1;
      index = state.circularCount;
      mapSet(state.circular, value, index);
    }
    return `[Circular *${index}]`;
  }
  const depth = state.path.length;
  state.path[depth] = value;
  state.room -= OBJECT_COST;
  const brand = brandOf(value);
  const text = renderBrand(value, brand, state);
  state.path.length = depth;
  const index = mapGet(state.circular, value);
  return index === undefined ? text : `<ref *${index}> ${text}`;
}

function isOnPath(value: object, state: InspectState): boolean {
  for (let i = 0; i < state.path.length; i += 1) {
    if (state.path[i] === value) return true;
  }
  return false;
}

function renderBrand(value: object, brand: Brand, state: InspectState): string {
  const entries = list<string>();
  switch (brand) {
    case "Function":
      return withProperties(describeFunction(value), value, brand, state);
    case "Error":
    case "DOMException":
      return withProperties(describeError(value, state.path.length === 1), value, brand, state);
    case "Date": {
      const time = dateTime(value);
      return withProperties(time === time ? dateToIso(value) : "Invalid Date", value, brand, state);
    }
    case "RegExp":
      return withProperties(`/${regExpSource(value)}/${regExpFlagsOf(value)}`, value, brand, state);
    case "Number":
    case "String":
    case "Boolean":
    case "BigInt":
    case "Symbol": {
      const boxed = renderPrimitive(unbox[brand](value), state.room);
      return withProperties(`[${brand}: ${boxed}]`, value, brand, state);
    }
    default:
  }
  const size = sizeOf(value, brand);
  const prefix = describePrototype(value, brand, size);
  if (state.path.length > state.maxDepth) {
    return brand === "Array" ? "[Array]" : `[${prefix === "" ? "Object" : prefix}]`;
  }
  state.innerDepth = state.path.length;
  if (brand === "Map") renderMap(value as Map<unknown, unknown>, entries, state);
  else if (brand === "Set") renderSet(value as Set<unknown>, entries, state);
  else if (brand === "Array" || brand === "TypedArray")
    renderItems(value as List<unknown>, size, entries, state);
  else if (brand === "WeakMap" || brand === "WeakSet") append(entries, "<items unknown>");
  else if (brand === "ArrayBuffer") append(entries, renderBytes(value as ArrayBuffer, size));
  if (brand === "ArrayBuffer" || brand === "SharedArrayBuffer" || brand === "DataView") {
    append(entries, `[byteLength]: ${size}`);
  }
  renderProperties(value, brand, entries, state);
  const isList = brand === "Array" || brand === "TypedArray";
  return layOut(prefix, isList ? "[" : "{", entries, isList ? "]" : "}", placeOf(state));
}

function sizeOf(value: object, brand: Brand): number {
  switch (brand) {
    case "Map":
      return mapSize(value);
    case "Set":
      return setSize(value);
    case "Array":
      return (value as List<unknown>).length;
    case "TypedArray":
      return typedArrayLength(value);
    case "ArrayBuffer":
      return arrayBufferByteLength(value);
    case "DataView":
      return dataViewByteLength(value);
    default:
      return 0;
  }
}

function withProperties(head: string, value: object, brand: Brand, state: InspectState): string {
  state.room -= head.length;
  const entries = list<string>();
  if (state.path.length <= state.maxDepth) renderProperties(value, brand, entries, state);
  return entries.length === 0 ? head : layOut(head, "{", entries, "}", placeOf(state));
}

function placeOf(state: InspectState): LayoutPlace {
  return { depth: state.path.length, innerDepth: state.innerDepth };
}

function more(count: number, noun: string): string {
  return `… ${count} more ${noun}${count === 1 ? "" : "s"}`;
}

function renderItems(value: List<unknown>, size: number, entries: List<string>, state: InspectState): void {
  const isTyped = typedArrayKind(value) !== undefined;
  let index = 0;
  while (index < size && entries.length < MAX_ENTRIES && state.room > 0) {
    if (isTyped) {
      append(entries, render(value[index], state));
      index += 1;
      continue;
    }
    const found = getOwnPropertyDescriptor(value, index);
    if (found !== undefined) {
      append(entries, renderDescribed(found, state));
      index += 1;
      continue;
    }
    const start = index;
    const end = min(size, start + 100_000);
    while (index < end && !hasOwn(value, index)) index += 1;
    if (index === end && end < size) index = size;
    const holes = index - start;
    append(entries, `<${holes} empty item${holes === 1 ? "" : "s"}>`);
    state.room -= 16;
  }
  if (index < size) append(entries, more(size - index, "item"));
}

function renderBytes(buffer: ArrayBuffer, size: number): string {
  const bytes = new Uint8Array(buffer);
  let text = "";
  for (let i = 0; i < size && i < MAX_BYTES; i += 1) {
    const byte = bytes[i] as number;
    text += `${i === 0 ? "" : " "}${byte < 16 ? "0" : ""}${numberToString(byte, 16)}`;
  }
  return `[Uint8Contents]: <${text}${size > MAX_BYTES ? ` ${more(size - MAX_BYTES, "byte")}` : ""}>`;
}

function renderMap(value: Map<unknown, unknown>, entries: List<string>, state: InspectState): void {
  const cursor = mapEntries(value);
  let shown = 0;
  for (; shown < MAX_ENTRIES && state.room > 0; shown += 1) {
    const step = mapNext(cursor);
    if (step.done === true) return;
    append(entries, `${render(step.value[0], state)} => ${render(step.value[1], state)}`);
    state.room -= 6;
  }
  if (shown < mapSize(value)) append(entries, more(mapSize(value) - shown, "item"));
}

function renderSet(value: Set<unknown>, entries: List<string>, state: InspectState): void {
  const cursor = setValues(value);
  let shown = 0;
  for (; shown < MAX_ENTRIES && state.room > 0; shown += 1) {
    const step = setNext(cursor);
    if (step.done === true) return;
    append(entries, render(step.value, state));
    state.room -= 2;
  }
  if (shown < setSize(value)) append(entries, more(setSize(value) - shown, "item"));
}

function renderProperties(value: object, brand: Brand, entries: List<string>, state: InspectState): void {
  if (entries.length > 0 && sizeOf(value, brand) > LISTED_KEYS) return;
  const all = ownKeys(value) as List<string | symbol>;
  const start = skipIndexKeys(value, brand, all);
  const limit = entries.length + MAX_ENTRIES;
  let left = 0;
  for (let i = start; i < all.length; i += 1) {
    const key = at(all, i);
    if (brand === "Error" && (key === "message" || key === "stack" || key === "name")) continue;
    const found = getOwnPropertyDescriptor(value, key);
    if (found === undefined) continue;
    const isCause = brand === "Error" && (key === "cause" || key === "errors");
    if (!found.enumerable && !isCause) continue;
    if (entries.length >= limit || state.room <= 0) {
      left = max(1, all.length - i);
      break;
    }
    const name = isCause ? `[${key as string}]` : renderKey(key);
    state.room -= name.length + 4;
    append(entries, `${name}: ${renderDescribed(found, state)}`);
  }
  if (left > 0) append(entries, more(left, "key"));
}

/** Integer keys come first in property order. Those of arrays, typed arrays and strings were already shown as items. */
function skipIndexKeys(value: object, brand: Brand, all: List<string | symbol>): number {
  if (brand === "TypedArray") return typedArrayLength(value);
  if (brand === "String") return unbox.String(value).length;
  if (brand !== "Array") return 0;
  let low = 0;
  let high = min(all.length, (value as List<unknown>).length);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isIndex(at(all, middle))) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isIndex(key: string | symbol): boolean {
  if (typeof key !== "string") return false;
  const index = +key >>> 0;
  return index !== 4_294_967_295 && numberToString(index) === key;
}

function renderDescribed(found: PropertyDescriptor, state: InspectState): string {
  if (hasOwn(found, "value")) return render(found.value, state);
  state.room -= 16;
  if (found.get === undefined) return "[Setter]";
  return found.set === undefined ? "[Getter]" : "[Getter/Setter]";
}
