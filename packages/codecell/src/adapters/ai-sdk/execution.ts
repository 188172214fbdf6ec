/**
 * Execution: a promise of a program's output that also tells, when iterated, of its calls while they run.
 *
 * - A native promise, so that whoever awaits it gets the output and nothing else.
 * - Progress is told at most every so often, and each time whole: whoever reads slowly misses nothing but the past.
 */
import type { CallState } from "../../contract/events.ts";
import type { InvocationCall } from "./nested-call.ts";

export interface CodeModeProgress {
  type: "code-mode-progress";
  /** All calls so far; the last ones are listed. */
  total: number;
  calls: { toolName: string; toolCallId: string; status: CallState }[];
}

type Calls = ReadonlyMap<string, InvocationCall>;

const MOST_CALLS = 32;
const PAUSE_MS = 50;

export class Execution extends Promise<unknown> implements AsyncIterable<unknown> {
  // What then() and its like give are plain promises.
  static override readonly [Symbol.species]: PromiseConstructor = Promise;
  #calls: Calls = new Map();
  /** Grows with every change of the calls. */
  #news = 0;
  #isOver = false;
  /** Of whoever reads and sleeps: there may be several. */
  readonly #wakes = new Set<() => void>();

  constructor(run: (onProgress: (calls: Calls) => void) => Promise<unknown>) {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    super((settle) => settle(promise));
    resolve(
      run((calls) => {
        this.#calls = calls;
        this.#news++;
        this.#wake();
      }),
    );
    const over = (): void => {
      this.#isOver = true;
      this.#wake();
    };
    // Whoever only iterates hears of a failure there.
    this.then(over, over);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown, void, undefined> {
    let told = 0;
    while (!this.#isOver) {
      if (this.#news > told) {
        told = this.#news;
        yield this.#progress();
        await this.#sleep(PAUSE_MS, () => this.#isOver);
      } else {
        await this.#sleep(undefined, () => this.#isOver || this.#news > told);
      }
    }
    yield await this;
  }

  #wake(): void {
    for (const wake of this.#wakes) wake();
  }

  /** Until something is to be told; for a while at most. */
  async #sleep(ms: number | undefined, isDone: () => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
    const wake = (): void => {
      if (isDone()) resolve();
    };
    this.#wakes.add(wake);
    wake();
    await promise;
    clearTimeout(timer);
    this.#wakes.delete(wake);
  }

  #progress(): CodeModeProgress {
    const calls = [...this.#calls.values()]
      .slice(-MOST_CALLS)
      .map(({ toolName, toolCallId, state }) => ({ toolName, toolCallId, status: state }));
    return { type: "code-mode-progress", total: this.#calls.size, calls };
  }
}
