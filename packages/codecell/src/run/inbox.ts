/**
 * Runs on the host. Inbox holds what is on its way to the guest.
 *
 * - Everything that is ready in one turn of the event loop becomes one delivery.
 * - With a journal, a delivery is durable before the recorder records it and the guest sees it. Items that come
 *   meanwhile join the next delivery.
 */
import type { Delivery, DeliveryItem } from "../contract/ledger.ts";
import type { Journal } from "../durable/journal.ts";
import { platform } from "../platform/host-platform.ts";

export class Inbox {
  readonly #journal: Journal | undefined;
  readonly #deliver: (delivery: Delivery) => void;
  /** Called when a delivery was written after the program's end, and is not delivered. */
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

  /** The program is over: nobody can receive the items that wait or are being written. */
  end(): void {
    this.#isOver = true;
    this.#items = [];
  }

  close(): void {
    this.#isClosed = true;
  }

  #flush(): void {
    if (this.#isClosed || this.#isWriting || this.#items.length === 0) return;
    // A copy has no spare room. A list that grew to one item takes sixteen times as much, and the ledger keeps it as
    // long as the run.
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
