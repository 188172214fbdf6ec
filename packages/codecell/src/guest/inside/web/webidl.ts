/**
 * WebIDL: the conversions of guest arguments that the web classes share. Runs inside the guest.
 *
 * - A conversion runs guest code where the standard says so (toString, iterators, getters). That code may throw its own
 *   errors.
 */
import { brandOf } from "../brands.ts";
import {
  append,
  arrayBufferByteLength,
  captureGetter,
  dataViewBuffer,
  dataViewByteLength,
  dataViewByteOffset,
  getOwnPropertyDescriptor,
  iterator,
  type List,
  list,
  ownKeys,
  primordial,
  stringToWellFormed,
  typedArrayBuffer,
  typedArrayByteLength,
  typedArrayByteOffset,
  typedArrayKind,
  typedArraySet,
} from "../primordials.ts";

const { String, TypeError, Uint8Array } = primordial;
const sharedByteLength = captureGetter<number>(SharedArrayBuffer.prototype, "byteLength");

export function toText(value: unknown): string {
  if (typeof value === "symbol") throw new TypeError("Cannot convert a Symbol value to a string");
  return String(value);
}

/** USVString: lone surrogates become U+FFFD. */
export function toWellFormedText(value: unknown): string {
  return stringToWellFormed(toText(value));
}

export type Bytes = { readonly array: Uint8Array; readonly length: number };

function bytesAt(buffer: ArrayBuffer, offset: number, length: number): Bytes {
  return { array: new Uint8Array(buffer, offset, length), length };
}

/** Whether the value is an ArrayBuffer or a view of one. */
export function isBytes(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  if (typedArrayKind(value) !== undefined) return true;
  const brand = brandOf(value);
  return brand === "ArrayBuffer" || brand === "SharedArrayBuffer" || brand === "DataView";
}

/** A copy of the bytes that nobody else can change. */
export function copyBytes({ array, length }: Bytes): Uint8Array {
  const copy = new Uint8Array(length);
  typedArraySet(copy, array);
  return copy;
}

/** The bytes of an ArrayBuffer or a view, not copied. */
export function toBytes(source: unknown): Bytes {
  if (typeof source === "object" && source !== null) {
    if (typedArrayKind(source) !== undefined) {
      return bytesAt(typedArrayBuffer(source), typedArrayByteOffset(source), typedArrayByteLength(source));
    }
    switch (brandOf(source)) {
      case "ArrayBuffer":
        return bytesAt(source as ArrayBuffer, 0, arrayBufferByteLength(source));
      case "SharedArrayBuffer":
        return bytesAt(source as ArrayBuffer, 0, sharedByteLength(source));
      case "DataView":
        return bytesAt(dataViewBuffer(source), dataViewByteOffset(source), dataViewByteLength(source));
      default:
    }
  }
  throw new TypeError("Cannot read bytes: the value is not an ArrayBuffer or a view of one");
}

export type Pair = { readonly name: string; value: string };

/** The pairs of an iterable of pairs, or of a record; `convert` converts each part. */
export function toPairs(init: object, what: string, convert: (value: unknown) => string): List<Pair> {
  const pairs = list<Pair>();
  const method = (init as { readonly [iterator]?: unknown })[iterator];
  if (method !== undefined && method !== null) {
    for (const item of init as Iterable<unknown>) append(pairs, toPair(item, what, convert));
    return pairs;
  }
  const keys = ownKeys(init) as List<string | symbol>;
  for (let i = 0; i < keys.length; i += 1) {
    const key = keys[i] as string;
    if (getOwnPropertyDescriptor(init, key)?.enumerable !== true) continue;
    const name = convert(key);
    append(pairs, { name, value: convert((init as { readonly [key: string]: unknown })[key]) });
  }
  return pairs;
}

function toPair(item: unknown, what: string, convert: (value: unknown) => string): Pair {
  const parts = list<string>();
  if ((typeof item === "object" && item !== null) || typeof item === "function") {
    for (const part of item as Iterable<unknown>) append(parts, convert(part));
  }
  if (parts.length !== 2) throw new TypeError(`Cannot read ${what}: each item must be a [name, value] pair`);
  return { name: parts[0] as string, value: parts[1] as string };
}
