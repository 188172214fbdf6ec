/**
 * Writable: WritableStream, its default controller and its default writer. Runs inside the guest.
 */
import { abortWith, createSignal, type AbortSignal } from "../../web/abort.ts";
import { dressClass, requireArguments } from "../../expose.ts";
import { apply, primordial, record } from "../../primordials.ts";
import { isMade, make } from "./making.ts";
import { called, rejected, resolved } from "./promises.ts";
import { assertObject, callbackOf, toStrategy } from "./queue.ts";
import {
  abortWritable,
  acquireWriter,
  closeWritable,
  createUnstartedWritable,
  desiredWriteSize,
  errorIfNeeded,
  isClosing,
  isWritableLocked,
  releasedWriter,
  releaseWriter,
  type Sink,
  type SinkController,
  startSink,
  type WritableState,
  writeChunk,
  type WriterState,
} from "./writable-core.ts";

const { TypeError } = primordial;

/** Undefined for what is not a WritableStream. */
export let writableStateOf: (value: unknown) => WritableState | undefined;
/** The stream that a program gets for a state. */
export let wrapWritable: (state: WritableState) => WritableStream;
let writerOf: (stream: WritableState) => WritableStreamDefaultWriter;

export class WritableStream {
  readonly #state: WritableState;

  static {
    writableStateOf = (value) =>
      typeof value === "object" && value !== null && #state in value ? value.#state : undefined;
    wrapWritable = (state) => make(() => new WritableStream(state));
  }

  constructor(sink: unknown = undefined, strategy: unknown = undefined) {
    if (isMade()) {
      this.#state = sink as WritableState;
      return;
    }
    if (sink !== undefined) assertObject(sink, "the sink of the stream");
    const read = readSink(sink ?? record());
    this.#state = createUnstartedWritable(toStrategy(strategy, 1));
    startSink(this.#state, read);
  }

  get locked(): boolean {
    return isWritableLocked(this.#state);
  }

  abort(reason: unknown = undefined): Promise<unknown> {
    if (!(#state in this)) return rejected(new TypeError("Illegal invocation"));
    if (isWritableLocked(this.#state)) return rejected(lockedError("abort"));
    return abortWritable(this.#state, reason);
  }

  close(): Promise<unknown> {
    if (!(#state in this)) return rejected(new TypeError("Illegal invocation"));
    if (isWritableLocked(this.#state)) return rejected(lockedError("close"));
    return closeWritable(this.#state);
  }

  getWriter(): WritableStreamDefaultWriter {
    return writerOf(this.#state);
  }
}

function lockedError(action: string): TypeError {
  return new TypeError(
    `Cannot ${action} the stream: it is locked to a writer, use that writer or release it`,
  );
}

function readSink(given: object): Sink {
  const abort = callbackOf(given, "abort", "sink");
  const close = callbackOf(given, "close", "sink");
  const start = callbackOf(given, "start", "sink");
  const { type } = given as { readonly type?: unknown };
  if (type !== undefined)
    throw new primordial.RangeError("Cannot make a stream: a sink has no type, leave it out");
  const write = callbackOf(given, "write", "sink");
  let shown: WritableStreamDefaultController;
  return {
    start: (controller) => {
      shown = make(() => new WritableStreamDefaultController(controller));
      return start === undefined ? undefined : apply(start, given, [shown]);
    },
    write: (chunk) => (write === undefined ? resolved() : called(write, given, [chunk, shown])),
    close: () => (close === undefined ? resolved() : called(close, given, [])),
    abort: (reason) => (abort === undefined ? resolved() : called(abort, given, [reason])),
  };
}

export class WritableStreamDefaultController {
  readonly #state: SinkController;
  readonly #signal: AbortSignal = createSignal();

  constructor(state: SinkController) {
    if (!isMade()) throw new TypeError("Illegal constructor");
    this.#state = state;
    state.onAbort = (reason) => abortWith(this.#signal, reason);
  }

  get signal(): AbortSignal {
    return this.#signal;
  }

  error(reason: unknown = undefined): void {
    errorIfNeeded(this.#state, reason);
  }
}

export class WritableStreamDefaultWriter {
  readonly #state: WriterState;

  static {
    writerOf = (stream) => make(() => new WritableStreamDefaultWriter(stream));
  }

  constructor(stream: unknown) {
    let state: WritableState | undefined;
    if (isMade()) {
      state = stream as WritableState;
    } else {
      requireArguments("make a writer", arguments.length, 1);
      state = writableStateOf(stream);
    }
    if (state === undefined) throw new TypeError("Cannot make a writer: the value is not a WritableStream");
    this.#state = acquireWriter(state);
  }

  get closed(): Promise<unknown> {
    return #state in this ? this.#state.closed.promise : rejected(new TypeError("Illegal invocation"));
  }

  get ready(): Promise<unknown> {
    return #state in this ? this.#state.ready.promise : rejected(new TypeError("Illegal invocation"));
  }

  get desiredSize(): number | null {
    const { stream } = this.#state;
    if (stream === undefined) throw releasedWriter();
    return desiredWriteSize(stream);
  }

  abort(reason: unknown = undefined): Promise<unknown> {
    if (!(#state in this)) return rejected(new TypeError("Illegal invocation"));
    const { stream } = this.#state;
    return stream === undefined ? rejected(releasedWriter()) : abortWritable(stream, reason);
  }

  close(): Promise<unknown> {
    if (!(#state in this)) return rejected(new TypeError("Illegal invocation"));
    const { stream } = this.#state;
    if (stream === undefined) return rejected(releasedWriter());
    if (isClosing(stream)) return rejected(new TypeError("Cannot close the stream: it is closing already"));
    return closeWritable(stream);
  }

  write(chunk: unknown = undefined): Promise<unknown> {
    if (!(#state in this)) return rejected(new TypeError("Illegal invocation"));
    return this.#state.stream === undefined ? rejected(releasedWriter()) : writeChunk(this.#state, chunk);
  }

  releaseLock(): void {
    releaseWriter(this.#state);
  }
}

dressClass("WritableStream", WritableStream);
dressClass("WritableStreamDefaultController", WritableStreamDefaultController);
dressClass("WritableStreamDefaultWriter", WritableStreamDefaultWriter);
