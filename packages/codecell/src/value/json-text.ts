/**
 * JSON text that crosses a boundary: measured before it is read, and never a reason to throw.
 *
 * - Bytes are counted as UTF-8, without encoding.
 * - Its shape is bounded before parsing: a value nested too deeply could not be printed again, one of very many lists
 *   and records would hold the event loop while it is built.
 */
import type { Json } from "../contract/value.ts";

/** What the guest's own encoder allows, and a little more. */
export const MAX_JSON_DEPTH = 1024;
/** Lists and records in one value; building as many takes some ten milliseconds. */
export const MAX_JSON_CONTAINERS = 65_536;

export type ParsedJson =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly problem: string };

/** Undefined for what is no JSON: cycles, BigInts, functions, nothing at all. */
export function toJsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** For what is small, or nobody else waits for: `value/parse-json.ts` reads large texts in pieces. */
export function parseJsonText(text: string, maxBytes: number): ParsedJson {
  const problem = jsonProblem(text, maxBytes);
  if (problem !== undefined) return { ok: false, problem };
  try {
    return { ok: true, value: JSON.parse(text) as Json };
  } catch {
    return { ok: false, problem: "it is not JSON" };
  }
}

/** Why a text is not to be parsed; undefined where it may be, JSON or not. */
export function jsonProblem(text: string, maxBytes: number): string | undefined {
  const bytes = utf8Bytes(text);
  return bytes > maxBytes ? `it has ${bytes} bytes, at most ${maxBytes} are allowed` : shapeProblem(text);
}

/**
 * What a program, or a client, gives to the host's own code. A key `__proto__` is refused wherever it is: it arrives as a
 * property like others, and sets the prototype of whatever it is copied or merged into.
 */
export function asInput(text: string, parsed: ParsedJson): ParsedJson {
  if (!parsed.ok || !mayHaveProto(text) || !hasProto(parsed.value)) return parsed;
  return { ok: false, problem: `it has a key "${PROTO}", which inputs may not have, use another name` };
}

const PROTO = "__proto__";

/** Whether a value as JSON has a key `__proto__` somewhere. */
export function isProtoText(text: string): boolean {
  return mayHaveProto(text) && hasProto(JSON.parse(text) as Json);
}

/** Written as it is, or with any letter escaped: ordinary texts have neither. */
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

function shapeProblem(text: string): string | undefined {
  // Each level needs two characters.
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

/** Where the string that begins there has its other quote; the end of the text when it has none. */
export function endOfString(text: string, start: number): number {
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
