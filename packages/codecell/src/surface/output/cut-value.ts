/**
 * CutValue: what is shown of a value that is too large: its beginning, how much is missing, what it is made of, and
 * where it was parked, how to load it.
 *
 * - At most as many bytes as asked for; the beginning has what the rest of the marker leaves.
 */
import {
  fitShape,
  type JsonShape,
  type KeysOf,
  rememberingKeys,
  renderShape,
  shapeOf,
} from "../../catalog/observed-shape.ts";
import type { Json } from "../../contract/value.ts";
import { shortenJson } from "./shorten-json.ts";

// An alias: only of an alias the compiler sees that it is JSON.
export type CutValue = {
  readonly truncated: true;
  /** Bytes of the whole value's JSON text beyond those of `prefix`. */
  readonly omittedBytes: number;
  /** The value, shortened in all its parts. */
  readonly prefix: Json;
  /** The whole value's shape as a TypeScript type. */
  readonly shape?: string;
  /** Names the whole value for as long as it is parked. */
  readonly ref?: string;
  /** How a program gets the whole value. */
  readonly load?: string;
};

/** Enough of a beginning to be worth leaving out nothing else for it. */
const USEFUL_PREFIX_BYTES = 16;

export interface CutOptions {
  /** Of the value's JSON text. */
  readonly bytes: number;
  /** Less than that. */
  readonly maxBytes: number;
  readonly ref?: string | undefined;
  /** Whether there is room to say what the value is made of. */
  readonly hasShape?: boolean;
}

export function cutValue(value: Json, { bytes, maxBytes, ref, hasShape = true }: CutOptions): CutValue {
  const keysOf = rememberingKeys();
  const shape = hasShape ? shapeWithin(value, Math.floor(maxBytes / 4), keysOf) : {};
  const parked = ref === undefined ? {} : { ref, load: toLoad(ref) };
  const extras = [{ ...shape, ...parked }, parked, ref === undefined ? {} : { ref }].find(
    (one) => markerBytes(bytes, one) + USEFUL_PREFIX_BYTES <= maxBytes,
  );
  const prefix = shortenJson(value, maxBytes - markerBytes(bytes, extras ?? {}), keysOf);
  const omittedBytes = bytes - Buffer.byteLength(JSON.stringify(prefix));
  return { truncated: true, omittedBytes, prefix, ...extras };
}

/** The expression by which a program loads a parked value. */
export function toLoad(ref: string): string {
  return `await load_result("${ref}")`;
}

/** All but the prefix. */
function markerBytes(bytes: number, extras: Partial<CutValue>): number {
  const marker = { truncated: true, omittedBytes: bytes, prefix: 0, ...extras };
  return Buffer.byteLength(JSON.stringify(marker)) - 1;
}

function shapeWithin(value: Json, longest: number, keysOf: KeysOf): { readonly shape?: string } {
  // Of a text or a number the prefix says it all.
  if (typeof value !== "object" || value === null) return {};
  const fits = (one: JsonShape): boolean => renderShape(one).length <= longest;
  const shape = renderShape(fitShape(shapeOf(value, 0, undefined, keysOf), fits));
  return shape === "unknown" || shape.length > longest ? {} : { shape };
}
