/**
 * Pipe: moves a readable stream's chunks into a writable stream. Runs inside the guest.
 *
 * - Reads only while the destination wants more, and waits for all writes before it ends.
 */
import { onAbort, reasonOf, type AbortSignal } from "../../web/abort.ts";
import { primordial, promiseThen, withResolvers } from "../../primordials.ts";
import { chained, handled, noop, rejected, resolved } from "./promises.ts";
import {
  acquireReader,
  cancelReadable,
  readChunk,
  type ReadableState,
  releaseReader,
} from "./readable-core.ts";
import {
  abortWritable,
  acquireWriter,
  closeForPipe,
  desiredWriteSize,
  isClosing,
  releaseWriter,
  type WritableState,
  writeChunk,
} from "./writable-core.ts";

const { TypeError } = primordial;

export interface PipeOptions {
  readonly preventClose: boolean;
  readonly preventAbort: boolean;
  readonly preventCancel: boolean;
  readonly signal: AbortSignal | undefined;
}

type Action = () => Promise<unknown>;

/** Neither stream may be locked. */
export function pipe(source: ReadableState, target: WritableState, options: PipeOptions): Promise<unknown> {
  const { preventClose, preventAbort, preventCancel, signal } = options;
  const reader = acquireReader(source);
  const writer = acquireWriter(target);
  source.isDisturbed = true;
  const done = withResolvers();
  let isEnding = false;
  let current: Promise<unknown> = resolved();
  handled(done.promise);

  function finish(hasError: boolean, error: unknown): void {
    releaseWriter(writer);
    releaseReader(reader);
    if (hasError) done.reject(error);
    else done.resolve(undefined);
  }

  /** Ends the pipe after the writes that are under way, once. */
  function end(action: Action | undefined, hasError: boolean, error: unknown): void {
    if (isEnding) return;
    isEnding = true;
    const perform = (): void => {
      if (action === undefined) finish(hasError, error);
      else {
        promiseThen(
          action(),
          () => finish(hasError, error),
          (problem) => finish(true, problem),
        );
      }
    };
    if (target.state === "writable" && !isClosing(target)) afterWrites(perform);
    else perform();
  }

  function afterWrites(perform: () => void): void {
    const awaited = current;
    const next = (): void => (awaited === current ? perform() : afterWrites(perform));
    promiseThen(awaited, next, next);
  }

  function abortFor(reason: unknown): void {
    end(
      () => {
        const ends = [
          preventAbort || target.state !== "writable" ? resolved() : abortWritable(target, reason),
          preventCancel || source.state !== "readable" ? resolved() : cancelReadable(source, reason),
        ] as const;
        // Both go on at once; the first error counts.
        handled(ends[1]);
        return chained(
          ends[0],
          () => ends[1],
          (problem) => chained(ends[1], () => rejected(problem)),
        );
      },
      true,
      reason,
    );
  }

  function onSourceError(): void {
    const { reason } = source;
    end(preventAbort ? undefined : () => abortWritable(target, reason), true, reason);
  }

  function onTargetError(): void {
    const { reason } = target;
    end(preventCancel ? undefined : () => cancelReadable(source, reason), true, reason);
  }

  function onSourceClosed(): void {
    end(preventClose ? undefined : () => closeForPipe(target), false, undefined);
  }

  function onTargetClosed(): void {
    const problem = new TypeError("Cannot pipe to the stream: it is closing or closed");
    end(preventCancel ? undefined : () => cancelReadable(source, problem), true, problem);
  }

  function step(): void {
    if (isEnding) return;
    const size = desiredWriteSize(target);
    if (size === null || isClosing(target)) return;
    if (size <= 0) {
      promiseThen(writer.ready.promise, step, noop);
      return;
    }
    readChunk(reader, {
      chunk: (value) => {
        // Later, so that the reading of this chunk ends before a write begins.
        current = chained(resolved(), () => {
          const written = writeChunk(writer, value);
          handled(written);
          current = written;
          promiseThen(resolved(), step, noop);
        });
        handled(current);
      },
      close: noop,
      error: noop,
    });
  }

  if (signal !== undefined && !onAbort(signal, () => abortFor(reasonOf(signal)))) {
    abortFor(reasonOf(signal));
    return done.promise;
  }
  // In the standard's order: errors forward and backward, then closing forward and backward.
  if (source.state === "errored") onSourceError();
  else if (target.state === "errored") onTargetError();
  else if (source.state === "closed") onSourceClosed();
  else if (isClosing(target) || target.state === "closed") onTargetClosed();
  else {
    promiseThen(reader.closed.promise, onSourceClosed, () => {
      if (source.state === "errored") onSourceError();
    });
    promiseThen(writer.closed.promise, noop, () => {
      if (target.state === "errored") onTargetError();
    });
    step();
  }
  return done.promise;
}
