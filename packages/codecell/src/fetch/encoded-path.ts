/**
 * Runs on the host. Finds paths that a server behind a proxy may read as another path than the one the policy
 * compared.
 *
 * Paths come parsed, so they have no plain dot segments or backslashes. They may still have hidden ones, behind
 * percent signs (often encoded several times) or parameters of a segment.
 */

import { toNormalForm } from "../value/normal-form.ts";

/** A path that is encoded more often than any server decodes is refused. */
const MOST_ROUNDS = 8;
const PERCENT = 37;
const UNIT = /^%u[0-9a-f]{4}$/iu;
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const BLANK = /[\0-\x20\x7f]/gu;
// oxlint-disable-next-line no-control-regex -- all of them
const ASCII = /^[\0-\x7f]*$/u;

/** Says what is wrong with the path of a URL, as a part of a sentence. */
export function encodedSeparatorIn(pathname: string): string | undefined {
  let path = pathname;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const problem = problemIn(path) ?? problemIn(compatible(path));
    if (problem !== undefined) return problem;
    const decoded = decodeOnce(path);
    if (decoded === undefined) return "an encoded separator, write / as it is and nothing else in its place";
    if (decoded === path) return undefined;
    path = decoded;
  }
  return "percent signs that are encoded again and again";
}

function problemIn(path: string): string | undefined {
  for (const segment of path.split("/")) {
    const end = segment.indexOf(";");
    // Some servers drop spaces and control characters from a segment.
    const name = (end === -1 ? segment : segment.slice(0, end)).replaceAll(BLANK, "");
    if (name === "." || name === "..") return `an encoded dot segment "${segment.slice(0, 40)}"`;
  }
  return undefined;
}

/**
 * Reads bytes as text and replaces wide forms of dots and slashes by the plain ones: a server may look for that file.
 */
function compatible(bytes: string): string {
  return ASCII.test(bytes) ? bytes : toNormalForm(Buffer.from(bytes, "latin1").toString("utf8"), "NFKC");
}

/** Decodes each byte to a character. Undefined when a separator, or a byte that valid text never has, was encoded. */
function decodeOnce(path: string): string | undefined {
  let decoded = "";
  let from = 0;
  for (let at = path.indexOf("%"); at !== -1; at = path.indexOf("%", at + 1)) {
    const byte = byteAt(path, at);
    if (byte === undefined) {
      // Some servers also decode the form %u002e.
      if (UNIT.test(path.slice(at, at + 6))) return undefined;
      continue;
    }
    if (byte === 0 || byte === 47 || byte === 92 || isOverlong(byte, byteAt(path, at + 3))) return undefined;
    decoded += path.slice(from, at) + String.fromCharCode(byte);
    from = at + 3;
    at += 2;
  }
  return decoded + path.slice(from);
}

/** Whether a byte begins an overlong form of a character: old decoders read ASCII there. */
function isOverlong(byte: number, next = 0xff): boolean {
  return byte === 0xc0 || byte === 0xc1 || (byte === 0xe0 && next < 0xa0) || (byte === 0xf0 && next < 0x90);
}

function byteAt(path: string, at: number): number | undefined {
  if (path.charCodeAt(at) !== PERCENT) return undefined;
  const high = digit(path.charCodeAt(at + 1));
  const low = digit(path.charCodeAt(at + 2));
  return high === undefined || low === undefined ? undefined : high * 16 + low;
}

function digit(code: number): number | undefined {
  if (code >= 48 && code <= 57) return code - 48;
  const lower = code | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : undefined;
}
