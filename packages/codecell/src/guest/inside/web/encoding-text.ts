/**
 * Encoding text: converts bytes to text and back, with the engine's native base64 and URI functions. Runs inside the
 * guest.
 *
 * - Base64 connects a byte array with a text of one character per byte. `escape` and `decodeURIComponent` turn such a
 *   text into the text that its bytes encode in UTF-8. Both are native and linear; chunks keep the extra memory small.
 */
import {
  append,
  arrayJoin,
  atob,
  btoa,
  fromCharCode,
  list,
  min,
  primordial,
  regExpExec,
  stringCharCodeAt,
  stringCodePointAt,
  stringSlice,
  stringToWellFormed,
  typedArrayBuffer,
  typedArrayByteOffset,
  typedArrayLength,
  typedArraySet,
  uncurryThis,
} from "../primordials.ts";

const { TypeError, Uint8Array } = primordial;
const CHUNK = 32_768;
const NOT_ASCII = /[^\0-\x7f]/;
const nativeBase64 = Uint8Array as unknown as {
  fromBase64(text: string): Uint8Array;
  readonly prototype: { toBase64(): string };
};
const nativeFromBase64 = uncurryThis(nativeBase64.fromBase64);
const toBase64 = uncurryThis(nativeBase64.prototype.toBase64);
const [encodePercent, decodePercent, escapeBytes, unescapeBytes] = [
  encodeURIComponent,
  decodeURIComponent,
  (globalThis as unknown as { escape: (text: string) => string }).escape,
  (globalThis as unknown as { unescape: (text: string) => string }).unescape,
];

export function bytesToBase64(bytes: Uint8Array): string {
  return toBase64(bytes);
}

export function base64ToBytes(text: string): Uint8Array {
  return nativeFromBase64(Uint8Array, text);
}

/** The bytes as a text of one character per byte. */
function binaryText(bytes: Uint8Array, start: number, end: number): string {
  return atob(
    toBase64(new Uint8Array(typedArrayBuffer(bytes), typedArrayByteOffset(bytes) + start, end - start)),
  );
}

/** All bytes as a text of one character per byte. */
export function latin1Text(bytes: Uint8Array): string {
  const size = typedArrayLength(bytes);
  const parts = list<string>();
  for (let start = 0; start < size; start += CHUNK) {
    append(parts, binaryText(bytes, start, min(start + CHUNK, size)));
  }
  return arrayJoin(parts, "");
}

/** The bytes of a text whose characters are at most U+00FF. */
export function latin1Bytes(text: string): Uint8Array {
  return nativeFromBase64(Uint8Array, btoa(text));
}

/** The text must be well formed. */
export function encodeUtf8(text: string): Uint8Array {
  if (text.length <= CHUNK) return encodeChunk(text);
  const parts = list<Uint8Array>();
  const sizes = list<number>();
  let total = 0;
  for (let start = 0; start < text.length;) {
    let end = min(start + CHUNK, text.length);
    if (end < text.length && isHighSurrogate(stringCharCodeAt(text, end - 1))) end -= 1;
    const part = encodeChunk(stringSlice(text, start, end));
    append(parts, part);
    append(sizes, typedArrayLength(part));
    total += typedArrayLength(part);
    start = end;
  }
  const bytes = new Uint8Array(total);
  let offset = 0;
  for (let i = 0; i < parts.length; i += 1) {
    typedArraySet(bytes, parts[i] as Uint8Array, offset);
    offset += sizes[i] as number;
  }
  return bytes;
}

