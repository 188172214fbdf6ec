/**
 * Buffer: a subset of the Buffer of Node.js, which is a Uint8Array with encodings and numbers. Runs inside the guest.
 *
 * - Every buffer has memory of its own: there is no pool, and `allocUnsafe` gives zeros.
 */
import {
  append,
  at,
  defineConstant,
  defineHidden,
  defineVisible,
  isArray,
  list,
  max,
  min,
  ownKeys,
  primordial,
  stringIndexOf,
  stringLastIndexOf,
  stringSlice,
  stringToWellFormed,
  type List,
  typedArrayBuffer,
  typedArrayByteLength,
  typedArrayByteOffset,
  typedArrayKind,
  typedArrayLength,
  typedArraySet,
} from "../../primordials.ts";
import { brandOf } from "../../brands.ts";
import { encodeUtf8Into, latin1Text } from "../../web/encoding-text.ts";
import { toBytes, isBytes } from "../../web/webidl.ts";
import { decodeBytes, type Encoding, encodeText, encodingOf, toEncoding, viewOf } from "./encodings.ts";
import { clampIndex, numberMethods } from "./numbers.ts";

const { Number, Object, RangeError, TypeError, Uint8Array } = primordial;

let isBuffer: (value: unknown) => value is Buffer;

export class Buffer extends Uint8Array {
  // oxlint-disable-next-line no-unused-private-class-members -- `in` asks for it
  readonly #isBuffer = true;

  static {
    isBuffer = (value): value is Buffer => typeof value === "object" && value !== null && #isBuffer in value;
  }

  constructor(input: unknown, offset: unknown = undefined, length: unknown = undefined) {
    if (typeof input === "string") {
      throw new TypeError("Cannot make a Buffer of a text with new, use Buffer.from(text, encoding)");
    }
    super(input as ArrayBuffer, offset as number, length as number);
  }
}

/** The same bytes as a Buffer. */
function asBuffer(bytes: Uint8Array): Buffer {
  return new Buffer(typedArrayBuffer(bytes), typedArrayByteOffset(bytes), typedArrayLength(bytes));
}

/** For a text, an encoding is read; anything else than Uint8Array and its kin is refused. */
function assertBytes(value: unknown, what: string): asserts value is Uint8Array {
  if (typedArrayKind(value) !== "Uint8Array") {
    throw new TypeError(`Cannot use ${what}: it is not a Buffer or a Uint8Array, use Buffer.from(value)`);
  }
}

function toCount(size: unknown): number {
  if (typeof size !== "number") throw new TypeError("Cannot make a Buffer: the size is not a number");
  if (!(size >= 0 && size <= 2 ** 53 - 1))
    throw new RangeError("Cannot make a Buffer: the size is out of range");
  return size;
}

function fromAny(value: unknown, second: unknown, third: unknown): Buffer {
  if (typeof value === "string") return asBuffer(encodeText(value, toEncoding(second)));
  if (typeof value !== "object" || value === null) throw unusable(value);
  if (typedArrayKind(value) !== undefined) {
    const made = new Buffer(typedArrayLength(value));
    typedArraySet(made, value as Uint8Array);
    return made;
  }
  const brand = brandOf(value);
  if (brand === "ArrayBuffer" || brand === "SharedArrayBuffer") {
    const { length: size } = toBytes(value);
    const offset = toMemoryIndex(second, 0);
    const length = third === undefined ? size - offset : max(toMemoryIndex(third, 0), 0);
    if (offset < 0 || offset > size)
      throw new RangeError("Cannot make a Buffer: the offset is outside the memory");
    if (length > size - offset)
      throw new RangeError("Cannot make a Buffer: the length is outside the memory");
    return new Buffer(value, offset, length);
  }
  const primitive = (value as { valueOf?: () => unknown }).valueOf?.();
  if (primitive !== null && primitive !== undefined && primitive !== value) {
    if (typeof primitive === "string" || typeof primitive === "object")
      return fromAny(primitive, second, third);
  }
  const listed = fromList(value);
  if (listed === undefined) throw unusable(value);
  return listed;
}

function toMemoryIndex(given: unknown, otherwise: number): number {
  if (given === undefined) return otherwise;
  const value = Number(given);
  return value !== value ? otherwise : value - (value % 1);
}

function unusable(value: unknown): TypeError {
  const kind = value === null ? "null" : `of type ${typeof value}`;
  return new TypeError(
    `Cannot make a Buffer: the value is ${kind}, expected a text, bytes or a list of numbers`,
  );
}

