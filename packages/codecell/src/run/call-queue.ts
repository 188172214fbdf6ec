/**
 * CallQueue: the calls of one run on the host. At most `inFlight` execute, the rest wait their turn.
 *
 * - A batch is admitted whole or not at all.
 * - After `close` nothing new starts; what executes has been told to stop through its signal.
 */
export class CallQueue {
  readonly #inFlightLimit: number;
  readonly #queueLimit: number;
  readonly #execute: (index: number) => Promise<void>;
  readonly #inFlight = new Set<number>();
  #queued: number[] = [];
  #closed = false;
  #idle = Promise.withResolvers<void>();

  constructor(inFlightLimit: number, queueLimit: number, execute: (index: number) => Promise<void>) {
    this.#inFlightLimit = inFlightLimit;
    this.#queueLimit = queueLimit;
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
      const index = this.#queued.shift();
      if (index === undefined) return;
      this.#inFlight.add(index);
      const leave = (): void => this.#leave(index);
      this.#execute(index).then(leave, leave);
    }
  }

  #leave(index: number): void {
    this.#inFlight.delete(index);
    if (this.#closed && this.#inFlight.size === 0) this.#idle.resolve();
    this.#pump();
  }
}
