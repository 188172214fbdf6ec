/**
 * Inbox: what is on its way to the guest.
 *
 * - What is ready in one turn of the event loop is one delivery.
 * - With a journal a delivery is durable before the recorder records it and the guest sees it; what comes meanwhile joins
 *   the next one.
 */
import type { Delivery, DeliveryItem } from "../contract/ledger.ts";
import type { Journal } from "../durable/journal.ts";
import { platform } from "../platform/host-platform.ts";

export class Inbox {
  readonly #journal: Journal | undefined;
  readonly #deliver: (delivery: Delivery) => void;
  /** Called when what was on its way has been given up. */
  readonly #onEmpty: () => void;
  #items: DeliveryItem[] = [];
  #isWriting = false;
  #isClosed = false;
  #isOver = false;

  constructor(journal: Journal | undefined, deliver: (delivery: Delivery) => void, onEmpty: () => void) {
    this.#journal = journal;
    this.#deliver = deliver;
    this.#onEmpty = onEmpty;
  }

  get isEmpty(): boolean {
    return this.#items.length === 0 && !this.#isWriting;
  }

  add(item: DeliveryItem): void {
    if (this.#isOver) return;
    this.#items.push(item);
    if (this.#items.length > 1) return;
    // Timers that are due together fire one by one in the same turn.
    if (item.kind === "timer") platform.afterTimers(() => this.#flush());
    else platform.afterThis(() => this.#flush());
  }

  /** The program is over: nobody is left to receive what has not gone out, nor what is being written. */
  end(): void {
    this.#isOver = true;
    this.#items = [];
  }

  close(): void {
    this.#isClosed = true;
  }

  #flush(): void {
    if (this.#isClosed || this.#isWriting || this.#items.length === 0) return;
    // A copy has no room left over: with one item a list that grew has sixteen times as much, kept as long as the run.
    const delivery = { clock: Date.now(), items: this.#items.slice() };
    this.#items = [];
    if (this.#journal === undefined) {
      this.#deliver(delivery);
      return;
    }
    this.#isWriting = true;
    this.#journal.write({ kind: "delivery", delivery }).then(
      () => {
        this.#isWriting = false;
        if (this.#isClosed) return;
        if (this.#isOver) {
          this.#onEmpty();
          return;
        }
        this.#deliver(delivery);
        this.#flush();
      },
      // The journal broke, which has ended the run.
      () => {},
    );
  }
}
