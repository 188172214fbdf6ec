/**
 * Streams: a part of the prelude, which a cell loads when its program first needs a stream. Runs inside the guest.
 */
import { ByteLengthQueuingStrategy, CountQueuingStrategy } from "./queue.ts";
import {
  isLocked,
  readableOf,
  readAll,
  type ReadableState,
  spentReadable,
  teeReadable,
} from "./readable-core.ts";
import {
  ReadableStream,
  ReadableStreamDefaultController,
  ReadableStreamDefaultReader,
  readableStateOf,
  wrapReadable,
} from "./readable.ts";
import {
  TextDecoderStream,
  TextEncoderStream,
  TransformStream,
  TransformStreamDefaultController,
} from "./transform.ts";
import { WritableStream, WritableStreamDefaultController, WritableStreamDefaultWriter } from "./writable.ts";

export interface StreamsPart {
  readonly globals: { readonly [name: string]: unknown };
  /** Undefined for what is not a ReadableStream. */
  readonly stateOf: (value: unknown) => ReadableState | undefined;
  readonly wrap: (state: ReadableState) => ReadableStream;
  readonly isLocked: (stream: ReadableState) => boolean;
  /** A stream of the chunks that the function gives, until it gives undefined. */
  readonly of: (next: () => unknown) => ReadableState;
  readonly readAll: (stream: ReadableState, accept: (chunk: unknown) => void) => Promise<unknown>;
  readonly tee: (stream: ReadableState) => [ReadableState, ReadableState];
  /** A stream that was read to its end, and is locked to its reader. */
  readonly spent: () => ReadableState;
}

export type { ReadableState } from "./readable-core.ts";
export type { ReadableStream } from "./readable.ts";

// oxlint-disable-next-line no-unused-vars -- the wrapper returns it
declare let made: StreamsPart;

made = {
  globals: {
    ReadableStream,
    ReadableStreamDefaultController,
    ReadableStreamDefaultReader,
    WritableStream,
    WritableStreamDefaultController,
    WritableStreamDefaultWriter,
    TransformStream,
    TransformStreamDefaultController,
    ByteLengthQueuingStrategy,
    CountQueuingStrategy,
    TextEncoderStream,
    TextDecoderStream,
  },
  stateOf: readableStateOf,
  wrap: wrapReadable,
  isLocked,
  of: readableOf,
  readAll,
  tee: teeReadable,
  spent: spentReadable,
};
