/**
 * JSON text that crosses a boundary: measured before it is read, and never a reason to throw.
 *
 * - Bytes are counted as UTF-8, without encoding.
 * - Nesting is bounded before parsing: a value that parses but cannot be printed again would break its consumer.
 */
import type { Json } from "../contract/value.ts";

/** What the guest's own encoder allows, and a little more. */
export const MAX_JSON_DEPTH = 1024;

export type Parsed =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly problem: string };

export function parseJsonText(text: string, maxBytes: number): Parsed {
  const bytes = utf8Bytes(text);
  if (bytes > maxBytes)
    return { ok: false, problem: `it has ${bytes} bytes, at most ${maxBytes} are allowed` };
  if (isDeeperThan(text, MAX_JSON_DEPTH)) {
    return { ok: false, problem: `it is nested deeper than ${MAX_JSON_DEPTH} levels` };
  }
  try {
    return { ok: true, value: JSON.parse(text) as Json };
  } catch {
    return { ok: false, problem: "it is not JSON" };
  }
}

/** UTF-8 length; a lone surrogate counts as the replacement character. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else if (isHighSurrogate(unit) && isLowSurrogate(text.charCodeAt(index + 1))) {
      bytes += 2;
      index++;
    } else bytes += 2;
  }
  return bytes;
}

function isDeeperThan(text: string, limit: number): boolean {
  // Each level needs two characters.
  if (text.length <= 2 * limit) return false;
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case 0x22:
        index = endOfString(text, index);
        break;
      case 0x5b:
      case 0x7b:
        if (++depth > limit) return true;
        break;
      case 0x5d:
      case 0x7d:
        depth--;
        break;
      default:
    }
  }
  return false;
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}
