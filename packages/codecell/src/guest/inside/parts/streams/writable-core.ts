/**
 * Writable core: the state of writable streams, and the Streams standard's operations on it. Runs inside the guest.
 *
 * - The names of states and steps follow the standard, so that the two can be compared.
 */
import { primordial, promiseThen, withResolvers } from "../../primordials.ts";
import { handled, rejected, resolved, type Resolvers } from "./promises.ts";
import {
  clearQueue,
  dequeueSized,
  enqueueSized,
  type Fifo,
  fifo,
  peek,
  push,
  shift,
  type SizedQueue,
  sizedQueue,
  type Strategy,
} from "./queue.ts";

const { TypeError } = primordial;

export interface WriterState {
  stream: WritableState | undefined;
  closed: Resolvers;
  ready: Resolvers;
  isReadySettled: boolean;
  isClosedSettled: boolean;
}

/** The functions of a stream's sink. */
export interface Sink {
  readonly start: (controller: SinkController) => unknown;
  readonly write: (chunk: unknown, controller: SinkController) => Promise<unknown>;
  readonly close: () => Promise<unknown>;
  readonly abort: (reason: unknown) => Promise<unknown>;
}

export interface SinkController {
  readonly stream: WritableState;
  readonly queue: SizedQueue;
  strategy: Strategy;
  sink: Sink | undefined;
  isStarted: boolean;
  /** Aborts the signal of the controller that the program sees. */
  onAbort: (reason: unknown) => void;
}

interface PendingAbort extends Resolvers {
  readonly reason: unknown;
  readonly wasErroring: boolean;
}

export interface WritableState {
  state: "writable" | "erroring" | "errored" | "closed";
  reason: unknown;
  writer: WriterState | undefined;
  controller: SinkController;
  readonly requests: Fifo<Resolvers>;
  inFlightWrite: Resolvers | undefined;
  closeRequest: Resolvers | undefined;
  inFlightClose: Resolvers | undefined;
  pendingAbort: PendingAbort | undefined;
  hasBackpressure: boolean;
}

/** In the queue: the stream closes behind what was written before. */
const CLOSE = { closes: true };

export function createUnstartedWritable(strategy: Strategy): WritableState {
  const stream = {
    state: "writable",
    reason: undefined,
    writer: undefined,
    controller: undefined,
    requests: fifo(),
    inFlightWrite: undefined,
    closeRequest: undefined,
    inFlightClose: undefined,
    pendingAbort: undefined,
    hasBackpressure: false,
  } as unknown as WritableState;
  stream.controller = {
    stream,
    queue: sizedQueue(),
    strategy,
    sink: undefined,
    isStarted: false,
    onAbort: () => {},
  };
  return stream;
}

/** Throws what `start` throws. */
export function startSink(stream: WritableState, sink: Sink): void {
  const { controller } = stream;
  controller.sink = sink;
  updateBackpressure(stream, isFull(controller));
  promiseThen(
    resolved(sink.start(controller)),
    () => {
      controller.isStarted = true;
      advanceQueue(controller);
    },
    (reason) => {
      controller.isStarted = true;
      dealWithRejection(stream, reason);
    },
  );
}

export function isWritableLocked(stream: WritableState): boolean {
  return stream.writer !== undefined;
}

export function isClosing(stream: WritableState): boolean {
  return stream.closeRequest !== undefined || stream.inFlightClose !== undefined;
}

function clearAlgorithms(controller: SinkController): void {
  controller.sink = undefined;
  controller.strategy = { measure: () => 1, mark: controller.strategy.mark };
}

function roomOf({ strategy, queue }: SinkController): number {
  return strategy.mark - queue.total;
}

function isFull(controller: SinkController): boolean {
  return roomOf(controller) <= 0;
}

function resolveReady(writer: WriterState): void {
  writer.isReadySettled = true;
  writer.ready.resolve(undefined);
}

function rejectReady(writer: WriterState, reason: unknown): void {
  if (writer.isReadySettled) writer.ready = withResolvers();
  writer.isReadySettled = true;
  writer.ready.reject(reason);
  handled(writer.ready.promise);
}

function rejectClosed(writer: WriterState, reason: unknown): void {
  if (writer.isClosedSettled) writer.closed = withResolvers();
  writer.isClosedSettled = true;
  writer.closed.reject(reason);
  handled(writer.closed.promise);
}

