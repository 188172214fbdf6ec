/**
 * Runs on the host. ProgressTurns hands on what a server says of its progress, at most once in a turn of the event loop: of
 * what comes in between, the newest counts.
 */
import type { Progress } from "@modelcontextprotocol/client";
import type { Json } from "codecell";

export class ProgressTurns {
  readonly #listener: (progress: Json) => void;
  readonly #signal: AbortSignal;
  /** What nobody was told yet. */
  #newest: Progress | undefined;

  constructor(listener: (progress: Json) => void, signal: AbortSignal) {
    this.#listener = listener;
    this.#signal = signal;
  }

  take(progress: Progress): void {
    const isWaiting = this.#newest !== undefined;
    this.#newest = progress;
    if (!isWaiting) setImmediate(() => this.flush());
  }

  /** Called before the answer is given: the last progress often comes right before it. */
  flush(): void {
    const newest = this.#newest;
    this.#newest = undefined;
    if (newest === undefined || this.#signal.aborted) return;
    const { progress, total, message } = newest;
    this.#listener({
      progress,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message }),
    });
  }
}
