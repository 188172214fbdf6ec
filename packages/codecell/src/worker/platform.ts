/** WorkerPlatform: what the worker's neutral code takes from where it runs. */

/** Compares ranges of equal length; the environment may have a faster one than a loop. */
export type EqualRanges = (
  left: Uint8Array,
  leftStart: number,
  right: Uint8Array,
  rightStart: number,
  length: number,
) => boolean;

export interface WorkerPlatform {
  readonly equal: EqualRanges;
  /** The same bytes for the same bytes. */
  readonly compress: (bytes: Uint8Array) => Uint8Array;
  /** Undefined when the bytes are not compressed ones, or are more than allowed. */
  readonly decompress: (bytes: Uint8Array, maxBytes: number) => Uint8Array | undefined;
  /** 32 bytes that differ whenever the parts, one after the other, do. */
  readonly digest: (parts: readonly Uint8Array[]) => Uint8Array;
  /** Processor time of the thread; undefined where it cannot be told. */
  readonly threadTimeMs: (() => number) | undefined;
  /** Nobody holds an instance's memory of so many bytes any more: it is to be collected soon. */
  readonly onMemoryDropped: (bytes: number) => void;
}
