/** EventStream: a run's events, for any number of readers, each from the first event on. */
import type { RunEvent } from "../contract/result.ts";

export class EventStream implements AsyncIterable<RunEvent> {
  readonly #events: RunEvent[] = [];
  /** Readers that have seen everything so far. */
  #waiting: (() => void)[] = [];
  #isEnded = false;

  emit(event: RunEvent): void {
    this.#events.push(event);
    this.#wake();
  }

  /** There will be no run: readers come to an end all the same. */
  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  #wake(): void {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent, void, undefined> {
    for (let index = 0; ; index++) {
      if (this.#events[index - 1]?.type === "run-end") return;
      while (index >= this.#events.length) {
        if (this.#isEnded) return;
        await new Promise<void>((resolve) => {
          this.#waiting.push(resolve);
        });
      }
      yield this.#events[index] as RunEvent;
    }
  }
}
