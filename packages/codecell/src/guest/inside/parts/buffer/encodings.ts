/**
 * Encodings: the encodings of Buffer, as Node.js has them. Runs inside the guest.
 *
 * - As in Node.js, text that does not fit its encoding is not refused: characters outside the alphabet of base64 are
 *   skipped, hexadecimal digits end where the first other character is, latin1 keeps the low byte.
 */
import {
  append,
  apply,
  arrayJoin,
  fromCharCode,
  list,
  min,
  primordial,
  record,
  regExpExec,
  stringCharCodeAt,
  stringIndexOf,
  stringSlice,
  stringToLowerCase,
  stringToWellFormed,
  typedArrayBuffer,
  typedArrayByteOffset,
  typedArrayLength,
} from "../../primordials.ts";
import {
  base64ToBytes,
  bytesToBase64,
  encodeUtf8,
  latin1Bytes,
  latin1Text,
  Utf8Decoder,
} from "../../web/encoding-text.ts";
import { toText } from "../../web/webidl.ts";

const { TypeError, Uint8Array, Uint16Array } = primordial;
const CHUNK_UNITS = 4096;
const HEX = "0123456789abcdef";
const NOT_LATIN1 = /[^\0-\xff]/;
const NOT_ASCII = /[^\0-\x7f]/;
const BASE64 = /[A-Za-z0-9+/]+|[-_]/g;
const PADDING = /=+$/;

export type Encoding = "utf8" | "hex" | "base64" | "base64url" | "latin1" | "ascii" | "utf16le";

const names = record<Encoding>();
names["utf8"] = names["utf-8"] = "utf8";
names["hex"] = "hex";
names["base64"] = "base64";
names["base64url"] = "base64url";
names["latin1"] = names["binary"] = "latin1";
names["ascii"] = "ascii";
names["utf16le"] = names["utf-16le"] = names["ucs2"] = names["ucs-2"] = "utf16le";

/** Undefined for an encoding that Buffer does not have. */
export function encodingOf(given: unknown): Encoding | undefined {
  return typeof given === "string" ? names[stringToLowerCase(given)] : undefined;
}

/** utf8 where nothing is given. */
export function toEncoding(given: unknown): Encoding {
  if (given === undefined || given === null || given === "") return "utf8";
  const found = encodingOf(given);
  if (found !== undefined) return found;
  throw new TypeError(
    `Unknown encoding: ${stringSlice(toText(given), 0, 64)}, use utf8, base64, base64url, hex, latin1, ascii or utf16le`,
  );
}

export function encodeText(text: string, encoding: Encoding): Uint8Array {
  switch (encoding) {
    case "utf8":
      return encodeUtf8(stringToWellFormed(text));
    case "hex":
      return fromHex(text);
    case "base64":
    case "base64url":
      return fromBase64(text);
    case "latin1":
    case "ascii":
      return fromLatin1(text);
    case "utf16le":
      return fromUtf16(text);
    default:
      return encoding satisfies never;
  }
}

export function decodeBytes(bytes: Uint8Array, encoding: Encoding): string {
  switch (encoding) {
    case "utf8":
      return new Utf8Decoder(false).decode(bytes, typedArrayLength(bytes), false);
    case "hex":
      return toHex(bytes);
    case "base64":
      return bytesToBase64(bytes);
    case "base64url":
      return toBase64Url(bytes);
    case "latin1":
      return latin1Text(bytes);
    case "ascii":
      return toAscii(bytes);
    case "utf16le":
      return toUtf16(bytes);
    default:
      return encoding satisfies never;
  }
}

function digitOf(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  if (code >= 97 && code <= 102) return code - 87;
  return code >= 65 && code <= 70 ? code - 55 : -1;
}

function fromHex(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length >> 1);
  let count = 0;
  for (; count < text.length >> 1; count += 1) {
    const high = digitOf(stringCharCodeAt(text, count * 2));
    const low = digitOf(stringCharCodeAt(text, count * 2 + 1));
    if (high < 0 || low < 0) break;
    bytes[count] = high * 16 + low;
  }
  return new Uint8Array(typedArrayBuffer(bytes), 0, count);
}