/** Of a list, of something with a length, or of what `toJSON` of a buffer gave. */
function fromList(value: object): Buffer | undefined {
  const given = value as { readonly length?: unknown; readonly type?: unknown; readonly data?: unknown };
  const { length } = given;
  if (length !== undefined || isArray(value)) {
    const count = typeof length === "number" && length > 0 ? length - (length % 1) : 0;
    const made = new Buffer(count);
    for (let i = 0; i < count; i += 1) made[i] = Number((value as { readonly [index: number]: unknown })[i]);
    return made;
  }
  const { type, data } = given;
  return type === "Buffer" && isArray(data) ? fromList(data) : undefined;
}

const statics = {
  from(value: unknown, encodingOrOffset: unknown = undefined, length: unknown = undefined): Buffer {
    return fromAny(value, encodingOrOffset, length);
  },
  alloc(size: unknown, fill: unknown = undefined, encoding: unknown = undefined): Buffer {
    const made = new Buffer(toCount(size));
    if (fill !== undefined && fill !== 0 && typedArrayLength(made) > 0)
      fillWith(made, fill, 0, undefined, encoding);
    return made;
  },
  allocUnsafe(size: unknown): Buffer {
    return new Buffer(toCount(size));
  },
  allocUnsafeSlow(size: unknown): Buffer {
    return new Buffer(toCount(size));
  },
  concat(given: unknown, totalLength: unknown = undefined): Buffer {
    if (!isArray(given)) throw new TypeError("Cannot join buffers: the first argument is not a list of them");
    const parts = list<Uint8Array>();
    let total = 0;
    for (let i = 0; i < given.length; i += 1) {
      const one: unknown = given[i];
      assertBytes(one, `item ${i} of the list`);
      append(parts, one);
      total += typedArrayLength(one);
    }
    const made = new Buffer(totalLength === undefined ? total : toCount(totalLength));
    const room = typedArrayLength(made);
    let offset = 0;
    for (let i = 0; i < parts.length && offset < room; i += 1) {
      const one = at(parts, i);
      const size = min(typedArrayLength(one), room - offset);
      typedArraySet(made, viewOf(one, 0, size), offset);
      offset += size;
    }
    return made;
  },
  byteLength(value: unknown, encoding: unknown = undefined): number {
    if (typeof value === "string") return byteLengthOf(value, encodingOf(encoding) ?? "utf8");
    if (!isBytes(value)) throw new TypeError("Cannot measure: the value is neither a text nor bytes");
    return typedArrayKind(value) === undefined ? toBytes(value).length : typedArrayByteLength(value);
  },
  isBuffer(value: unknown): boolean {
    return isBuffer(value);
  },
  isEncoding(encoding: unknown): boolean {
    return encodingOf(encoding) !== undefined;
  },
  compare(one: unknown, other: unknown): number {
    assertBytes(one, "the first argument");
    assertBytes(other, "the second argument");
    return compareBytes(one, other);
  },
};

function byteLengthOf(text: string, encoding: Encoding): number {
  switch (encoding) {
    case "latin1":
    case "ascii":
      return text.length;
    case "utf16le":
      return text.length * 2;
    case "hex":
      return text.length >> 1;
    case "base64":
    case "base64url": {
      // As in Node.js, from the length alone.
      let digits = text.length;
      while (digits > 0 && digits > text.length - 2 && text[digits - 1] === "=") digits -= 1;
      return (digits * 3) >>> 2;
    }
    case "utf8":
      return typedArrayLength(encodeText(text, encoding));
    default:
      return encoding satisfies never;
  }
}

function compareBytes(one: Uint8Array, other: Uint8Array): number {
  const size = typedArrayLength(one);
  const otherSize = typedArrayLength(other);
  const shared = min(size, otherSize);
  for (let i = 0; i < shared; i += 1) {
    const difference = (one[i] as number) - (other[i] as number);
    if (difference !== 0) return difference < 0 ? -1 : 1;
  }
  return size === otherSize ? 0 : size < otherSize ? -1 : 1;
}

/** Like `fill`: a value that is shorter than its room is repeated. */
function fillWith(
  target: Uint8Array,
  value: unknown,
  from: number,
  to: number | undefined,
  encoding: unknown,
): void {
  const end = to ?? typedArrayLength(target);
  if (typeof value !== "string" && typedArrayKind(value) !== "Uint8Array") {
    const byte = Number(value) & 255;
    for (let i = from; i < end; i += 1) target[i] = byte;
    return;
  }
  const pattern = typeof value === "string" ? encodeText(value, toEncoding(encoding)) : (value as Uint8Array);
  const size = typedArrayLength(pattern);
  if (size === 0 && value !== "") {
    throw new TypeError("Cannot fill the buffer: the value gives no bytes in this encoding");
  }
  for (let i = from; i < end; i += 1) target[i] = size === 0 ? 0 : (pattern[(i - from) % size] as number);
}