function encodeChunk(text: string): Uint8Array {
  if (text === "") return new Uint8Array(0);
  const spelled = regExpExec(NOT_ASCII, text) === null ? text : unescapeBytes(encodePercent(text));
  return nativeFromBase64(Uint8Array, btoa(spelled));
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

export function encodeUtf8Into(
  text: string,
  target: Uint8Array,
  room: number,
): { read: number; written: number } {
  let read = 0;
  let written = 0;
  while (read < text.length) {
    const point = stringCodePointAt(text, read);
    const size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (written + size > room) break;
    if (size === 1) target[written] = point;
    else {
      const lead = size === 2 ? 0xc0 : size === 3 ? 0xe0 : 0xf0;
      target[written] = lead | (point >> (6 * (size - 1)));
      for (let i = 1; i < size; i += 1) {
        target[written + i] = 0x80 | ((point >> (6 * (size - 1 - i))) & 0x3f);
      }
    }
    written += size;
    read += size === 4 ? 2 : 1;
  }
  return { read, written };
}

/** Decodes UTF-8 with the standard's replacement rules; keeps a cut sequence between calls. */
export class Utf8Decoder {
  readonly #fatal: boolean;
  #point = 0;
  #needed = 0;
  #lower = 0x80;
  #upper = 0xbf;

  constructor(fatal: boolean) {
    this.#fatal = fatal;
  }

  decode(bytes: Uint8Array, length: number, isStream: boolean): string {
    const parts = list<string>();
    let index = 0;
    while (index < length) {
      let end = min(index + CHUNK, length);
      if (this.#needed === 0) {
        end = wholeSequences(bytes, index, end);
        const text = end > index ? decodeValid(binaryText(bytes, index, end)) : undefined;
        if (text !== undefined) {
          append(parts, text);
          index = end;
          continue;
        }
        end = min(index + CHUNK, length);
      }
      append(parts, this.#decodeSlowly(bytes, index, end));
      index = end;
    }
    if (!isStream && this.#needed > 0) {
      this.#needed = 0;
      append(parts, this.#malformed());
    }
    return arrayJoin(parts, "");
  }

  #malformed(): string {
    this.#lower = 0x80;
    this.#upper = 0xbf;
    if (this.#fatal) {
      this.#needed = 0;
      throw new TypeError("Cannot decode: the bytes are not valid utf-8");
    }
    return "\uFFFD";
  }

  #decodeSlowly(bytes: Uint8Array, start: number, end: number): string {
    let text = "";
    for (let i = start; i < end; i += 1) {
      const byte = bytes[i] as number;
      if (this.#needed > 0) {
        if (byte < this.#lower || byte > this.#upper) {
          this.#needed = 0;
          text += this.#malformed();
          i -= 1;
          continue;
        }
        this.#lower = 0x80;
        this.#upper = 0xbf;
        this.#point = (this.#point << 6) | (byte & 0x3f);
        this.#needed -= 1;
        if (this.#needed === 0) text += fromCodePoint(this.#point);
      } else if (byte < 0x80) text += fromCharCode(byte);
      else if (byte >= 0xc2 && byte <= 0xf4) this.#begin(byte);
      else text += this.#malformed();
    }
    return text;
  }

  #begin(byte: number): void {
    if (byte < 0xe0) {
      this.#needed = 1;
      this.#point = byte & 0x1f;
    } else if (byte < 0xf0) {
      this.#needed = 2;
      this.#point = byte & 0xf;
      if (byte === 0xe0) this.#lower = 0xa0;
      if (byte === 0xed) this.#upper = 0x9f;
    } else {
      this.#needed = 3;
      this.#point = byte & 0x7;
      if (byte === 0xf0) this.#lower = 0x90;
      if (byte === 0xf4) this.#upper = 0x8f;
    }
  }
}

function fromCodePoint(point: number): string {
  if (point < 0x10000) return fromCharCode(point);
  const rest = point - 0x10000;
  return fromCharCode(0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
}

/** Undefined if the bytes are not valid UTF-8. */
function decodeValid(binary: string): string | undefined {
  if (regExpExec(NOT_ASCII, binary) === null) return binary;
  try {
    return decodePercent(escapeBytes(binary));
  } catch {
    return undefined;
  }
}

/** An end that does not cut a sequence, found by lead bytes. */
function wholeSequences(bytes: Uint8Array, start: number, end: number): number {
  for (let back = 1; back <= 3 && end - back >= start; back += 1) {
    const byte = bytes[end - back] as number;
    if (byte < 0x80) return end;
    if (byte < 0xc0) continue;
    const size = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    return size > back ? end - back : end;
  }
  return end;
}

export type Utf16State = { pending: string; odd: number };

export function decodeUtf16(
  bytes: Uint8Array,
  length: number,
  state: Utf16State,
  isStream: boolean,
  isFatal: boolean,
): string {
  const parts = list<string>();
  append(parts, state.pending);
  let index = 0;
  if (state.odd >= 0 && length > 0) {
    append(parts, fromCharCode(state.odd | ((bytes[0] as number) << 8)));
    state.odd = -1;
    index = 1;
  }
  for (; index + 1 < length; index += 2) {
    append(parts, fromCharCode((bytes[index] as number) | ((bytes[index + 1] as number) << 8)));
  }
  if (index < length) state.odd = bytes[index] as number;
  let text = arrayJoin(parts, "");
  state.pending = "";
  if (isStream && text !== "" && isHighSurrogate(stringCharCodeAt(text, text.length - 1))) {
    state.pending = stringSlice(text, text.length - 1);
    text = stringSlice(text, 0, text.length - 1);
  }
  let whole = stringToWellFormed(text);
  if (!isStream && state.odd >= 0) {
    state.odd = -1;
    // A cut unit after a lone high surrogate is one error, not two.
    if (text === "" || !isHighSurrogate(stringCharCodeAt(text, text.length - 1))) text += "\uDC00";
    whole = stringToWellFormed(text);
  }
  if (isFatal && whole !== text) throw new TypeError("Cannot decode: the bytes are not valid utf-16le");
  return whole;
}

/** The characters of windows-1252 for the bytes 0x80 to 0x9f; all other bytes equal their character. */
export const WINDOWS_1252 =
  "\u20AC\x81\u201A\u0192\u201E\u2026\u2020\u2021\u02C6\u2030\u0160\u2039\u0152\x8D\u017D\x8F" +
  "\x90\u2018\u2019\u201C\u201D\u2022\u2013\u2014\u02DC\u2122\u0161\u203A\u0153\x9D\u017E\u0178";
const C1 = /[\x80-\x9f]/g;

/** The bytes as characters; those from 0x80 to 0x9f are taken from `high`. */
export function asciiText(bytes: Uint8Array, length: number, high: string): string {
  const parts = list<string>();
  for (let start = 0; start < length; start += CHUNK) {
    const binary = binaryText(bytes, start, min(start + CHUNK, length));
    let from = 0;
    C1.lastIndex = 0;
    for (let found = regExpExec(C1, binary); found !== null; found = regExpExec(C1, binary)) {
      append(parts, stringSlice(binary, from, found.index));
      append(parts, high[stringCharCodeAt(binary, found.index) - 0x80] as string);
      from = found.index + 1;
    }
    append(parts, stringSlice(binary, from));
  }
  return arrayJoin(parts, "");
}
