/**
 * Residence: where a run's cell lives. It may be lost at any moment; then it is placed again from the ledger.
 *
 * - Reports of an earlier placement are never heard.
 * - Counts what the cell owes: `isSettled` when it has answered everything it was told.
 * - A cell that waits for long sleeps: its snapshot is kept and the cell dropped, until something is delivered.
 */
import type { Report } from "../bridge/protocol.ts";
import type { Delivery, Progress } from "../contract/ledger.ts";
import type { CellStart, Loss, Placement, Sandbox } from "../sandbox/sandbox.ts";
import type { LedgerBook } from "../suspend/ledger-book.ts";
import { exceedsLimits, toCellLimits } from "./cell-limits.ts";

/** How often a run's own worker may crash under it. */
const MOST_CRASHES = 2;

export interface ResidenceListener {
  readonly onReport: (report: Report) => void;
  /** It cannot be placed again. */
  readonly onLost: (loss: Loss) => void;
}

/** The memory of a cell, and where in its ledger the run stood. */
export interface CellSnapshot {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly progress: Progress;
}

/** After this the cell of a run that waits is worth more asleep. */
const SLEEP_AFTER_MS = 10_000;

/** A run that moved less and computed less than this is rebuilt from its ledger as fast as from a snapshot. */
const REPLAY_SIZE = 16_384;
const REPLAY_CPU_MS = 20;

export class Residence {
  readonly #book: LedgerBook;
  readonly #sandbox: Sandbox;
  readonly #listener: ResidenceListener;
  #placement: Placement | undefined;
  #placements = 0;
  #crashes = 0;
  /** Reports the cell still owes. */
  #unanswered = 0;
  /** The latest there is; placements go on from it. */
  #snapshot: CellSnapshot | undefined;
  #sleepTimer: NodeJS.Timeout | undefined;
  #rebuilds = 0;

  constructor(
    book: LedgerBook,
    sandbox: Sandbox,
    listener: ResidenceListener,
    snapshot: CellSnapshot | undefined,
  ) {
    this.#book = book;
    this.#sandbox = sandbox;
    this.#listener = listener;
    this.#snapshot = snapshot;
  }

  /** How often the cell was placed again. */
  get rebuilds(): number {
    return this.#rebuilds;
  }

  get isSettled(): boolean {
    return this.#unanswered === 0;
  }

  place(): void {
    const placement = ++this.#placements;
    this.#unanswered = 1;
    const { source, language, seed, clock, toolNames, limits } = this.#book.header;
    const isCurrent = (): boolean => placement === this.#placements;
    this.#placement = this.#sandbox.place(
      {
        source,
        language,
        seed,
        clock,
        toolNames: JSON.stringify(toolNames),
        limits: toCellLimits(limits),
        ...this.#beginning(),
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
    if (this.#placement === undefined) {
      this.place();
      return;
    }
    this.#unanswered++;
    this.#placement.deliver(delivery);
  }

  /** The cell as it is now, if it is at rest and stays so until the answer comes. */
  async snapshot(): Promise<CellSnapshot | undefined> {
    const placement = this.#placements;
    const { progress } = this.#book;
    if (this.#placement === undefined) return this.#snapshot;
    const bytes = this.isSettled ? await this.#placement.snapshot() : undefined;
    const isSame = placement === this.#placements && progress.deliveries === this.#book.deliveries.length;
    return bytes === undefined || !isSame ? undefined : { bytes, progress };
  }

  /** Undefined when the ledger is the cheaper way back: it is kept in any case, and small ones replay at once. */
  async snapshotThatPays(cpuTimeMs: number): Promise<Uint8Array | undefined> {
    if (this.#book.size < REPLAY_SIZE && cpuTimeMs < REPLAY_CPU_MS) return undefined;
    return (await this.snapshot())?.bytes;
  }

  /** Gives the cell up: for good, unless something is delivered. */
  leave(): void {
    clearTimeout(this.#sleepTimer);
    this.#placements++;
    this.#placement?.drop();
    this.#placement = undefined;
  }

  #beginning(): Pick<CellStart, "history" | "snapshot"> {
    const snapshot = this.#snapshot;
    const unseen = snapshot === undefined ? undefined : this.#book.rewindTo(snapshot.progress);
    if (snapshot !== undefined && unseen !== undefined) return { history: unseen, snapshot };
    this.#book.rewind();
    return { history: this.#book.deliveries.slice() };
  }

  async #sleep(): Promise<void> {
    const snapshot = await this.snapshot();
    if (snapshot === undefined || this.#placement === undefined) return;
    this.#snapshot = snapshot;
    this.leave();
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
    if (this.#placement === undefined || report.isOver || !this.isSettled) return;
    // One timer for all turns: most runs never wait that long.
    this.#sleepTimer =
      this.#sleepTimer?.refresh() ?? setTimeout(() => void this.#sleep(), SLEEP_AFTER_MS).unref();
  }

  #onLost(loss: Loss): void {
    if (loss === "crashed") this.#crashes++;
    if (loss === "snapshot_refused") {
      this.#snapshot = undefined;
      this.place();
      return;
    }
    this.#rebuilds++;
    if (loss === "displaced" || (loss === "crashed" && this.#crashes <= MOST_CRASHES)) this.place();
    else this.#listener.onLost(loss);
  }
}