function toHex(bytes: Uint8Array): string {
  const size = typedArrayLength(bytes);
  const parts = list<string>();
  for (let start = 0; start < size; start += CHUNK_UNITS) {
    let part = "";
    for (let i = start; i < min(start + CHUNK_UNITS, size); i += 1) {
      const byte = bytes[i] as number;
      part += `${HEX[byte >> 4] as string}${HEX[byte & 15] as string}`;
    }
    append(parts, part);
  }
  return arrayJoin(parts, "");
}

/** Both alphabets, up to the padding; what belongs to neither is skipped. */
function fromBase64(given: string): Uint8Array {
  const padding = stringIndexOf(given, "=");
  const text = padding < 0 ? given : stringSlice(given, 0, padding);
  const parts = list<string>();
  let size = 0;
  BASE64.lastIndex = 0;
  for (let found = regExpExec(BASE64, text); found !== null; found = regExpExec(BASE64, text)) {
    const run = found[0];
    append(parts, run === "-" ? "+" : run === "_" ? "/" : run);
    size += run.length;
  }
  const clean = arrayJoin(parts, "");
  // One digit alone is no byte.
  const whole = size % 4 === 1 ? stringSlice(clean, 0, size - 1) : clean;
  const rest = whole.length % 4;
  return base64ToBytes(rest === 0 ? whole : `${whole}${rest === 2 ? "==" : "="}`);
}

function toBase64Url(bytes: Uint8Array): string {
  const text = bytesToBase64(bytes);
  const padding = regExpExec(PADDING, stringSlice(text, text.length - 2));
  const digits = padding === null ? text : stringSlice(text, 0, text.length - padding[0].length);
  const parts = list<string>();
  let from = 0;
  for (let i = 0; i < digits.length; i += 1) {
    const code = stringCharCodeAt(digits, i);
    if (code !== 43 && code !== 47) continue;
    append(parts, stringSlice(digits, from, i));
    append(parts, code === 43 ? "-" : "_");
    from = i + 1;
  }
  append(parts, stringSlice(digits, from));
  return arrayJoin(parts, "");
}

function fromLatin1(text: string): Uint8Array {
  if (regExpExec(NOT_LATIN1, text) === null) return latin1Bytes(text);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = stringCharCodeAt(text, i);
  return bytes;
}

function toAscii(bytes: Uint8Array): string {
  const text = latin1Text(bytes);
  if (regExpExec(NOT_ASCII, text) === null) return text;
  const size = typedArrayLength(bytes);
  const low = new Uint8Array(size);
  for (let i = 0; i < size; i += 1) low[i] = (bytes[i] as number) & 0x7f;
  return latin1Text(low);
}

function fromUtf16(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length * 2);
  for (let i = 0; i < text.length; i += 1) {
    const unit = stringCharCodeAt(text, i);
    bytes[i * 2] = unit & 0xff;
    bytes[i * 2 + 1] = unit >> 8;
  }
  return bytes;
}

/** Lone surrogates stay, and a byte without its partner is left out. */
function toUtf16(bytes: Uint8Array): string {
  const count = typedArrayLength(bytes) >> 1;
  const parts = list<string>();
  for (let start = 0; start < count; start += CHUNK_UNITS) {
    const size = min(CHUNK_UNITS, count - start);
    const units = new Uint16Array(size);
    for (let i = 0; i < size; i += 1) {
      const at = (start + i) * 2;
      units[i] = (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
    }
    append(parts, apply(fromCharCode, undefined, units as unknown as number[]));
  }
  return arrayJoin(parts, "");
}

/** The bytes from start to end, not copied. */
export function viewOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
  return new Uint8Array(typedArrayBuffer(bytes), typedArrayByteOffset(bytes) + start, end - start);
}
