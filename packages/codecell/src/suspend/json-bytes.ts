/** JSON as the bytes that are sealed, and back. */
import type { Steps } from "../bridge/turn.ts";

/** Characters that are encoded at once. */
const PIECE = 262_144;
/** Deeper than the calls and outcomes of a ledger are: whatever is there is small, or is one text. */
const MOST_LEVELS = 5;

export function toJsonBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value), "utf8");
}

/**
 * The same bytes in pieces, for what grows with a run: of plain lists and records alone, without what makes JSON itself.
 * Throws when there are more than `mostBytes`.
 */
export function* toJsonPieces(value: unknown, mostBytes: number = Infinity): Steps<Buffer[]> {
  const pieces: Buffer[] = [];
  let left = mostBytes;
  let text = "";
  const flush = (): void => {
    const piece = Buffer.from(text, "utf8");
    pieces.push(piece);
    text = "";
    left -= piece.length;
    if (left < 0) throw new RangeError("There are more bytes than there may be");
  };
  for (const part of partsOf(value, MOST_LEVELS)) {
    text += part;
    if (text.length < PIECE) continue;
    flush();
    yield;
  }
  flush();
  return pieces;
}

function* partsOf(value: unknown, levels: number): Generator<string, void, void> {
  if (levels === 0 || typeof value !== "object" || value === null) {
    yield JSON.stringify(value) ?? "null";
    return;
  }
  let mark = Array.isArray(value) ? "[" : "{";
  if (Array.isArray(value)) {
    for (const member of value as unknown[]) {
      yield mark;
      mark = ",";
      yield* partsOf(member, levels - 1);
    }
    yield mark === "," ? "]" : "[]";
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    yield `${mark}${JSON.stringify(name)}:`;
    mark = ",";
    yield* partsOf(member, levels - 1);
  }
  yield mark === "," ? "}" : "{}";
}

/** Undefined for what is no JSON. */
export function fromJsonBytes(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8"));
  } catch {
    return undefined;
  }
}