function updateBackpressure(stream: WritableState, hasBackpressure: boolean): void {
  const { writer } = stream;
  if (writer !== undefined && hasBackpressure !== stream.hasBackpressure) {
    if (!hasBackpressure) resolveReady(writer);
    else {
      writer.ready = withResolvers();
      writer.isReadySettled = false;
    }
  }
  stream.hasBackpressure = hasBackpressure;
}

export function acquireWriter(stream: WritableState): WriterState {
  if (stream.writer !== undefined) {
    throw new TypeError(
      "Cannot write to the stream: it is locked to another writer, release that writer first",
    );
  }
  const writer: WriterState = {
    stream,
    closed: withResolvers(),
    ready: withResolvers(),
    isReadySettled: false,
    isClosedSettled: false,
  };
  stream.writer = writer;
  switch (stream.state) {
    case "writable":
      if (isClosing(stream) || !stream.hasBackpressure) resolveReady(writer);
      break;
    case "erroring":
      rejectReady(writer, stream.reason);
      break;
    case "closed":
      resolveReady(writer);
      writer.isClosedSettled = true;
      writer.closed.resolve(undefined);
      break;
    case "errored":
      rejectReady(writer, stream.reason);
      rejectClosed(writer, stream.reason);
      break;
    default:
      stream.state satisfies never;
  }
  return writer;
}

export function releaseWriter(writer: WriterState): void {
  const { stream } = writer;
  if (stream === undefined) return;
  const reason = releasedWriter();
  rejectReady(writer, reason);
  rejectClosed(writer, reason);
  stream.writer = undefined;
  writer.stream = undefined;
}

export function releasedWriter(): TypeError {
  return new TypeError("Cannot use the writer: it was released, get another one from its stream");
}

export function desiredWriteSize({ state, controller }: WritableState): number | null {
  if (state === "errored" || state === "erroring") return null;
  return state === "closed" ? 0 : roomOf(controller);
}

export function abortWritable(stream: WritableState, given: unknown): Promise<unknown> {
  if (stream.state === "closed" || stream.state === "errored") return resolved();
  stream.controller.onAbort(given);
  const state = stream.state as WritableState["state"];
  if (state === "closed" || state === "errored") return resolved();
  if (stream.pendingAbort !== undefined) return stream.pendingAbort.promise;
  const wasErroring = state === "erroring";
  const reason = wasErroring ? undefined : given;
  const { promise, resolve, reject } = withResolvers();
  stream.pendingAbort = { promise, resolve, reject, reason, wasErroring };
  if (!wasErroring) startErroring(stream, reason);
  return promise;
}

export function closeWritable(stream: WritableState): Promise<unknown> {
  if (stream.state === "closed" || stream.state === "errored") {
    return rejected(new TypeError(`Cannot close the stream: it is ${stream.state}`));
  }
  if (isClosing(stream)) return rejected(new TypeError("Cannot close the stream: it is closing already"));
  const request = withResolvers();
  stream.closeRequest = request;
  const { writer, controller } = stream;
  if (writer !== undefined && stream.hasBackpressure && stream.state === "writable") resolveReady(writer);
  enqueueSized(controller.queue, CLOSE, 0);
  advanceQueue(controller);
  return request.promise;
}

/** Closes the stream for a pipe: a stream that is closing or closed is no error. */
export function closeForPipe(stream: WritableState): Promise<unknown> {
  if (isClosing(stream) || stream.state === "closed") return resolved();
  return stream.state === "errored" ? rejected(stream.reason) : closeWritable(stream);
}

export function writeChunk(writer: WriterState, chunk: unknown): Promise<unknown> {
  const stream = writer.stream as WritableState;
  const { controller } = stream;
  const size = sizeOf(controller, chunk);
  // Measuring may have run code of the program, which may have released the writer.
  if (stream !== writer.stream) return rejected(releasedWriter());
  if (stream.state === "errored") return rejected(stream.reason);
  if (isClosing(stream) || stream.state === "closed") {
    return rejected(new TypeError("Cannot write to the stream: it is closing or closed"));
  }
  if (stream.state === "erroring") return rejected(stream.reason);
  const request = withResolvers();
  push(stream.requests, request);
  try {
    enqueueSized(controller.queue, { chunk }, size);
  } catch (error) {
    errorIfNeeded(controller, error);
    return request.promise;
  }
  if (!isClosing(stream) && (stream.state as string) === "writable")
    updateBackpressure(stream, isFull(controller));
  advanceQueue(controller);
  return request.promise;
}

