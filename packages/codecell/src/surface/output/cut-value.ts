/**
 * Runs on the host. CutValue is what is shown of a value that is too large: its beginning, how much is missing, its
 * shape and, if it was saved, how to load it.
 *
 * It has at most as many bytes as asked for. The beginning gets what the other parts leave.
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
import { atOnce, type Steps } from "../../loop/turn.ts";
import type { RecordNames } from "../../value/json-text.ts";
import { shortenJson } from "./shorten-json.ts";

// A type alias, since the compiler sees only of an alias that it is JSON.
export type CutValue = {
  readonly truncated: true;
  /** How many more bytes the whole value's JSON text has than `prefix`. */
  readonly omittedBytes: number;
  /** The value, shortened in all its parts. */
  readonly prefix: Json;
  /** The shape of the whole value, as a TypeScript type. */
  readonly shape?: string;
  /** The name of the whole value while it is saved. */
  readonly ref?: string;
  /** The expression with which a program gets the whole value. */
  readonly load?: string;
};

/** If `prefix` has at least so many bytes, nothing else is left out for it. */
const USEFUL_PREFIX_BYTES = 16;

export interface CutOptions {
  /** Bytes of the value's JSON text. */
  readonly bytes: number;
  /** Most bytes of the cut value; less than `bytes`. */
  readonly maxBytes: number;
  readonly ref?: string | undefined;
  /** Whether to show the shape of the value. */
  readonly hasShape?: boolean;
  /** The names of its large records, if known. */
  readonly names?: RecordNames | undefined;
}

/** For values whose names can be listed at once. */
export function cutValue(value: Json, options: CutOptions): CutValue {
  return atOnce(cutSteps(value, options));
}

export function* cutSteps(
  value: Json,
  { bytes, maxBytes, ref, hasShape = true, names }: CutOptions,
): Steps<CutValue> {
  const keysOf = rememberingKeys(names);
  yield;
  const shape = hasShape ? shapeWithin(value, Math.floor(maxBytes / 4), keysOf) : {};
  yield;
  const saved = ref === undefined ? {} : { ref, load: toLoad(ref) };
  const extras = [{ ...shape, ...saved }, saved, ref === undefined ? {} : { ref }].find(
    (one) => markerBytes(bytes, one) + USEFUL_PREFIX_BYTES <= maxBytes,
  );
  const prefix = shortenJson(value, maxBytes - markerBytes(bytes, extras ?? {}), keysOf);
  const omittedBytes = bytes - Buffer.byteLength(JSON.stringify(prefix));
  return { truncated: true, omittedBytes, prefix, ...extras };
}

/** The expression by which a program loads a saved value. */
export function toLoad(ref: string): string {
  return `await load_result("${ref}")`;
}

/** Bytes of everything except the prefix. */
function markerBytes(bytes: number, extras: Partial<CutValue>): number {
  const marker = { truncated: true, omittedBytes: bytes, prefix: 0, ...extras };
  return Buffer.byteLength(JSON.stringify(marker)) - 1;
}

function shapeWithin(value: Json, longest: number, keysOf: KeysOf): { readonly shape?: string } {
  // The prefix of a text or a number shows its shape.
  if (typeof value !== "object" || value === null) return {};
  const fits = (one: JsonShape): boolean => renderShape(one).length <= longest;
  const shape = renderShape(fitShape(shapeOf(value, 0, undefined, keysOf), fits));
  return shape === "unknown" || shape.length > longest ? {} : { shape };
}
