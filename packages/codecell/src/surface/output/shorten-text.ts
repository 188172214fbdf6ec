/**
 * Runs on the host. Measures and cuts texts as JSON writes them.
 *
 * - A cut text is well-formed if the whole text was: no pair of surrogates is split.
 * - Cutting reads no more of a text than fits.
 */

/** Up to this length, measuring here is faster than printing. */
const SHORT = 64;

/** UTF-8 bytes of the text as a JSON string, quotes included. */
export function jsonTextBytes(text: string): number {
  if (text.length > SHORT) return Buffer.byteLength(JSON.stringify(text));
  let bytes = 2;
  for (let index = 0; index < text.length;) {
    const unit = unitAt(text, index);
    bytes += unit.bytes;
    index += unit.length;
  }
  return bytes;
}

/**
 * The beginning of a text, with an end that says how much is missing; at most so many bytes as a JSON string. Without
 * room for such an end, only a sign that something is missing.
 */
export function cutText(
  text: string,
  maxBytes: number,
  toEnd: (omittedBytes: number) => string = plainEnd,
): string {
  const total = Buffer.byteLength(text);
  // The end is longest when everything is missing.
  const room = maxBytes - jsonTextBytes(toEnd(total));
  if (room < 0) return toEnd === bareEnd ? "…" : cutText(text, maxBytes, bareEnd);
  const kept = text.slice(0, endWithin(text, room));
  return `${kept}${toEnd(total - Buffer.byteLength(kept))}`;
}

/** Says only that something is missing. */
export function bareEnd(): string {
  return "…";
}

function plainEnd(omittedBytes: number): string {
  return `… (+${omittedBytes} bytes)`;
}

/** The index at which the longest beginning ends that JSON writes in so many bytes, without quotes. */
function endWithin(text: string, maxBytes: number): number {
  let bytes = 0;
  let index = 0;
  while (index < text.length) {
    const unit = unitAt(text, index);
    bytes += unit.bytes;
    if (bytes > maxBytes) break;
    index += unit.length;
  }
  return index;
}

const ESCAPED_SHORT = new Set(['"', "\\", "\b", "\f", "\n", "\r", "\t"].map((one) => one.charCodeAt(0)));

/** The code point at an index: how many UTF-16 units it has, and how many bytes in JSON. */
function unitAt(text: string, index: number): { readonly length: number; readonly bytes: number } {
  const code = text.codePointAt(index) ?? 0;
  if (code < 0x80) return { length: 1, bytes: ESCAPED_SHORT.has(code) ? 2 : code < 0x20 ? 6 : 1 };
  if (code < 0x800) return { length: 1, bytes: 2 };
  if (code > 0xffff) return { length: 2, bytes: 4 };
  // JSON escapes a lone surrogate.
  return { length: 1, bytes: code >= 0xd800 && code < 0xe000 ? 6 : 3 };
}
