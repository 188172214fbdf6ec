/**
 * Runs on the host. PlacedCell: a run's cell, on whichever worker it is placed. It may be lost at any moment; then it
 * is placed again from the ledger.
 *
 * - Reports of an earlier placement are ignored.
 * - It counts the reports that the cell owes: `isSettled` when the cell has answered everything. A report that comes in
 *   pieces is owed until all of it is there; the run hears of it then.
 * - A cell that waits for long sleeps: it is dropped until something is delivered. If its snapshot is a cheaper way
 *   back than the ledger, the snapshot is kept meanwhile: by the snapshot keeper if there is one, else in memory.
 * - A cell that waits is given up at any time if others need its memory.
 */
import type { CellSnapshot, Report, ReportPiece } from "../protocol/messages.ts";
import { MOST_MOVES } from "../protocol/quantum.ts";
import type { Compression } from "../contract/compression.ts";
import type { Delivery } from "../contract/ledger.ts";
import type { CellStart, Loss, Placement, Sandbox } from "../sandbox/sandbox.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import { platform, type RestTimer } from "../platform/host-platform.ts";
import {
  exceedsLedger,
  exceedsLimits,
  type InPieces,
  NO_PIECES,
  toCellLimits,
  withFreshTime,
} from "./cell-limits.ts";

/** How often a worker may crash while it has this cell. */
const MOST_CRASHES = 2;

export interface PlacedCellListener {
  readonly onReport: (report: Report) => void;
  /** The cell cannot be placed again. */
  readonly onLost: (loss: Loss, cause?: unknown) => void;
}

/** Keeps the snapshot of a cell outside this process. */
export interface SnapshotKeeper {
  /** False if the snapshot cannot be kept. */
  saveSnapshot(snapshot: CellSnapshot): Promise<boolean>;
  /** The snapshot that was saved last. Undefined if it cannot be loaded. */
  loadSnapshot(): Promise<CellSnapshot | undefined>;
}

/** A cell that has waited this long falls asleep. */
const SLEEP_AFTER_MS = 10_000;

/** A run that moved less data and computed less than this comes back from its ledger as fast as from a snapshot. */
const REPLAY_SIZE = 16_384;
const REPLAY_CPU_MS = 20;

export class PlacedCell {
  readonly #recorder: LedgerRecorder;
  readonly #sandbox: Sandbox;
  readonly #listener: PlacedCellListener;
  readonly #snapshotKeeper: SnapshotKeeper | undefined;
  readonly #compression: Compression | undefined;
  #placement: Placement | undefined;
  #placements = 0;
  #crashes = 0;
  /** Reports that the cell still owes. */
  #unanswered = 0;
  /** What has come of the report that is owed next. */
  #pieces: InPieces = NO_PIECES;
  /** The latest snapshot. Placements go on from it. */
  #snapshot: CellSnapshot | "kept elsewhere" | undefined;
  /** True while the snapshot is fetched for a placement. */
  #isWaking = false;
  #cpuTimeMs: number;
  /** Processor time that the run used before it was taken up. */
  readonly #timeBeforeMs: number;
  /** One timer for all waits: most runs never wait that long. */
  #sleepTimer: RestTimer | undefined;
  #rebuilds = 0;
  /** How often the cell has left a thread because it computes. */
  #moves = 0;

  constructor(
    recorder: LedgerRecorder,
    sandbox: Sandbox,
    listener: PlacedCellListener,
    snapshot: CellSnapshot | undefined,
    snapshotKeeper?: SnapshotKeeper,
    compression?: Compression,
  ) {
    this.#recorder = recorder;
    this.#sandbox = sandbox;
    this.#listener = listener;
    this.#snapshot = snapshot;
    this.#snapshotKeeper = snapshotKeeper;
    this.#compression = compression;
    this.#timeBeforeMs = recorder.seen.cpuTimeMs;
    this.#cpuTimeMs = this.#timeBeforeMs;
  }

