/**
 * Readable core: the state of readable streams with default controllers and readers, and the Streams standard's
 * operations on it. Runs inside the guest.
 *
 * - The classes hold a state each and nothing else, so no getter of the program can reach one.
 */
import { primordial, promiseThen, withResolvers } from "../../primordials.ts";
import { chained, handled, noop, rejected, resolved, type Resolvers } from "./promises.ts";
import {
  clearQueue,
  countOf,
  dequeueSized,
  enqueueSized,
  type Fifo,
  fifo,
  push,
  shift,
  type SizedQueue,
  sizedQueue,
  type Strategy,
} from "./queue.ts";

const { TypeError } = primordial;

/** What happens to one read: exactly one of its functions is called. */
export interface ReadRequest {
  readonly chunk: (value: unknown) => void;
  readonly close: () => void;
  readonly error: (reason: unknown) => void;
}

export interface ReaderState {
  stream: ReadableState | undefined;
  closed: Resolvers;
  readonly requests: Fifo<ReadRequest>;
}

/** The functions of a stream's source. */
export interface Source {
  readonly start: (controller: SourceController) => unknown;
  readonly pull: (controller: SourceController) => Promise<unknown>;
  readonly cancel: (reason: unknown) => Promise<unknown>;
}

export interface SourceController {
  readonly stream: ReadableState;
  readonly queue: SizedQueue;
  strategy: Strategy;
  source: Source | undefined;
  isStarted: boolean;
  isPulling: boolean;
  isPullWanted: boolean;
  isCloseRequested: boolean;
}

export interface ReadableState {
  state: "readable" | "closed" | "errored";
  reason: unknown;
  isDisturbed: boolean;
  reader: ReaderState | undefined;
  controller: SourceController;
}

export function isLocked(stream: ReadableState): boolean {
  return stream.reader !== undefined;
}

/** Makes a stream and starts its source; throws what `start` throws. */
export function createReadable(source: Source, strategy: Strategy): ReadableState {
  const made = createUnstarted(strategy);
  startSource(made, source);
  return made;
}

/** For a class that has to exist before its source starts. */
export function createUnstarted(strategy: Strategy): ReadableState {
  const stream = {
    state: "readable",
    reason: undefined,
    isDisturbed: false,
    reader: undefined,
    controller: undefined,
  } as unknown as ReadableState;
  stream.controller = {
    stream,
    queue: sizedQueue(),
    strategy,
    source: undefined,
    isStarted: false,
    isPulling: false,
    isPullWanted: false,
    isCloseRequested: false,
  };
  return stream;
}

export function startSource({ controller }: ReadableState, source: Source): void {
  controller.source = source;
  promiseThen(
    resolved(source.start(controller)),
    () => {
      controller.isStarted = true;
      pullIfNeeded(controller);
    },
    (reason) => errorController(controller, reason),
  );
}

function clearAlgorithms(controller: SourceController): void {
  controller.source = undefined;
  controller.strategy = { measure: noop, mark: controller.strategy.mark };
}

export function desiredSize({ stream, strategy, queue }: SourceController): number | null {
  if (stream.state === "errored") return null;
  return stream.state === "closed" ? 0 : strategy.mark - queue.total;
}

export function canCloseOrEnqueue({ stream, isCloseRequested }: SourceController): boolean {
  return !isCloseRequested && stream.state === "readable";
}

function shouldPull(controller: SourceController): boolean {
  const { stream, isStarted } = controller;
  if (!canCloseOrEnqueue(controller) || !isStarted) return false;
  if (stream.reader !== undefined && countOf(stream.reader.requests) > 0) return true;
  return (desiredSize(controller) as number) > 0;
}

export function hasBackpressure(controller: SourceController): boolean {
  return !shouldPull(controller);
}

function pullIfNeeded(controller: SourceController): void {
  if (!shouldPull(controller) || controller.source === undefined) return;
  if (controller.isPulling) {
    controller.isPullWanted = true;
    return;
  }
  controller.isPulling = true;
  promiseThen(
    controller.source.pull(controller),
    () => {
      controller.isPulling = false;
      if (!controller.isPullWanted) return;
      controller.isPullWanted = false;
      pullIfNeeded(controller);
    },
    (reason) => errorController(controller, reason),
  );
}