/** Where to look, in bytes. */
function find(bytes: Uint8Array, value: unknown, start: unknown, encoding: unknown, isLast: boolean): number {
  const size = typedArrayLength(bytes);
  const label = typeof start === "string" ? start : encoding;
  let offset = typeof start === "string" ? NaN : start === undefined ? NaN : Number(start);
  const wanted = typeof value === "string" ? toEncoding(label) : "utf8";
  let needle: Uint8Array;
  if (typeof value === "string") needle = encodeText(value, wanted);
  else if (typeof value === "number") {
    needle = new Uint8Array(1);
    needle[0] = value;
  } else {
    assertBytes(value, "the value to look for");
    needle = value;
  }
  if (offset !== offset) offset = isLast ? size : 0;
  offset = clampIndex(offset, 0, -size - 1, size);
  const length = typedArrayLength(needle);
  if (offset < 0) offset += size;
  if (offset < 0) {
    if (isLast && length > 0) return -1;
    offset = 0;
  }
  if (length === 0) return offset;
  const text = latin1Text(bytes);
  const part = latin1Text(needle);
  const step = wanted === "utf16le" ? 2 : 1;
  if (!isLast) {
    for (
      let found = stringIndexOf(text, part, offset);
      found >= 0;
      found = stringIndexOf(text, part, found + 1)
    ) {
      if (found % step === 0) return found;
    }
    return -1;
  }
  for (let from = min(offset, size - length); from >= 0;) {
    const found = stringLastIndexOf(stringSlice(text, 0, from + length), part);
    if (found < 0 || found % step === 0) return found;
    from = found - 1;
  }
  return -1;
}

function swapBytes(bytes: Uint8Array, size: number): void {
  const total = typedArrayLength(bytes);
  if (total % size !== 0) {
    throw new RangeError(`Cannot swap bytes: the size of the buffer must be a multiple of ${size * 8} bits`);
  }
  for (let from = 0; from < total; from += size) {
    for (let i = 0; i < size / 2; i += 1) {
      const kept = bytes[from + i] as number;
      bytes[from + i] = bytes[from + size - 1 - i] as number;
      bytes[from + size - 1 - i] = kept;
    }
  }
}

/** A position for `slice`: a negative one counts from the end. */
function toPosition(given: unknown, otherwise: number, size: number): number {
  const value = clampIndex(given, otherwise, -size, size);
  return value < 0 ? value + size : value;
}

function toIndex(given: unknown, otherwise: number, size: number, what: string): number {
  if (given === undefined) return otherwise;
  if (typeof given !== "number") throw new TypeError(`Cannot use ${what}: it is not a number`);
  if (!(given >= 0 && given <= size))
    throw new RangeError(`Cannot use ${what}: it must be from 0 to ${size}`);
  return given - (given % 1);
}

type BufferMethod = (bytes: Uint8Array, ...args: unknown[]) => unknown;