  /** How often the cell was placed again. */
  get rebuilds(): number {
    return this.#rebuilds;
  }

  /** Processor time that the program has used. */
  get cpuTimeMs(): number {
    return this.#cpuTimeMs;
  }

  /** Whether the cell has something to do while its worker executes another cell. */
  get isWaiting(): boolean {
    return !this.isSettled && this.#placement?.isWaiting() === true;
  }

  get isSettled(): boolean {
    return this.#unanswered === 0;
  }

  place(): void {
    const placement = ++this.#placements;
    this.#unanswered = 1;
    this.#pieces = NO_PIECES;
    if (this.#snapshot !== "kept elsewhere") {
      this.#placeFrom(this.#snapshot, placement);
      return;
    }
    this.#isWaking = true;
    void this.#snapshotKeeper?.loadSnapshot().then((snapshot) => {
      if (placement === this.#placements) this.#placeFrom(snapshot, placement);
    });
  }

  #placeFrom(snapshot: CellSnapshot | undefined, placement: number): void {
    this.#isWaking = false;
    const { source, language, seed, clock, toolNames, features, limits } = this.#recorder.header;
    const beginning = this.#beginning(snapshot);
    if (beginning.snapshot === undefined && this.#recorder.header.hollow === true) {
      this.#listener.onLost("snapshot_refused");
      return;
    }
    const isCurrent = (): boolean => placement === this.#placements;
    this.#placement = this.#sandbox.place(
      {
        source,
        language,
        seed,
        clock,
        toolNames: JSON.stringify(toolNames),
        features,
        limits: withFreshTime(toCellLimits(limits), this.#timeBeforeMs, beginning.snapshot === undefined),
        ...(this.#moves === 0 ? {} : { moves: this.#moves }),
        ...(this.#compression === undefined ? {} : { compression: this.#compression }),
        ...beginning,
      },
      {
        onReport: (report) => {
          if (isCurrent()) this.#onReport(report);
        },
        onPiece: (piece) => {
          if (isCurrent()) this.#onPiece(piece);
        },
        onLost: (loss, cause) => {
          if (isCurrent()) this.#onLost(loss, cause);
        },
        onEvict: () => isCurrent() && this.#giveUp(),
      },
    );
  }

  /** Hands over a delivery that the recorder has recorded. */
  deliver(delivery: Delivery): void {
    if (this.#placement === undefined) {
      // A cell that is waking finds the delivery in the ledger.
      if (!this.#isWaking) this.place();
      return;
    }
    this.#unanswered++;
    this.#placement.deliver(delivery);
  }

  /** The cell as it is now, if it rests now and until the snapshot is there. */
  async snapshot(): Promise<CellSnapshot | undefined> {
    if (this.#placement === undefined) {
      const kept =
        this.#snapshot === "kept elsewhere" ? await this.#snapshotKeeper?.loadSnapshot() : this.#snapshot;
      // A cell that was evicted has moved on since its snapshot was taken.
      return kept?.progress.deliveries === this.#recorder.progress.deliveries ? kept : undefined;
    }
    const isSame = this.#watchRest();
    const { progress } = this.#recorder;
    const bytes = this.isSettled ? await this.#placement.snapshot() : undefined;
    return bytes === undefined || !isSame() ? undefined : { bytes, progress };
  }

  /**
   * Undefined if the ledger is the cheaper way back: the ledger is kept in any case, and a small one is replayed at
   * once.
   */
  async snapshotThatPays(): Promise<CellSnapshot | undefined> {
    return this.#isReplayCheap ? undefined : this.snapshot();
  }

  get #isReplayCheap(): boolean {
    if (this.#recorder.header.hollow === true) return false;
    return this.#recorder.size < REPLAY_SIZE && this.#cpuTimeMs < REPLAY_CPU_MS;
  }

  /** Returns a function that says whether the cell has stayed unmoved since. */
  #watchRest(): () => boolean {
    const placement = this.#placements;
    const { length } = this.#recorder.deliveries;
    return () => placement === this.#placements && length === this.#recorder.deliveries.length;
  }

  /** Gives the cell up. Only a delivery brings it back. */
  leave(): void {
    this.#sleepTimer?.stop();
    this.#isWaking = false;
    this.#placements++;
    this.#placement?.drop();
    this.#placement = undefined;
  }

  /** Called when others need the memory of a cell that waits. The next delivery brings the cell back. */
  #giveUp(): boolean {
    // A hollow ledger needs a snapshot to come back, which would have to be taken first.
    if (!this.isSettled || this.#recorder.header.hollow === true) return false;
    this.#placements++;
    this.#placement = undefined;
    return true;
  }

  /** The bytes that the heaps of all programs may have together, if this cell waits for some of them. */
  get fullBytes(): number | undefined {
    return this.#placement?.fullBytes();
  }

  #beginning(snapshot: CellSnapshot | undefined): Pick<CellStart, "history" | "snapshot"> {
    const unseen = snapshot === undefined ? undefined : this.#recorder.rewindTo(snapshot.progress);
    if (snapshot !== undefined && unseen !== undefined) return { history: unseen, snapshot };
    this.#recorder.rewind();
    return { history: this.#recorder.deliveries.slice() };
  }

  async #sleep(): Promise<void> {
    if (this.#placement === undefined || !this.isSettled) return;
    const isSame = this.#watchRest();
    if (!this.#isReplayCheap) {
      const snapshot = await this.snapshot();
      if (snapshot === undefined) return;
      // The snapshot is a good way back even if the cell has moved on meanwhile.
      this.#snapshot =
        (await this.#snapshotKeeper?.saveSnapshot(snapshot)) === true ? "kept elsewhere" : snapshot;
    }
    if (!isSame()) return;
    this.leave();
    // A cell that waits this long no longer counts as one that computes.
    this.#moves = 0;
  }

  #onPiece(piece: ReportPiece): void {
    if (this.#isRefused(piece)) return;
    const { calls, timers } = this.#pieces;
    this.#pieces = { calls: calls + piece.calls.length, timers: timers + piece.timers.length };
    this.#recorder.readPiece(piece);
    const { sizeInPieces, header } = this.#recorder;
    if (exceedsLedger(sizeInPieces, header.limits)) this.#refuse();
  }

  #isRefused(said: Report | ReportPiece): boolean {
    if (!exceedsLimits(said, this.#pieces, this.#recorder.header.limits)) return false;
    this.#refuse();
    return true;
  }

  /** The worker cannot be trusted any more. */
  #refuse(): void {
    this.#placement?.drop();
    this.#onLost("crashed");
  }

  #onReport(report: Report): void {
    if (this.#isRefused(report)) return;
    this.#pieces = NO_PIECES;
    // After the program's end no delivery is answered, and none needs to be.
    this.#unanswered = report.isOver ? 0 : this.#unanswered - 1;
    this.#cpuTimeMs = report.cpuTimeMs;
    this.#listener.onReport(report);
    if (this.#placement === undefined || report.isOver || !this.isSettled) return;
    this.#sleepTimer ??= platform.createRestTimer(() => void this.#sleep(), SLEEP_AFTER_MS);
    this.#sleepTimer.restart();
  }

  #onLost(loss: Loss, cause?: unknown): void {
    // Deliveries wait in the ledger until the cell is placed again.
    this.#placement = undefined;
    if (loss === "crashed") this.#crashes++;
    if (loss === "snapshot_refused") {
      // If the ledger is hollow, placing the cell finds that it cannot come back.
      this.#snapshot = undefined;
      this.place();
      return;
    }
    this.#rebuilds++;
    if (loss === "computes") this.#moves++;
    const isNoFault = loss === "displaced" || (loss === "computes" && this.#moves <= MOST_MOVES);
    if (isNoFault || (loss === "crashed" && this.#crashes <= MOST_CRASHES)) this.place();
    else this.#listener.onLost(loss, cause);
  }
}