export function closeController(controller: SourceController): void {
  if (!canCloseOrEnqueue(controller)) return;
  controller.isCloseRequested = true;
  if (countOf(controller.queue.chunks) > 0) return;
  clearAlgorithms(controller);
  closeReadable(controller.stream);
}

export function enqueueChunk(controller: SourceController, chunk: unknown): void {
  if (!canCloseOrEnqueue(controller)) return;
  const { reader } = controller.stream;
  const request = reader === undefined ? undefined : shift(reader.requests);
  if (request !== undefined) request.chunk(chunk);
  else {
    try {
      enqueueSized(controller.queue, chunk, controller.strategy.measure(chunk));
    } catch (error) {
      errorController(controller, error);
      throw error;
    }
  }
  pullIfNeeded(controller);
}

export function errorController(controller: SourceController, reason: unknown): void {
  const { stream } = controller;
  if (stream.state !== "readable") return;
  clearQueue(controller.queue);
  clearAlgorithms(controller);
  stream.state = "errored";
  stream.reason = reason;
  const { reader } = stream;
  if (reader === undefined) return;
  reader.closed.reject(reason);
  handled(reader.closed.promise);
  for (let one = shift(reader.requests); one !== undefined; one = shift(reader.requests)) one.error(reason);
}

function closeReadable(stream: ReadableState): void {
  stream.state = "closed";
  const { reader } = stream;
  if (reader === undefined) return;
  reader.closed.resolve(undefined);
  for (let one = shift(reader.requests); one !== undefined; one = shift(reader.requests)) one.close();
}

export function cancelReadable(stream: ReadableState, reason: unknown): Promise<unknown> {
  stream.isDisturbed = true;
  if (stream.state === "closed") return resolved();
  if (stream.state === "errored") return rejected(stream.reason);
  closeReadable(stream);
  const { controller } = stream;
  clearQueue(controller.queue);
  const { source } = controller;
  clearAlgorithms(controller);
  return chained(source === undefined ? resolved() : source.cancel(reason), noop);
}

/** Throws if the stream has a reader already. */
export function acquireReader(stream: ReadableState): ReaderState {
  if (stream.reader !== undefined) {
    throw new TypeError("Cannot read the stream: it is locked to another reader, release that reader first");
  }
  const reader: ReaderState = { stream, closed: withResolvers(), requests: fifo() };
  stream.reader = reader;
  if (stream.state === "closed") reader.closed.resolve(undefined);
  else if (stream.state === "errored") {
    reader.closed.reject(stream.reason);
    handled(reader.closed.promise);
  }
  return reader;
}

/** Reads one chunk. The reader must have its stream. */
export function readChunk(reader: ReaderState, request: ReadRequest): void {
  const stream = reader.stream as ReadableState;
  stream.isDisturbed = true;
  if (stream.state === "closed") request.close();
  else if (stream.state === "errored") request.error(stream.reason);
  else {
    const { controller } = stream;
    if (countOf(controller.queue.chunks) === 0) {
      push(reader.requests, request);
      pullIfNeeded(controller);
      return;
    }
    const chunk = dequeueSized(controller.queue);
    if (controller.isCloseRequested && countOf(controller.queue.chunks) === 0) {
      clearAlgorithms(controller);
      closeReadable(stream);
    } else pullIfNeeded(controller);
    request.chunk(chunk);
  }
}

export function releaseReader(reader: ReaderState): void {
  const { stream } = reader;
  if (stream === undefined) return;
  const reason = released();
  if (stream.state !== "readable") reader.closed = withResolvers();
  reader.closed.reject(reason);
  handled(reader.closed.promise);
  stream.reader = undefined;
  reader.stream = undefined;
  for (let one = shift(reader.requests); one !== undefined; one = shift(reader.requests)) one.error(reason);
}

export function released(): TypeError {
  return new TypeError("Cannot use the reader: it was released, get another one from its stream");
}

