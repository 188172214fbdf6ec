/** Runs on the host. JSON as the bytes that are sealed, and back. */
import { buildBytesSteps } from "../value/parse-json.ts";
import { type PrintOptions, printSteps } from "../value/print-json.ts";
import type { Steps } from "../loop/turn.ts";

export function toJsonBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value), "utf8");
}

/** Like toJsonBytes, in pieces, for values that grow with a run. Throws if there are more than `mostBytes`. */
export function* toJsonPieces(
  value: unknown,
  mostBytes: number = Infinity,
  options: Pick<PrintOptions, "textOf"> = {},
): Steps<Buffer[]> {
  const pieces: Buffer[] = [];
  let left = mostBytes;
  const put = (text: string): void => {
    const piece = Buffer.from(text, "utf8");
    pieces.push(piece);
    left -= piece.length;
    if (left < 0) throw new RangeError("There are more bytes than there may be");
  };
  if (!(yield* printSteps(value, put, options))) put("null");
  return pieces;
}

/** Undefined if the bytes are not JSON. */
export function fromJsonBytes(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8"));
  } catch {
    return undefined;
  }
}

/** Like fromJsonBytes, in pieces of `piece` bytes, for values that grow with a run. */
export function* fromJsonPieces(bytes: Uint8Array, piece?: number): Steps<unknown> {
  try {
    return yield* buildBytesSteps(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), piece);
  } catch {
    return undefined;
  }
}
