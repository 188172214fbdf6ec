/**
 * WorkerPlatform: what the worker's neutral code takes from where it runs.
 *
 * - Digests and compression may take a promise's time. A platform that has them at once gives them at once: nothing is
 *   awaited then.
 */
import type { Compression } from "../contract/compression.ts";

/** Compares ranges of equal length; the environment may have a faster one than a loop. */
export type EqualRanges = (
  left: Uint8Array,
  leftStart: number,
  right: Uint8Array,
  rightStart: number,
  length: number,
) => boolean;

/** At once, or later. */
export type Eventual<T> = T | Promise<T>;

export interface WorkerPlatform {
  readonly equal: EqualRanges;
  /** The methods it has, best first. */
  readonly compressions: readonly [Compression, ...Compression[]];
  /** The same bytes for the same bytes. */
  readonly compress: (bytes: Uint8Array, method: Compression) => Eventual<Uint8Array>;
  /** Undefined when the bytes were not compressed like this, or would be more: then no more of them is unpacked. */
  readonly decompress: (
    bytes: Uint8Array,
    method: Compression,
    maxBytes: number,
  ) => Eventual<Uint8Array | undefined>;
  /** 32 bytes that differ whenever the parts, one after the other, do. */
  readonly digest: (parts: readonly Uint8Array[]) => Eventual<Uint8Array>;
  /** Processor time of the thread; undefined where it cannot be told. */
  readonly threadTimeMs: (() => number) | undefined;
  /** Nobody holds an instance's memory of so many bytes any more: it is to be collected soon. */
  readonly onMemoryDropped: (bytes: number) => void;
}

/** Goes on with a value, at once where it is there: a platform that answers at once costs no promise. */
export function whenThere<T, R>(value: Eventual<T>, then: (value: T) => Eventual<R>): Eventual<R> {
  return value instanceof Promise ? value.then(then) : then(value);
}
