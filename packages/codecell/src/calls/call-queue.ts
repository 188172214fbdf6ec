/**
 * CallQueue: the calls of one run on the host. At most `callsInFlight` execute, the rest wait their turn.
 *
 * - A batch is admitted whole or not at all.
 * - Of large inputs few execute at the same time: each is a value then, which takes up to twenty times as much as its text.
 *   Calls start in their order all the same.
 * - After `close` nothing new starts; what executes has been told to stop through its signal.
 */
import type { Limits } from "../contract/limits.ts";

/** Characters that inputs which execute together may have on average, with as many of them as there may be. */
const INPUT_LENGTH = 65_536;
/** Inputs of no more wait for no others: a large one that takes long keeps nobody from asking how it goes. */
const SMALL_LENGTH = 4096;

export class CallQueue {
  readonly #inFlightLimit: number;
  readonly #queueLimit: number;
  /** Characters of a call's input; none where it is not executed here. */
  readonly #lengthOf: (index: number) => number;
  readonly #execute: (index: number) => Promise<void>;
  readonly #inFlight = new Set<number>();
  /** Characters of the inputs of those in flight. */
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

  /** False when the batch does not fit; then none of it was admitted. */
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

  /** Settles when, after `close`, nothing executes any more. */
  get idle(): Promise<void> {
    return this.#idle.promise;
  }

  #pump(): void {
    while (this.#inFlight.size < this.#inFlightLimit) {
      const index = this.#queued[0];
      if (index === undefined) return;
      const length = this.#lengthOf(index);
      // One alone may always execute.
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
