/**
 * JSON text that crosses a boundary: it is measured before it is parsed, and parsing never throws. Runs anywhere.
 *
 * - Bytes are counted as UTF-8, without encoding the text.
 * - Depth and number of containers are bounded before parsing: a value nested too deeply could not be printed again,
 *   and a value of very many lists and records would block the event loop while it is built.
 */
import type { Json } from "../contract/value.ts";

/** More than the guest's own encoder allows. */
export const MAX_JSON_DEPTH = 1024;
/** Lists and records in one value; building this many takes about ten milliseconds. */
export const MAX_JSON_CONTAINERS = 65_536;

export type ParsedJson =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly problem: string };

/**
 * The names of the records that were built in several pieces, in the order of the text. The engine can list the names
 * of a record only at once, and it needs a tenth of a second to list the names of 4 MiB.
 */
export type RecordNames = Map<object, string[]>;

/** What a value was read from that was built in pieces. */
export interface LargeJson {
  readonly json: string;
  readonly names: RecordNames;
}

/** Undefined if the value is not JSON: a cycle, a BigInt, a function, undefined. */
export function toJsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** For small texts, and for callers that keep nobody waiting; `value/parse-json.ts` reads large texts in pieces. */
export function parseJsonText(text: string, maxBytes: number): ParsedJson {
  const problem = jsonProblem(text, maxBytes);
  if (problem !== undefined) return { ok: false, problem };
  try {
    return { ok: true, value: JSON.parse(text) as Json };
  } catch {
    return { ok: false, problem: "it is not JSON" };
  }
}

/** Says why a text must not be parsed; undefined if it may be parsed, whether or not it is JSON. */
export function jsonProblem(text: string, maxBytes: number): string | undefined {
  const bytes = utf8Bytes(text);
  return bytes > maxBytes ? `it has ${bytes} bytes, at most ${maxBytes} are allowed` : shapeProblem(text);
}

/**
 * Checks a value that a program or a client gives to the host's own code. A key `__proto__` at any depth is refused: it
 * arrives as an ordinary property, but sets the prototype of any object that it is copied or merged into.
 */
export function asInput(text: string, parsed: ParsedJson): ParsedJson {
  if (!parsed.ok || !mayHaveProto(text) || !hasProto(parsed.value)) return parsed;
  return { ok: false, problem: `it has a key "${PROTO}", which inputs may not have, use another name` };
}

/** The key that inputs may not have. */
export const PROTO = "__proto__";

/** Whether a JSON text has a key `__proto__` at any depth. */
export function isProtoText(text: string): boolean {
  return mayHaveProto(text) && hasProto(JSON.parse(text) as Json);
}

/** The key may be written plainly, or with escaped letters. Ordinary texts contain neither. */
function mayHaveProto(text: string): boolean {
  return text.includes(PROTO) || text.includes("\\u");
}

function hasProto(value: Json): boolean {
  const left: Json[] = [value];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next !== "object" || next === null) continue;
    if (Object.hasOwn(next, PROTO)) return true;
    for (const part of Array.isArray(next) ? next : Object.values(next)) {
      if (typeof part === "object" && part !== null) left.push(part);
    }
  }
  return false;
}

/** Node.js counts natively, many times as fast as the loop below. A page has no `Buffer`. */
const { Buffer: native }: { readonly Buffer?: { readonly byteLength: (text: string) => number } } =
  globalThis;
/** In a shorter text the loop is as fast as calling into the engine. */
const LONG_TEXT = 16;

/** The length in UTF-8 bytes; a lone surrogate counts as the replacement character. */
export function utf8Bytes(text: string): number {
  return native === undefined || text.length < LONG_TEXT ? countBytes(text) : native.byteLength(text);
}

/** For tests, and where there is no `Buffer`. */
export function countBytes(text: string): number {
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

function shapeProblem(text: string): string | undefined {
  // Each level needs two characters, so a short text cannot be nested too deeply.
  if (text.length <= 2 * MAX_JSON_DEPTH) return undefined;
  let depth = 0;
  let containers = 0;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case 0x22:
        index = endOfString(text, index);
        break;
      case 0x5b:
      case 0x7b:
        if (++depth > MAX_JSON_DEPTH) return `it is nested deeper than ${MAX_JSON_DEPTH} levels`;
        if (++containers > MAX_JSON_CONTAINERS)
          return `it has more than ${MAX_JSON_CONTAINERS} lists and records`;
        break;
      case 0x5d:
      case 0x7d:
        depth--;
        break;
      default:
    }
  }
  return undefined;
}

/** How many fields, items, and empty lists and records a JSON text has. */
export function countParts(text: string): number {
  let parts = 0;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case 0x22:
        index = endOfString(text, index);
        break;
      case 0x2c:
      case 0x5b:
      case 0x7b:
        parts++;
        break;
      default:
    }
  }
  return parts;
}

/**
 * The offset of the closing quote of the string that begins at `start`; the end of the text if there is no closing
 * quote.
 */
export function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1);
  if (quote === -1) return text.length;
  let backslashes = 0;
  while (text.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes++;
  if (backslashes % 2 === 0) return quote;
  // A text with one escaped quote may have millions, and a search for each takes longer than looking at all characters.
  for (let at = quote + 1; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return at;
    if (code === 0x5c) at++;
  }
  return text.length;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}
