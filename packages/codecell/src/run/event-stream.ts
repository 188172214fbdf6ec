/** EventStream: a run's events, for any number of readers, each from the first event on. */
import type { RunEvent } from "../contract/result.ts";

export class EventStream implements AsyncIterable<RunEvent> {
  readonly #events: RunEvent[] = [];
  #wake = Promise.withResolvers<void>();
  #ended = false;

  emit(event: RunEvent): void {
    this.#events.push(event);
    if (event.type === "run-end") this.#ended = true;
    this.#wake.resolve();
    if (!this.#ended) this.#wake = Promise.withResolvers<void>();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent, void, undefined> {
    for (let index = 0; ; index++) {
      while (index >= this.#events.length) {
        if (this.#ended) return;
        await this.#wake.promise;
      }
      yield this.#events[index] as RunEvent;
    }
  }
}