function sizeOf(controller: SinkController, chunk: unknown): unknown {
  if (controller.sink === undefined) return 1;
  try {
    return controller.strategy.measure(chunk);
  } catch (error) {
    errorIfNeeded(controller, error);
    return 1;
  }
}

export function errorIfNeeded(controller: SinkController, reason: unknown): void {
  if (controller.stream.state !== "writable") return;
  clearAlgorithms(controller);
  startErroring(controller.stream, reason);
}

function startErroring(stream: WritableState, reason: unknown): void {
  stream.state = "erroring";
  stream.reason = reason;
  if (stream.writer !== undefined) rejectReady(stream.writer, reason);
  if (!hasInFlight(stream) && stream.controller.isStarted) finishErroring(stream);
}

function hasInFlight(stream: WritableState): boolean {
  return stream.inFlightWrite !== undefined || stream.inFlightClose !== undefined;
}

function dealWithRejection(stream: WritableState, reason: unknown): void {
  if (stream.state === "writable") startErroring(stream, reason);
  else finishErroring(stream);
}

function finishErroring(stream: WritableState): void {
  stream.state = "errored";
  const { controller } = stream;
  clearQueue(controller.queue);
  const { reason } = stream;
  for (let one = shift(stream.requests); one !== undefined; one = shift(stream.requests)) one.reject(reason);
  const abort = stream.pendingAbort;
  if (abort === undefined) {
    rejectCloseIfNeeded(stream);
    return;
  }
  stream.pendingAbort = undefined;
  if (abort.wasErroring) {
    abort.reject(reason);
    rejectCloseIfNeeded(stream);
    return;
  }
  const { sink } = controller;
  clearAlgorithms(controller);
  promiseThen(
    sink === undefined ? resolved() : sink.abort(abort.reason),
    () => {
      abort.resolve(undefined);
      rejectCloseIfNeeded(stream);
    },
    (problem) => {
      abort.reject(problem);
      rejectCloseIfNeeded(stream);
    },
  );
}

function rejectCloseIfNeeded(stream: WritableState): void {
  stream.closeRequest?.reject(stream.reason);
  stream.closeRequest = undefined;
  if (stream.writer !== undefined) rejectClosed(stream.writer, stream.reason);
}

function advanceQueue(controller: SinkController): void {
  const { stream, queue, sink } = controller;
  if (!controller.isStarted || stream.inFlightWrite !== undefined) return;
  if (stream.state === "erroring") {
    finishErroring(stream);
    return;
  }
  const next = peek(queue.chunks)?.value;
  if (next === undefined) return;
  if (next === CLOSE) processClose(controller, sink);
  else processWrite(controller, sink, (next as { readonly chunk: unknown }).chunk);
}

function processClose(controller: SinkController, sink: Sink | undefined): void {
  const { stream, queue } = controller;
  const request = stream.closeRequest;
  stream.inFlightClose = request;
  stream.closeRequest = undefined;
  dequeueSized(queue);
  const closing = sink === undefined ? resolved() : sink.close();
  clearAlgorithms(controller);
  promiseThen(
    closing,
    () => {
      request?.resolve(undefined);
      stream.inFlightClose = undefined;
      if (stream.state === "erroring") {
        stream.reason = undefined;
        stream.pendingAbort?.resolve(undefined);
        stream.pendingAbort = undefined;
      }
      stream.state = "closed";
      const { writer } = stream;
      if (writer === undefined) return;
      writer.isClosedSettled = true;
      writer.closed.resolve(undefined);
    },
    (reason) => {
      request?.reject(reason);
      stream.inFlightClose = undefined;
      stream.pendingAbort?.reject(reason);
      stream.pendingAbort = undefined;
      dealWithRejection(stream, reason);
    },
  );
}

function processWrite(controller: SinkController, sink: Sink | undefined, chunk: unknown): void {
  const { stream, queue } = controller;
  const request = shift(stream.requests);
  stream.inFlightWrite = request;
  promiseThen(
    sink === undefined ? resolved() : sink.write(chunk, controller),
    () => {
      request?.resolve(undefined);
      stream.inFlightWrite = undefined;
      const { state } = stream;
      dequeueSized(queue);
      if (!isClosing(stream) && state === "writable") updateBackpressure(stream, isFull(controller));
      advanceQueue(controller);
    },
    (reason) => {
      if (stream.state === "writable") clearAlgorithms(controller);
      request?.reject(reason);
      stream.inFlightWrite = undefined;
      dealWithRejection(stream, reason);
    },
  );
}
