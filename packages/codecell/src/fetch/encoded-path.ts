/**
 * Encoded path: finds what a server behind a proxy may read as another path than the one that was compared.
 *
 * - Paths come parsed: plain dot segments and backslashes are gone. What is left is hidden by percent signs, often
 *   several times over, or by parameters of a segment.
 */

/** Paths nested deeper than anybody decodes are refused. */
const MOST_ROUNDS = 8;
const PERCENT = 37;

/** What is wrong with the path of a URL, as a part of a sentence. */
export function encodedSeparatorIn(pathname: string): string | undefined {
  let path = pathname;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const problem = problemIn(path);
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
    const name = end === -1 ? segment : segment.slice(0, end);
    if (name === "." || name === "..") return `an encoded dot segment "${segment.slice(0, 40)}"`;
  }
  return undefined;
}

/** Each byte as a character; undefined when a separator, or a byte that no valid text has, was encoded. */
function decodeOnce(path: string): string | undefined {
  let decoded = "";
  let from = 0;
  for (let at = path.indexOf("%"); at !== -1; at = path.indexOf("%", at + 1)) {
    const byte = byteAt(path, at);
    if (byte === undefined) continue;
    // 0xC0 and 0xC1 begin overlong forms, in which old decoders find ASCII.
    if (byte === 0 || byte === 47 || byte === 92 || byte === 0xc0 || byte === 0xc1) return undefined;
    decoded += path.slice(from, at) + String.fromCharCode(byte);
    from = at + 3;
    at += 2;
  }
  return decoded + path.slice(from);
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
