/**
 * Positions: converts offsets in the source, and the engine's lines and columns, to lines and columns of the source.
 * Runs anywhere.
 *
 * - Lines end at LF, CRLF or a lone CR. Columns count UTF-16 units from 1.
 * - The engine counts columns in UTF-8 bytes. It also counts U+2028 and U+2029 between tokens as line ends, so
 *   positions after such a character can be a line off.
 */

import type { Position } from "../contract/failure.ts";
import type { Insertion } from "./edits.ts";

const LINE_END = /\r\n|\n|\r/gu;

export function toPosition(source: string, offset: number): Position {
  const before = source.slice(0, offset);
  let line = 1;
  let lineStart = 0;
  for (const match of before.matchAll(LINE_END)) {
    line++;
    lineStart = match.index + match[0].length;
  }
  return { line, column: offset - lineStart + 1 };
}

/** `line` counts from 1 at the body's first line; `column` is the engine's column. */
export function fromEnginePosition(
  body: string,
  insertions: readonly Insertion[],
  line: number,
  column: number,
): Position | undefined {
  const lineStart = startOfLine(body, line);
  if (lineStart === undefined) return undefined;
  const offset = lineStart + toUnits(body, lineStart, column - 1);
  return {
    line,
    column: withoutInsertions(insertions, offset) - withoutInsertions(insertions, lineStart) + 1,
  };
}

function startOfLine(text: string, line: number): number | undefined {
  if (!Number.isInteger(line) || line < 1) return undefined;
  let start = 0;
  for (let current = 1; current < line; current++) {
    const end = text.indexOf("\n", start);
    if (end === -1) return undefined;
    start = end + 1;
  }
  return start;
}

/** Counts the UTF-16 units in the first `bytes` UTF-8 bytes of a line, up to the end of the line. */
function toUnits(text: string, lineStart: number, bytes: number): number {
  let left = bytes;
  let offset = lineStart;
  while (left > 0 && offset < text.length && text[offset] !== "\n" && text[offset] !== "\r") {
    const code = text.codePointAt(offset) ?? 0;
    left -= code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x1_0000 ? 3 : 4;
    offset += code < 0x1_0000 ? 1 : 2;
  }
  return offset - lineStart;
}

/** Converts an offset in the text with insertions to an offset in the text without them. */
export function withoutInsertions(insertions: readonly Insertion[], offset: number): number {
  let inserted = 0;
  for (const { at, text } of insertions) {
    const start = at + inserted;
    if (start >= offset) break;
    inserted += Math.min(text.length, offset - start);
  }
  return offset - inserted;
}
