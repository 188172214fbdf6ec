/**
 * Readable: ReadableStream, its default controller and its default reader. Runs inside the guest.
 *
 * - There are no byte streams: chunks are any values, and a reader gives whole chunks.
 */
import { isSignal } from "../../web/abort.ts";
import { dressClass, requireArguments } from "../../expose.ts";
import {
  apply,
  asyncIterator,
  asyncIteratorPrototype,
  defineConstant,
  defineHidden,
  deleteProperty,
  iterator,
  primordial,
  promiseThen,
  record,
  setPrototypeOf,
  toStringTag,
  withResolvers,
} from "../../primordials.ts";
import { toText } from "../../web/webidl.ts";
import { isMade, make } from "./making.ts";
import { pipe, type PipeOptions } from "./pipe.ts";
import { called, chained, handled, noop, rejected, resolved } from "./promises.ts";
import { assertObject, type GivenFunction, callbackOf, toStrategy } from "./queue.ts";
import {
  acquireReader,
  cancelReadable,
  canCloseOrEnqueue,
  closeController,
  createReadable,
  createUnstarted,
  desiredSize,
  enqueueChunk,
  errorController,
  isLocked,
  readChunk,
  type ReaderState,
  type ReadableState,
  released,
  releaseReader,
  type Source,
  type SourceController,
  startSource,
  teeReadable,
} from "./readable-core.ts";
import { isWritableLocked, type WritableState } from "./writable-core.ts";
import { writableStateOf } from "./writable.ts";

const { TypeError } = primordial;

/** Undefined for what is not a ReadableStream. */
export let readableStateOf: (value: unknown) => ReadableState | undefined;
/** The stream that a program gets for a state. */
export let wrapReadable: (state: ReadableState) => ReadableStream;
let readerOf: (stream: ReadableState) => ReadableStreamDefaultReader;

export class ReadableStream {
  readonly #state: ReadableState;

  static {
    readableStateOf = (value) =>
      typeof value === "object" && value !== null && #state in value ? value.#state : undefined;
    wrapReadable = (state) => make(() => new ReadableStream(state as never));
  }