/** Each gets the buffer first. */
const methods: { readonly [name: string]: BufferMethod } = {
  toString: (bytes: Uint8Array, encoding: unknown, start: unknown, end: unknown) => {
    const size = typedArrayLength(bytes);
    const from = clampIndex(start, 0, 0, size);
    const to = clampIndex(end, size, 0, size);
    return to <= from ? "" : decodeBytes(viewOf(bytes, from, to), toEncoding(encoding));
  },
  write: (bytes, text, first, second, third) => {
    if (typeof text !== "string") throw new TypeError("Cannot write: the first argument is not a text");
    const size = typedArrayLength(bytes);
    let offset = 0;
    let length = size;
    let encoding = third;
    if (typeof first === "string") encoding = first;
    else {
      offset = toIndex(first, 0, size, "the offset");
      length = size - offset;
      if (typeof second === "string") encoding = second;
      else length = min(toIndex(second, length, size, "the length"), length);
    }
    const kind = toEncoding(encoding);
    const target = viewOf(bytes, offset, offset + length);
    if (kind === "utf8") return encodeUtf8Into(stringToWellFormed(text), target, length).written;
    const source = encodeText(text, kind);
    const room = kind === "utf16le" ? length - (length % 2) : length;
    const written = min(typedArrayLength(source), room);
    typedArraySet(target, viewOf(source, 0, written));
    return written;
  },
  slice: (bytes, start, end) => {
    const size = typedArrayLength(bytes);
    const from = toPosition(start, 0, size);
    return asBuffer(viewOf(bytes, from, max(from, toPosition(end, size, size))));
  },
  equals: (bytes, other) => {
    assertBytes(other, "the other buffer");
    return typedArrayLength(bytes) === typedArrayLength(other) && compareBytes(bytes, other) === 0;
  },
  compare: (bytes, other, targetStart, targetEnd, sourceStart, sourceEnd) => {
    assertBytes(other, "the other buffer");
    const size = typedArrayLength(bytes);
    const otherSize = typedArrayLength(other);
    const from = toIndex(sourceStart, 0, Infinity, "sourceStart");
    const to = toIndex(sourceEnd, size, size, "sourceEnd");
    const otherFrom = toIndex(targetStart, 0, Infinity, "targetStart");
    const otherTo = toIndex(targetEnd, otherSize, otherSize, "targetEnd");
    if (from >= to) return otherFrom >= otherTo ? 0 : -1;
    if (otherFrom >= otherTo) return 1;
    return compareBytes(viewOf(bytes, from, to), viewOf(other, otherFrom, otherTo));
  },
  indexOf: (bytes, value, start, encoding) => find(bytes, value, start, encoding, false),
  lastIndexOf: (bytes, value, start, encoding) => find(bytes, value, start, encoding, true),
  includes: (bytes, value, start, encoding) => find(bytes, value, start, encoding, false) >= 0,
  fill: (bytes, value, first, second, third) => {
    const size = typedArrayLength(bytes);
    const isText = typeof value === "string";
    const from = isText && typeof first === "string" ? 0 : toIndex(first, 0, size, "the offset");
    const to = isText && typeof second === "string" ? size : toIndex(second, size, size, "the end");
    const encoding = typeof first === "string" ? first : typeof second === "string" ? second : third;
    if (from < to) fillWith(bytes, value, from, to, encoding);
    return bytes;
  },
  copy: (bytes, target, targetStart, sourceStart, sourceEnd) => {
    assertBytes(target, "the target");
    const size = typedArrayLength(bytes);
    const into = clampIndex(targetStart, 0, -1, Infinity);
    const from = clampIndex(sourceStart, 0, -1, Infinity);
    const to = clampIndex(sourceEnd, size, -1, size);
    if (into < 0 || from < 0 || to < 0 || from > size)
      throw new RangeError("Cannot copy: a position is out of range");
    const room = typedArrayLength(target) - into;
    if (room <= 0 || from >= to) return 0;
    const count = min(to - from, room);
    typedArraySet(target, viewOf(bytes, from, from + count), into);
    return count;
  },
  toJSON: (bytes) => {
    const data: number[] = [];
    for (let i = 0; i < typedArrayLength(bytes); i += 1) defineVisible(data, i, bytes[i]);
    const shown = new Object() as { [key: string]: unknown };
    defineVisible(shown, "type", "Buffer");
    defineVisible(shown, "data", data);
    return shown;
  },
  swap16: (bytes) => {
    swapBytes(bytes, 2);
    return bytes;
  },
  swap32: (bytes) => {
    swapBytes(bytes, 4);
    return bytes;
  },
  swap64: (bytes) => {
    swapBytes(bytes, 8);
    return bytes;
  },
};

function addMethod(name: string, length: number, run: BufferMethod): void {
  const { method } = {
    // No rest parameter: an absent argument would be looked for on Array.prototype.
    method(this: unknown, a: unknown, b: unknown, c: unknown, d: unknown, e: unknown): unknown {
      assertBytes(this, "the object");
      return run(this, a, b, c, d, e);
    },
  };
  defineConstant(method, "name", name, true);
  defineConstant(method, "length", length, true);
  defineHidden(Buffer.prototype, name, method);
}

const names = ownKeys(methods) as List<string>;
for (let i = 0; i < names.length; i += 1) {
  const name = at(names, i);
  const run = methods[name] as BufferMethod;
  addMethod(name, run.length - 1, run);
}
const numbers = numberMethods();
for (let i = 0; i < numbers.length; i += 1) {
  const { name, length, run } = at(numbers, i);
  addMethod(name, length, run);
}
defineHidden(Buffer.prototype, "toLocaleString", Buffer.prototype.toString);
const staticNames = ownKeys(statics) as List<keyof typeof statics>;
for (let i = 0; i < staticNames.length; i += 1) {
  const name = at(staticNames, i);
  defineHidden(Buffer, name, statics[name]);
}
defineConstant(Buffer, "name", "Buffer", true);
