/**
 * Runs on the host. CallQueue holds the calls of one run: at most `callsInFlight` of them execute, the rest wait.
 *
 * - A batch is admitted whole or not at all.
 * - Only a few calls with large inputs execute at the same time: while a call executes, its input is a value, which
 *   takes up to twenty times as much memory as its text. Calls still start in their order.
 * - After `close` no call starts. The calls that still execute have been told to stop through their signal.
 */
import type { Limits } from "../contract/limits.ts";

/** Characters that each executing input may have on average, if as many calls execute as are allowed. */
const INPUT_LENGTH = 65_536;
/**
 * A call with an input of at most this length starts although large inputs execute. So a program can ask about a large
 * call that takes long.
 */
const SMALL_LENGTH = 4096;

export class CallQueue {
  readonly #inFlightLimit: number;
  readonly #queueLimit: number;
  /** Characters of a call's input; 0 if the call is not executed here. */
  readonly #lengthOf: (index: number) => number;
  readonly #execute: (index: number) => Promise<void>;
  readonly #inFlight = new Set<number>();
  /** Characters of all inputs in flight. */
  #inputsLength = 0;
  #queued: number[] = [];
  #closed = false;
  #idle = Promise.withResolvers<void>();

  constructor(
    limits: Pick<Limits, "callsInFlight" | "callsQueued">,
    lengthOf: (index: number) => number,
    execute: (index: number) => Promise<void>,
  ) {
    this.#inFlightLimit = limits.callsInFlight;
    this.#queueLimit = limits.callsQueued;
    this.#lengthOf = lengthOf;
    this.#execute = execute;
  }

  get size(): number {
    return this.#inFlight.size + this.#queued.length;
  }

  get executing(): number {
    return this.#inFlight.size;
  }

  get inFlight(): readonly number[] {
    return [...this.#inFlight];
  }

  /** False if the batch does not fit. Then none of its calls was admitted. */
  admit(batch: readonly number[]): boolean {
    if (this.#closed) return true;
    const free = this.#inFlightLimit - this.#inFlight.size;
    if (this.#queued.length + batch.length > free + this.#queueLimit) return false;
    this.take(batch);
    return true;
  }

  /** Admits calls that were admitted before the run was suspended. */
  take(batch: readonly number[]): void {
    for (const index of batch) this.#queued.push(index);
    this.#pump();
  }

  close(): void {
    this.#closed = true;
    this.#queued = [];
    if (this.#inFlight.size === 0) this.#idle.resolve();
  }

  /** Settles after `close`, when no call executes any more. */
  get idle(): Promise<void> {
    return this.#idle.promise;
  }

  #pump(): void {
    while (this.#inFlight.size < this.#inFlightLimit) {
      const index = this.#queued[0];
      if (index === undefined) return;
      const length = this.#lengthOf(index);
      // A call that is alone may always execute, however large its input is.
      const isFull =
        this.#inputsLength > 0 && this.#inputsLength + length > this.#inFlightLimit * INPUT_LENGTH;
      if (isFull && length > SMALL_LENGTH) return;
      this.#queued.shift();
      this.#inFlight.add(index);
      this.#inputsLength += length;
      const leave = (): void => this.#leave(index, length);
      this.#execute(index).then(leave, leave);
    }
  }

  #leave(index: number, length: number): void {
    this.#inFlight.delete(index);
    this.#inputsLength -= length;
    if (this.#closed && this.#inFlight.size === 0) this.#idle.resolve();
    this.#pump();
  }
}
