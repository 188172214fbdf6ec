/**
 * Residence: where a run's cell lives. It may be lost at any moment; then it is placed again from the ledger.
 *
 * - Reports of an earlier placement are never heard.
 * - Counts what the cell owes: `isSettled` when it has answered everything it was told.
 */
import type { Report } from "../bridge/protocol.ts";
import type { Delivery } from "../contract/ledger.ts";
import type { Loss, Placement, Sandbox } from "../sandbox/sandbox.ts";
import type { LedgerBook } from "../suspend/ledger-book.ts";
import { exceedsLimits, toCellLimits } from "./cell-limits.ts";

/** How often a run's own worker may crash under it. */
const MOST_CRASHES = 2;

export interface ResidenceListener {
  readonly onReport: (report: Report) => void;
  /** It cannot be placed again. */
  readonly onLost: (loss: Loss) => void;
}

export class Residence {
  readonly #book: LedgerBook;
  readonly #sandbox: Sandbox;
  readonly #listener: ResidenceListener;
  #placement: Placement | undefined;
  #placements = 0;
  #crashes = 0;
  /** Reports the cell still owes. */
  #unanswered = 0;

  constructor(book: LedgerBook, sandbox: Sandbox, listener: ResidenceListener) {
    this.#book = book;
    this.#sandbox = sandbox;
    this.#listener = listener;
  }

  /** How often the cell was placed again. */
  get rebuilds(): number {
    return Math.max(0, this.#placements - 1);
  }

  get isSettled(): boolean {
    return this.#unanswered === 0;
  }

  place(): void {
    const placement = ++this.#placements;
    this.#book.rewind();
    this.#unanswered = 1;
    const { header, deliveries } = this.#book;
    const { source, language, seed, clock } = header;
    const isCurrent = (): boolean => placement === this.#placements;
    this.#placement = this.#sandbox.place(
      {
        source,
        language,
        seed,
        clock,
        toolNames: JSON.stringify(header.toolNames),
        limits: toCellLimits(header.limits),
        history: deliveries.slice(),
      },
      {
        onReport: (report) => {
          if (isCurrent()) this.#onReport(report);
        },
        onLost: (loss) => {
          if (isCurrent()) this.#onLost(loss);
        },
      },
    );
  }

  /** Hands over what the book has recorded. */
  deliver(delivery: Delivery): void {
    this.#unanswered++;
    this.#placement?.deliver(delivery);
  }

  /** Gives the cell up for good. */
  leave(): void {
    this.#placements++;
    this.#placement?.drop();
    this.#placement = undefined;
  }

  #onReport(report: Report): void {
    if (exceedsLimits(report, this.#book.header.limits)) {
      this.#placement?.drop();
      this.#onLost("crashed");
      return;
    }
    // What was delivered after the program's end found nobody, and nothing needs to be.
    this.#unanswered = report.isOver ? 0 : this.#unanswered - 1;
    this.#listener.onReport(report);
  }

  #onLost(loss: Loss): void {
    if (loss === "crashed") this.#crashes++;
    if (loss === "displaced" || (loss === "crashed" && this.#crashes <= MOST_CRASHES)) this.place();
    else this.#listener.onLost(loss);
  }
}