interface Tee {
  readonly reader: ReaderState;
  readonly done: Resolvers;
  readonly branches: [ReadableState, ReadableState];
  readonly canceled: [boolean, boolean];
  readonly reasons: [unknown, unknown];
  isReading: boolean;
  isReadWanted: boolean;
}

export function teeReadable(stream: ReadableState): [ReadableState, ReadableState] {
  const tee: Tee = {
    reader: acquireReader(stream),
    done: withResolvers(),
    branches: [undefined as never, undefined as never],
    canceled: [false, false],
    reasons: [undefined, undefined],
    isReading: false,
    isReadWanted: false,
  };
  const { branches, canceled, done, reader } = tee;
  for (let index = 0; index < 2; index += 1) {
    const branch = index as 0 | 1;
    branches[branch] = createReadable(
      {
        start: noop,
        pull: () => pullTee(tee),
        cancel: (reason) => cancelBranch(tee, branch, reason),
      },
      { measure: () => 1, mark: 1 },
    );
  }
  promiseThen(reader.closed.promise, noop, (reason) => {
    errorController(branches[0].controller, reason);
    errorController(branches[1].controller, reason);
    if (!canceled[0] || !canceled[1]) done.resolve(undefined);
  });
  return branches;
}

function pullTee(tee: Tee): Promise<unknown> {
  const { branches, canceled, done, reader } = tee;
  if (tee.isReading) {
    tee.isReadWanted = true;
    return resolved();
  }
  tee.isReading = true;
  readChunk(reader, {
    chunk: (value) => {
      // In a microtask, so that an error of the stream reaches the branches before the chunk does.
      promiseThen(
        resolved(),
        () => {
          tee.isReadWanted = false;
          if (!canceled[0]) enqueueChunk(branches[0].controller, value);
          if (!canceled[1]) enqueueChunk(branches[1].controller, value);
          tee.isReading = false;
          if (tee.isReadWanted) void pullTee(tee);
        },
        noop,
      );
    },
    close: () => {
      tee.isReading = false;
      if (!canceled[0]) closeController(branches[0].controller);
      if (!canceled[1]) closeController(branches[1].controller);
      if (!canceled[0] || !canceled[1]) done.resolve(undefined);
    },
    error: () => {
      tee.isReading = false;
    },
  });
  return resolved();
}

function cancelBranch(tee: Tee, branch: 0 | 1, reason: unknown): Promise<unknown> {
  const { canceled, done, reader, reasons } = tee;
  canceled[branch] = true;
  reasons[branch] = reason;
  if (canceled[0] && canceled[1]) {
    done.resolve(cancelReadable(reader.stream as ReadableState, [reasons[0], reasons[1]]));
  }
  return done.promise;
}

/** A stream that gives these chunks. */
export function readableOf(next: () => unknown): ReadableState {
  return createReadable(
    {
      start: noop,
      pull: (controller) => {
        const chunk = next();
        if (chunk === undefined) closeController(controller);
        else enqueueChunk(controller, chunk);
        return resolved();
      },
      cancel: () => resolved(),
    },
    { measure: () => 1, mark: 0 },
  );
}

/** A stream that was read to its end, and is locked to its reader. */
export function spentReadable(): ReadableState {
  const stream = readableOf(noop);
  handled(cancelReadable(stream, undefined));
  acquireReader(stream);
  return stream;
}

/** All chunks of a stream, which is locked meanwhile. `accept` throws for a chunk that must not be there. */
export function readAll(stream: ReadableState, accept: (chunk: unknown) => void): Promise<unknown> {
  const reader = acquireReader(stream);
  const done = withResolvers();
  const step = (): void =>
    readChunk(reader, {
      chunk: (value) => {
        try {
          accept(value);
        } catch (error) {
          handled(cancelReadable(stream, error));
          done.reject(error);
          return;
        }
        // Not deeper on the stack: a stream may have thousands of chunks ready.
        promiseThen(resolved(), step, noop);
      },
      close: () => done.resolve(undefined),
      error: done.reject,
    });
  step();
  return done.promise;
}
