/**
 * URL host: parses the host of a URL to its serialised form (domain, IPv4, [IPv6], opaque), or to undefined. Runs
 * inside the guest.
 */
import {
  append,
  arrayJoin,
  at,
  floor,
  type List,
  list,
  numberToString,
  regExpExec,
  stringCharAt,
  stringCharCodeAt,
  stringIndexOf,
  stringSlice,
} from "../primordials.ts";
import { domainToAscii } from "./url-idna.ts";
import { C0_SET, percentDecode, percentEncode } from "./url-percent.ts";

const parseInteger = parseInt;
const FORBIDDEN_HOST = /[\0\t\n\r #/:<>?@[\\\]^|]/;
const FORBIDDEN_DOMAIN = /[\0-\x20#%/:<>?@[\\\]^|\x7f]/;
const DECIMAL = /^[0-9]+$/;
const OCTAL = /^[0-7]*$/;
const HEXADECIMAL = /^[0-9a-fA-F]*$/;
const MAX_IPV6 = 45;

export function parseHost(text: string, isSpecial: boolean): string | undefined {
  if (stringCharAt(text, 0) === "[") {
    if (stringCharAt(text, text.length - 1) !== "]") return undefined;
    const pieces = parseIpv6(stringSlice(text, 1, text.length - 1));
    return pieces === undefined ? undefined : `[${renderIpv6(pieces)}]`;
  }
  if (!isSpecial) {
    return regExpExec(FORBIDDEN_HOST, text) === null ? percentEncode(text, C0_SET) : undefined;
  }
  const domain = domainToAscii(percentDecode(text));
  if (domain === undefined || domain === "" || regExpExec(FORBIDDEN_DOMAIN, domain) !== null) {
    return undefined;
  }
  return endsInNumber(domain) ? parseIpv4(domain) : domain;
}

function lastLabel(domain: string): string {
  let end = domain.length;
  if (stringCharAt(domain, end - 1) === ".") end -= 1;
  let start = end;
  while (start > 0 && stringCharAt(domain, start - 1) !== ".") start -= 1;
  if (end !== domain.length && end === 0) return "";
  return stringSlice(domain, start, end);
}

function endsInNumber(domain: string): boolean {
  const last = lastLabel(domain);
  if (last === "") return false;
  return regExpExec(DECIMAL, last) !== null || parseIpv4Number(last) >= 0;
}

/** -1 if the text is not a number. */
function parseIpv4Number(text: string): number {
  if (text === "") return -1;
  if (stringCharAt(text, 0) === "0" && (stringCharAt(text, 1) === "x" || stringCharAt(text, 1) === "X")) {
    const digits = stringSlice(text, 2);
    if (regExpExec(HEXADECIMAL, digits) === null) return -1;
    return digits === "" ? 0 : parseInteger(digits, 16);
  }
  if (stringCharAt(text, 0) === "0" && text.length > 1) {
    return regExpExec(OCTAL, text) === null ? -1 : parseInteger(text, 8);
  }
  return regExpExec(DECIMAL, text) === null ? -1 : parseInteger(text, 10);
}

function parseIpv4(domain: string): string | undefined {
  const end = stringCharAt(domain, domain.length - 1) === "." ? domain.length - 1 : domain.length;
  const numbers = list<number>();
  let from = 0;
  while (from <= end) {
    let dot = stringIndexOf(domain, ".", from);
    if (dot < 0 || dot > end) dot = end;
    const value = parseIpv4Number(stringSlice(domain, from, dot));
    if (value < 0 || numbers.length === 4) return undefined;
    append(numbers, value);
    from = dot + 1;
  }
  let address = at(numbers, numbers.length - 1);
  if (address >= 256 ** (5 - numbers.length)) return undefined;
  for (let i = 0; i < numbers.length - 1; i += 1) {
    if (at(numbers, i) > 255) return undefined;
    address += at(numbers, i) * 256 ** (3 - i);
  }
  const parts = list<string>();
  for (let shift = 3; shift >= 0; shift -= 1) {
    append(parts, numberToString(floor(address / 256 ** shift) % 256));
  }
  return arrayJoin(parts, ".");
}

function hexDigit(text: string, index: number): number {
  if (index >= text.length) return -1;
  const unit = stringCharCodeAt(text, index);
  if (unit >= 48 && unit <= 57) return unit - 48;
  const lower = unit | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

function parseIpv6(text: string): List<number> | undefined {
  if (text.length > MAX_IPV6) return undefined;
  const pieces = list<number>();
  for (let i = 0; i < 8; i += 1) append(pieces, 0);
  let piece = 0;
  let compress = -1;
  let index = 0;
  if (stringCharAt(text, 0) === ":") {
    if (stringCharAt(text, 1) !== ":") return undefined;
    index = 2;
    piece = 1;
    compress = 1;
  }
  while (index < text.length) {
    if (piece === 8) return undefined;
    if (stringCharAt(text, index) === ":") {
      if (compress >= 0) return undefined;
      index += 1;
      piece += 1;
      compress = piece;
      continue;
    }
    let value = 0;
    let length = 0;
    while (length < 4 && hexDigit(text, index) >= 0) {
      value = value * 16 + hexDigit(text, index);
      index += 1;
      length += 1;
    }
    if (stringCharAt(text, index) === ".") {
      if (length === 0 || piece > 6) return undefined;
      if (!parseEmbeddedIpv4(text, index - length, pieces, piece)) return undefined;
      piece += 2;
      break;
    }
    if (stringCharAt(text, index) === ":") {
      index += 1;
      if (index >= text.length) return undefined;
    } else if (index < text.length) return undefined;
    pieces[piece] = value;
    piece += 1;
  }
  if (compress >= 0) {
    let swaps = piece - compress;
    for (piece = 7; piece !== 0 && swaps > 0; piece -= 1, swaps -= 1) {
      const other = compress + swaps - 1;
      const moved = at(pieces, other);
      pieces[other] = at(pieces, piece);
      pieces[piece] = moved;
    }
  } else if (piece !== 8) return undefined;
  return pieces;
}

function parseEmbeddedIpv4(text: string, start: number, pieces: List<number>, first: number): boolean {
  let index = start;
  for (let seen = 0; seen < 4; seen += 1) {
    if (seen > 0) {
      if (stringCharAt(text, index) !== ".") return false;
      index += 1;
    }
    let value = -1;
    while (index < text.length && stringCharAt(text, index) >= "0" && stringCharAt(text, index) <= "9") {
      const number = stringCharCodeAt(text, index) - 48;
      if (value === 0) return false;
      value = value < 0 ? number : value * 10 + number;
      if (value > 255) return false;
      index += 1;
    }
    if (value < 0) return false;
    const slot = first + (seen >> 1);
    pieces[slot] = at(pieces, slot) * 256 + value;
  }
  return index === text.length;
}

function renderIpv6(pieces: List<number>): string {
  let bestStart = -1;
  let bestLength = 1;
  for (let i = 0; i < 8; i += 1) {
    let end = i;
    while (end < 8 && pieces[end] === 0) end += 1;
    if (end - i > bestLength) {
      bestStart = i;
      bestLength = end - i;
    }
    if (end > i) i = end;
  }
  let text = "";
  for (let i = 0; i < 8; i += 1) {
    if (i === bestStart) {
      text += i === 0 ? "::" : ":";
      i += bestLength - 1;
      continue;
    }
    text += numberToString(at(pieces, i), 16);
    if (i < 7) text += ":";
  }
  return text;
}
