/**
 * Transform core: a writable and a readable stream, with a function between them. Runs inside the guest.
 */
import { primordial, promiseThen, withResolvers } from "../../primordials.ts";
import { chained, handled, noop, resolved, type Resolvers } from "./promises.ts";
import type { Strategy } from "./queue.ts";
import {
  canCloseOrEnqueue,
  closeController,
  createUnstarted,
  enqueueChunk,
  errorController,
  hasBackpressure,
  type ReadableState,
  startSource,
} from "./readable-core.ts";
import { createUnstartedWritable, errorIfNeeded, startSink, type WritableState } from "./writable-core.ts";

const { TypeError } = primordial;

/** The functions of a transformer. */
export interface Transformer {
  readonly transform: (chunk: unknown, stream: TransformState) => Promise<unknown>;
  readonly flush: (stream: TransformState) => Promise<unknown>;
  readonly cancel: (reason: unknown) => Promise<unknown>;
}

export interface TransformState {
  readonly readable: ReadableState;
  readonly writable: WritableState;
  transformer: Transformer | undefined;
  hasBackpressure: boolean;
  backpressureChange: Resolvers;
  /** Set while the stream is being closed, aborted or canceled: that happens once. */
  finish: Resolvers | undefined;
}

export function createTransform(writeStrategy: Strategy, readStrategy: Strategy): TransformState {
  return {
    readable: createUnstarted(readStrategy),
    writable: createUnstartedWritable(writeStrategy),
    transformer: undefined,
    hasBackpressure: true,
    backpressureChange: withResolvers(),
    finish: undefined,
  };
}

/** Both sides start when `start` has settled. */
export function startTransform(
  stream: TransformState,
  transformer: Transformer,
  start: Promise<unknown>,
): void {
  stream.transformer = transformer;
  startSink(stream.writable, {
    start: () => start,
    write: (chunk) => writeThrough(stream, chunk),
    close: () => closeSink(stream),
    abort: (reason) => abortSink(stream, reason),
  });
  startSource(stream.readable, {
    start: () => start,
    pull: () => {
      setBackpressure(stream, false);
      return stream.backpressureChange.promise;
    },
    cancel: (reason) => cancelSource(stream, reason),
  });
}

function setBackpressure(stream: TransformState, isOn: boolean): void {
  stream.backpressureChange.resolve(undefined);
  stream.backpressureChange = withResolvers();
  stream.hasBackpressure = isOn;
}

export function enqueueTransformed(stream: TransformState, chunk: unknown): void {
  const { controller } = stream.readable;
  if (!canCloseOrEnqueue(controller)) {
    throw new TypeError("Cannot enqueue the chunk: the readable side is closed or errored");
  }
  try {
    enqueueChunk(controller, chunk);
  } catch (error) {
    errorWritableSide(stream, error);
    throw stream.readable.reason;
  }
  const isOn = hasBackpressure(controller);
  if (isOn !== stream.hasBackpressure) setBackpressure(stream, true);
}

export function errorTransform(stream: TransformState, reason: unknown): void {
  errorController(stream.readable.controller, reason);
  errorWritableSide(stream, reason);
}

function errorWritableSide(stream: TransformState, reason: unknown): void {
  stream.transformer = undefined;
  errorIfNeeded(stream.writable.controller, reason);
  if (stream.hasBackpressure) setBackpressure(stream, false);
}

export function terminateTransform(stream: TransformState): void {
  closeController(stream.readable.controller);
  errorWritableSide(stream, new TypeError("Cannot write to the stream: its transformer has terminated it"));
}

function writeThrough(stream: TransformState, chunk: unknown): Promise<unknown> {
  if (!stream.hasBackpressure) return transformChunk(stream, chunk);
  return chained(stream.backpressureChange.promise, () => {
    const { writable } = stream;
    if (writable.state === "erroring") throw writable.reason;
    return transformChunk(stream, chunk);
  });
}

function transformChunk(stream: TransformState, chunk: unknown): Promise<unknown> {
  const { transformer } = stream;
  if (transformer === undefined) return resolved();
  return chained(transformer.transform(chunk, stream), noop, (reason) => {
    errorTransform(stream, reason);
    throw reason;
  });
}

/** Runs the last step of the transformer once; both sides wait for it. */
function finishOnce(
  stream: TransformState,
  run: (transformer: Transformer) => Promise<unknown>,
  onDone: (finish: Resolvers) => void,
  onFailed: (finish: Resolvers, reason: unknown) => void,
): Promise<unknown> {
  if (stream.finish !== undefined) return stream.finish.promise;
  const finish = withResolvers();
  stream.finish = finish;
  handled(finish.promise);
  const { transformer } = stream;
  const running = transformer === undefined ? resolved() : run(transformer);
  stream.transformer = undefined;
  promiseThen(
    running,
    () => onDone(finish),
    (reason) => onFailed(finish, reason),
  );
  return finish.promise;
}

function abortSink(stream: TransformState, reason: unknown): Promise<unknown> {
  const { readable } = stream;
  return finishOnce(
    stream,
    ({ cancel }) => cancel(reason),
    (finish) => {
      if (readable.state === "errored") finish.reject(readable.reason);
      else {
        errorController(readable.controller, reason);
        finish.resolve(undefined);
      }
    },
    (finish, problem) => {
      errorController(readable.controller, problem);
      finish.reject(problem);
    },
  );
}

function closeSink(stream: TransformState): Promise<unknown> {
  const { readable } = stream;
  return finishOnce(
    stream,
    ({ flush }) => flush(stream),
    (finish) => {
      if (readable.state === "errored") finish.reject(readable.reason);
      else {
        closeController(readable.controller);
        finish.resolve(undefined);
      }
    },
    (finish, problem) => {
      errorController(readable.controller, problem);
      finish.reject(problem);
    },
  );
}

function cancelSource(stream: TransformState, reason: unknown): Promise<unknown> {
  const { writable } = stream;
  const unblock = (): void => {
    if (stream.hasBackpressure) setBackpressure(stream, false);
  };
  return finishOnce(
    stream,
    ({ cancel }) => cancel(reason),
    (finish) => {
      if (writable.state === "errored") finish.reject(writable.reason);
      else {
        errorIfNeeded(writable.controller, reason);
        unblock();
        finish.resolve(undefined);
      }
    },
    (finish, problem) => {
      errorIfNeeded(writable.controller, problem);
      unblock();
      finish.reject(problem);
    },
  );
}