  constructor(source: unknown = undefined, strategy: unknown = undefined) {
    if (isMade()) {
      this.#state = source as ReadableState;
      return;
    }
    if (source !== undefined) assertObject(source, "the source of the stream");
    const given = (source ?? record()) as { readonly [key: string]: unknown };
    const read = readSource(given);
    const { measure, mark } = toStrategy(strategy, 1);
    this.#state = createUnstarted({ measure, mark });
    startSource(this.#state, read);
  }

  static from(values: unknown): ReadableStream {
    requireArguments("make a stream", arguments.length, 1);
    return wrapReadable(fromIterable(values));
  }

  get locked(): boolean {
    return isLocked(this.#state);
  }

  cancel(reason: unknown = undefined): Promise<unknown> {
    if (!(#state in this)) return rejected(new TypeError("Illegal invocation"));
    if (isLocked(this.#state)) return rejected(lockedError("cancel"));
    return cancelReadable(this.#state, reason);
  }

  getReader(options: unknown = undefined): ReadableStreamDefaultReader {
    const state = this.#state;
    const { mode } = toOptions(options) as { readonly mode?: unknown };
    if (mode !== undefined) {
      throw new TypeError(
        `Cannot get a reader in mode "${toText(mode)}": there are no byte streams, leave mode out`,
      );
    }
    return readerOf(state);
  }

  pipeThrough(pair: unknown, options: unknown = undefined): unknown {
    const state = this.#state;
    requireArguments("pipe through", arguments.length, 1);
    assertObject(pair, "the transform");
    const { readable, writable } = pair as { readonly readable?: unknown; readonly writable?: unknown };
    if (readableStateOf(readable) === undefined)
      throw new TypeError("Cannot pipe through: readable is not a ReadableStream");
    const target = writableStateOf(writable);
    if (target === undefined) throw new TypeError("Cannot pipe through: writable is not a WritableStream");
    const read = readPipeOptions(options);
    if (isLocked(state)) throw lockedError("pipe");
    if (isWritableLocked(target)) throw lockedTarget();
    handled(pipe(state, target, read));
    return readable;
  }

  pipeTo(target: unknown, options: unknown = undefined): Promise<unknown> {
    try {
      const state = this.#state;
      const into: WritableState | undefined = writableStateOf(target);
      if (into === undefined) throw new TypeError("Cannot pipe: the target is not a WritableStream");
      const read = readPipeOptions(options);
      if (isLocked(state)) throw lockedError("pipe");
      if (isWritableLocked(into)) throw lockedTarget();
      return pipe(state, into, read);
    } catch (error) {
      return rejected(error);
    }
  }

  tee(): [ReadableStream, ReadableStream] {
    const branches = teeReadable(this.#state);
    return [wrapReadable(branches[0]), wrapReadable(branches[1])];
  }

  values(options: unknown = undefined): object {
    const state = this.#state;
    const { preventCancel } = toOptions(options) as { readonly preventCancel?: unknown };
    return new StreamIterator(acquireReader(state), !!preventCancel);
  }
}

function toOptions(options: unknown): object {
  if (options === undefined || options === null) return record();
  assertObject(options, "the options");
  return options;
}

function lockedError(action: string): TypeError {
  return new TypeError(`Cannot ${action} the stream: it is locked to a reader, release that reader first`);
}

function lockedTarget(): TypeError {
  return new TypeError("Cannot pipe: the target is locked to a writer, release that writer first");
}

function readPipeOptions(options: unknown): PipeOptions {
  const given = toOptions(options) as { readonly [key: string]: unknown };
  const preventAbort = !!given["preventAbort"];
  const preventCancel = !!given["preventCancel"];
  const preventClose = !!given["preventClose"];
  const signal = given["signal"];
  if (signal !== undefined && !isSignal(signal)) {
    throw new TypeError("Cannot pipe: the signal is not an AbortSignal");
  }
  return { preventAbort, preventCancel, preventClose, signal };
}

function readSource(given: object): Source {
  const cancel = callbackOf(given, "cancel", "source");
  const pull = callbackOf(given, "pull", "source");
  const start = callbackOf(given, "start", "source");
  const { type } = given as { readonly type?: unknown };
  if (type !== undefined) {
    throw new TypeError(
      `Cannot make a stream of type "${toText(type)}": there are no byte streams, leave type out`,
    );
  }
  let shown: ReadableStreamDefaultController;
  return {
    start: (controller) => {
      shown = make(() => new ReadableStreamDefaultController(controller));
      return start === undefined ? undefined : apply(start, given, [shown]);
    },
    pull: () => (pull === undefined ? resolved() : called(pull, given, [shown])),
    cancel: (reason) => (cancel === undefined ? resolved() : called(cancel, given, [reason])),
  };
}

interface GuestIterator {
  readonly next: unknown;
  readonly return?: unknown;
}

function fromIterable(values: unknown): ReadableState {
  if (values === null || values === undefined) {
    throw new TypeError("Cannot make a stream: the value is not iterable");
  }
  const given = values as { readonly [asyncIterator]?: unknown; readonly [iterator]?: unknown };
  const asynchronous = given[asyncIterator];
  const method = asynchronous ?? given[iterator];
  if (typeof method !== "function") throw new TypeError("Cannot make a stream: the value is not iterable");
  const cursor = apply(method as GivenFunction, values, []) as GuestIterator;
  assertObject(cursor, "the iterator");
  const { next } = cursor;
  const toResult = (result: unknown): { readonly done?: unknown; readonly value?: unknown } => {
    assertObject(result, "what the iterator gave");
    return result;
  };
  return createReadable(
    {
      start: noop,
      pull: (controller) =>
        chained(called(next as GivenFunction, cursor, []), (result) => {
          const { done, value } = toResult(result);
          if (done) {
            closeController(controller);
            return undefined;
          }
          // The values of a synchronous iterator may be promises.
          if (asynchronous !== undefined && asynchronous !== null) {
            enqueueChunk(controller, value);
            return undefined;
          }
          return chained(resolved(value), (chunk) => enqueueChunk(controller, chunk));
        }),
      cancel: (reason) => {
        try {
          const finish = cursor.return;
          if (finish === undefined || finish === null) return resolved();
          return chained(
            called(finish as GivenFunction, cursor, [reason]),
            (result) => void toResult(result),
          );
        } catch (error) {
          return rejected(error);
        }
      },
    },
    { measure: () => 1, mark: 0 },
  );
}

export class ReadableStreamDefaultController {
  readonly #state: SourceController;

  constructor(state: SourceController) {
    if (!isMade()) throw new TypeError("Illegal constructor");
    this.#state = state;
  }

  get desiredSize(): number | null {
    return desiredSize(this.#state);
  }

  close(): void {
    const state = this.#state;
    if (!canCloseOrEnqueue(state))
      throw new TypeError("Cannot close the stream: it is closed or errored already");
    closeController(state);
  }

  enqueue(chunk: unknown = undefined): void {
    const state = this.#state;
    if (!canCloseOrEnqueue(state)) {
      throw new TypeError("Cannot enqueue the chunk: the stream is closed or errored");
    }
    enqueueChunk(state, chunk);
  }

  error(reason: unknown = undefined): void {
    errorController(this.#state, reason);
  }
}

export class ReadableStreamDefaultReader {
  readonly #state: ReaderState;

  static {
    readerOf = (stream) => make(() => new ReadableStreamDefaultReader(stream));
  }

  constructor(stream: unknown) {
    let state: ReadableState | undefined;
    if (isMade()) {
      state = stream as ReadableState;
    } else {
      requireArguments("make a reader", arguments.length, 1);
      state = readableStateOf(stream);
    }
    if (state === undefined) throw new TypeError("Cannot make a reader: the value is not a ReadableStream");
    this.#state = acquireReader(state);
  }

  get closed(): Promise<unknown> {
    return #state in this ? this.#state.closed.promise : rejected(new TypeError("Illegal invocation"));
  }

  read(): Promise<unknown> {
    if (!(#state in this)) return rejected(new TypeError("Illegal invocation"));
    if (this.#state.stream === undefined) return rejected(released());
    const { promise, resolve, reject } = withResolvers();
    readChunk(this.#state, {
      chunk: (value) => resolve({ value, done: false }),
      close: () => resolve({ value: undefined, done: true }),
      error: reject,
    });
    return promise;
  }

  cancel(reason: unknown = undefined): Promise<unknown> {
    if (!(#state in this)) return rejected(new TypeError("Illegal invocation"));
    const { stream } = this.#state;
    return stream === undefined ? rejected(released()) : cancelReadable(stream, reason);
  }

  releaseLock(): void {
    releaseReader(this.#state);
  }
}

/** What `for await` uses. Each step waits for the one before. */
class StreamIterator {
  readonly #reader: ReaderState;
  readonly #keepsStream: boolean;
  #last: Promise<unknown> | undefined;
  #isFinished = false;

  constructor(reader: ReaderState, keepsStream: boolean) {
    this.#reader = reader;
    this.#keepsStream = keepsStream;
  }

  next(): Promise<unknown> {
    if (!(#last in this)) return rejected(new TypeError("Illegal invocation"));
    return this.#after(() => this.#next());
  }

  return(value: unknown = undefined): Promise<unknown> {
    if (!(#last in this)) return rejected(new TypeError("Illegal invocation"));
    return this.#after(() => {
      const result = { value, done: true };
      if (this.#isFinished) return resolved(result);
      this.#isFinished = true;
      const reader = this.#reader;
      if (reader.stream === undefined) return resolved(result);
      const ended = this.#keepsStream ? resolved() : cancelReadable(reader.stream, value);
      releaseReader(reader);
      return chained(ended, () => result);
    });
  }

  #after(step: () => Promise<unknown>): Promise<unknown> {
    const made = this.#last === undefined ? step() : chained(this.#last, step, step);
    const clear = (): void => {
      if (this.#last === made) this.#last = undefined;
    };
    this.#last = made;
    promiseThen(made, clear, clear);
    return made;
  }

  #next(): Promise<unknown> {
    const reader = this.#reader;
    if (this.#isFinished || reader.stream === undefined) return resolved({ value: undefined, done: true });
    const { promise, resolve, reject } = withResolvers();
    const finish = (): void => {
      this.#isFinished = true;
      releaseReader(reader);
    };
    readChunk(reader, {
      chunk: (value) => resolve({ value, done: false }),
      close: () => {
        finish();
        resolve({ value: undefined, done: true });
      },
      error: (reason) => {
        finish();
        reject(reason);
      },
    });
    return promise;
  }
}

deleteProperty(StreamIterator.prototype, "constructor");
setPrototypeOf(StreamIterator.prototype, asyncIteratorPrototype);
defineConstant(StreamIterator.prototype, toStringTag, "ReadableStream AsyncIterator", true);
defineHidden(ReadableStream.prototype, asyncIterator, ReadableStream.prototype.values);
defineHidden(ReadableStream.from, "length", 1);
dressClass("ReadableStream", ReadableStream);
dressClass("ReadableStreamDefaultController", ReadableStreamDefaultController);
dressClass("ReadableStreamDefaultReader", ReadableStreamDefaultReader);
