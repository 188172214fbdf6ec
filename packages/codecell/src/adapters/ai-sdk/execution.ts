/**
 * Runs on the host. Execution: a promise of a program's output. Iterated, it also tells of the program's calls while
 * they run.
 *
 * - It is a native promise, so awaiting it gives the output and nothing else.
 * - Progress is told at a limited rate, and always as a whole: a slow reader misses only outdated progress.
 */
import type { CallState } from "../../contract/events.ts";
import type { InvocationCall } from "./nested-call.ts";

export interface CodeModeProgress {
  type: "code-mode-progress";
  /** How many calls the program made so far. `calls` lists the last of them. */
  total: number;
  calls: { toolName: string; toolCallId: string; status: CallState }[];
}

type Calls = ReadonlyMap<string, InvocationCall>;

const MOST_CALLS = 32;
const PAUSE_MS = 50;

export class Execution extends Promise<unknown> implements AsyncIterable<unknown> {
  // `then()` and similar methods give plain promises.
  static override readonly [Symbol.species]: PromiseConstructor = Promise;
  #calls: Calls = new Map();
  /** Grows with every change of the calls. */
  #news = 0;
  #isOver = false;
  /** Wakes sleeping readers: there may be several. */
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
    // A caller that only iterates hears of a failure there.
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

  /** Waits until there is something to tell, or until `ms` have passed. */
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
