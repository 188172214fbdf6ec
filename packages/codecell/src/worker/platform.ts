/**
 * Runs anywhere. WorkerPlatform is what the worker's neutral code takes from its environment.
 *
 * - Digests and compression may give promises. A platform that can answer at once gives the value itself, and then the
 *   worker awaits nothing.
 */
import type { Compression } from "../contract/compression.ts";

/** Compares ranges of equal length. The environment may have a faster comparison than a loop. */
export type EqualRanges = (
  left: Uint8Array,
  leftStart: number,
  right: Uint8Array,
  rightStart: number,
  length: number,
) => boolean;

/** The value itself, or a promise of it. */
export type Eventual<T> = T | Promise<T>;

export interface WorkerPlatform {
  readonly equal: EqualRanges;
  /** The methods that the platform has, best first. */
  readonly compressions: readonly [Compression, ...Compression[]];
  /** Gives the same output for the same bytes. */
  readonly compress: (bytes: Uint8Array, method: Compression) => Eventual<Uint8Array>;
  /**
   * Undefined when the bytes were not compressed with this method, or would unpack to more than `maxBytes`: then
   * unpacking stops there.
   */
  readonly decompress: (
    bytes: Uint8Array,
    method: Compression,
    maxBytes: number,
  ) => Eventual<Uint8Array | undefined>;
  /** 32 bytes that differ whenever the concatenated parts differ. */
  readonly digest: (parts: readonly Uint8Array[]) => Eventual<Uint8Array>;
  /** Processor time of the thread; undefined where the platform cannot tell it. */
  readonly threadTimeMs: (() => number) | undefined;
  /** Tells that nobody holds an instance's memory of so many bytes any more, so that it is collected soon. */
  readonly onMemoryDropped: (bytes: number) => void;
}

/** Goes on with a value, at once if it is not a promise: a platform that answers at once costs no promise. */
export function whenThere<T, R>(value: Eventual<T>, then: (value: T) => Eventual<R>): Eventual<R> {
  return value instanceof Promise ? value.then(then) : then(value);
}
