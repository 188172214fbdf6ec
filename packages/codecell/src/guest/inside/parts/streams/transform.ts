/**
 * Transform: TransformStream with its controller, TextEncoderStream and TextDecoderStream. Runs inside the guest.
 */
import { dressClass } from "../../expose.ts";
import {
  apply,
  primordial,
  record,
  stringCharCodeAt,
  stringSlice,
  withResolvers,
} from "../../primordials.ts";
import { encodeUtf8 } from "../../web/encoding-text.ts";
import { decodeWith, TextDecoder, type TextDecoderOptions } from "../../web/encoding.ts";
import { toText, toWellFormedText } from "../../web/webidl.ts";
import { called, chained, rejected, resolved } from "./promises.ts";
import { assertObject, callbackOf, toStrategy } from "./queue.ts";
import { desiredSize } from "./readable-core.ts";
import { type ReadableStream, wrapReadable } from "./readable.ts";
import {
  createTransform,
  enqueueTransformed,
  errorTransform,
  startTransform,
  terminateTransform,
  type Transformer,
  type TransformState,
} from "./transform-core.ts";
import { isMade, make } from "./making.ts";
import { type WritableStream, wrapWritable } from "./writable.ts";

const { RangeError, TypeError } = primordial;

interface Sides {
  readonly readable: ReadableStream;
  readonly writable: WritableStream;
}

function sidesOf({ readable, writable }: TransformState): Sides {
  return { readable: wrapReadable(readable), writable: wrapWritable(writable) };
}

export class TransformStream {
  readonly #sides: Sides;

  constructor(
    transformer: unknown = undefined,
    writableStrategy: unknown = undefined,
    readableStrategy: unknown = undefined,
  ) {
    if (transformer !== undefined) assertObject(transformer, "the transformer");
    const given = (transformer ?? record()) as {
      readonly readableType?: unknown;
      readonly writableType?: unknown;
    };
    const cancel = callbackOf(given, "cancel", "transformer");
    const flush = callbackOf(given, "flush", "transformer");
    const hasReadableType = given.readableType !== undefined;
    const start = callbackOf(given, "start", "transformer");
    const transform = callbackOf(given, "transform", "transformer");
    if (hasReadableType || given.writableType !== undefined) {
      throw new RangeError("Cannot make a TransformStream: its sides have no types, leave them out");
    }
    const readStrategy = toStrategy(readableStrategy, 0);
    const state = createTransform(toStrategy(writableStrategy, 1), readStrategy);
    const shown = make(() => new TransformStreamDefaultController(state));
    const started = withResolvers();
    startTransform(
      state,
      {
        transform: (chunk) => {
          if (transform !== undefined) return called(transform, given, [chunk, shown]);
          try {
            enqueueTransformed(state, chunk);
            return resolved();
          } catch (error) {
            return rejected(error);
          }
        },
        flush: () => (flush === undefined ? resolved() : called(flush, given, [shown])),
        cancel: (reason) => (cancel === undefined ? resolved() : called(cancel, given, [reason])),
      },
      started.promise,
    );
    this.#sides = sidesOf(state);
    started.resolve(start === undefined ? undefined : apply(start, given, [shown]));
  }

  get readable(): ReadableStream {
    return this.#sides.readable;
  }

  get writable(): WritableStream {
    return this.#sides.writable;
  }
}

export class TransformStreamDefaultController {
  readonly #state: TransformState;

  constructor(state: TransformState) {
    if (!isMade()) throw new TypeError("Illegal constructor");
    this.#state = state;
  }

  get desiredSize(): number | null {
    return desiredSize(this.#state.readable.controller);
  }

  enqueue(chunk: unknown = undefined): void {
    enqueueTransformed(this.#state, chunk);
  }

  error(reason: unknown = undefined): void {
    errorTransform(this.#state, reason);
  }

  terminate(): void {
    terminateTransform(this.#state);
  }
}

/** A transform stream of our own; `transform` and `flush` give the chunk to pass on, if any. */
function textTransform(transform: (chunk: unknown) => unknown, flush: () => unknown): Sides {
  const state = createTransform(toStrategy(undefined, 1), toStrategy(undefined, 0));
  const step = (give: () => unknown): Promise<unknown> =>
    chained(resolved(), () => {
      const chunk = give();
      if (chunk !== undefined) enqueueTransformed(state, chunk);
    });
  const transformer: Transformer = {
    transform: (chunk) => step(() => transform(chunk)),
    flush: () => step(flush),
    cancel: () => resolved(),
  };
  startTransform(state, transformer, resolved());
  return sidesOf(state);
}

function isLeading(text: string): boolean {
  const last = stringCharCodeAt(text, text.length - 1);
  return last >= 0xd800 && last < 0xdc00;
}

export class TextEncoderStream {
  readonly #sides: Sides;

  constructor() {
    // The first half of a pair whose second half comes with the next chunk.
    let half = "";
    this.#sides = textTransform(
      (chunk) => {
        let text = half + toText(chunk);
        half = "";
        if (text !== "" && isLeading(text)) {
          half = stringSlice(text, text.length - 1);
          text = stringSlice(text, 0, text.length - 1);
        }
        return text === "" ? undefined : encodeUtf8(toWellFormedText(text));
      },
      () => (half === "" ? undefined : encodeUtf8("\uFFFD")),
    );
  }

  get encoding(): string {
    return #sides in this ? "utf-8" : illegal();
  }

  get readable(): ReadableStream {
    return this.#sides.readable;
  }

  get writable(): WritableStream {
    return this.#sides.writable;
  }
}

function illegal(): never {
  throw new TypeError("Illegal invocation");
}

export class TextDecoderStream {
  readonly #sides: Sides;
  readonly #decoder: TextDecoder;

  constructor(label: unknown = "utf-8", options: TextDecoderOptions = undefined) {
    const decoder = new TextDecoder(label, options);
    this.#decoder = decoder;
    const decode = (chunk: unknown, isStream: boolean): string | undefined => {
      const text = decodeWith(decoder, chunk, isStream);
      return text === "" ? undefined : text;
    };
    this.#sides = textTransform(
      (chunk) => decode(chunk, true),
      () => decode(undefined, false),
    );
  }

  get encoding(): string {
    return this.#decoder.encoding;
  }

  get fatal(): boolean {
    return this.#decoder.fatal;
  }

  get ignoreBOM(): boolean {
    return this.#decoder.ignoreBOM;
  }

  get readable(): ReadableStream {
    return this.#sides.readable;
  }

  get writable(): WritableStream {
    return this.#sides.writable;
  }
}

dressClass("TransformStream", TransformStream);
dressClass("TransformStreamDefaultController", TransformStreamDefaultController);
dressClass("TextEncoderStream", TextEncoderStream);
dressClass("TextDecoderStream", TextDecoderStream);
