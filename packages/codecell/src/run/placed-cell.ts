/**
 * PlacedCell: a run's cell, on whichever worker it is placed. It may be lost at any moment; then it is placed again from
 * the ledger.
 *
 * - Reports of an earlier placement are never heard.
 * - Counts what the cell owes: `isSettled` when it has answered everything it was told.
 * - A cell that waits for long sleeps: it is dropped until something is delivered. Its snapshot is kept meanwhile where
 *   that is cheaper to come back from than the ledger: on the shelf if there is one, else in memory.
 * - A cell that waits is given up at any time when others need its memory.
 */
import type { CellSnapshot, Report } from "../protocol/messages.ts";
import { MOST_MOVES } from "../protocol/quantum.ts";
import type { Compression } from "../contract/compression.ts";
import type { Delivery } from "../contract/ledger.ts";
import type { CellStart, Loss, Placement, Sandbox } from "../sandbox/sandbox.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import { platform, type RestTimer } from "../platform/host-platform.ts";
import { exceedsLimits, toCellLimits, withFreshTime } from "./cell-limits.ts";

/** How often a run's own worker may crash under it. */
const MOST_CRASHES = 2;

export interface PlacedCellListener {
  readonly onReport: (report: Report) => void;
  /** It cannot be placed again. */
  readonly onLost: (loss: Loss, cause?: unknown) => void;
}

/** Keeps the snapshot of a cell outside this process. */
export interface Shelf {
  /** False when it cannot be kept. */
  saveSnapshot(snapshot: CellSnapshot): Promise<boolean>;
  /** The one saved last; undefined when it cannot be had. */
  loadSnapshot(): Promise<CellSnapshot | undefined>;
}

/** After this the cell of a run that waits is worth more asleep. */
const SLEEP_AFTER_MS = 10_000;

/** A run that moved less and computed less than this is rebuilt from its ledger as fast as from a snapshot. */
const REPLAY_SIZE = 16_384;
const REPLAY_CPU_MS = 20;

export class PlacedCell {
  readonly #recorder: LedgerRecorder;
  readonly #sandbox: Sandbox;
  readonly #listener: PlacedCellListener;
  readonly #shelf: Shelf | undefined;
  readonly #compression: Compression | undefined;
  #placement: Placement | undefined;
  #placements = 0;
  #crashes = 0;
  /** Reports the cell still owes. */
  #unanswered = 0;
  /** The latest there is; placements go on from it. */
  #snapshot: CellSnapshot | "on the shelf" | undefined;
  /** While the snapshot is fetched for a placement. */
  #isWaking = false;
  #cpuTimeMs: number;
  /** Processor time that was used before the run was taken up. */
  readonly #timeBeforeMs: number;
  /** One for all turns: most runs never wait that long. */
  #sleepTimer: RestTimer | undefined;
  #rebuilds = 0;
  /** How often the cell has left a thread because it computes. */
  #moves = 0;

  constructor(
    recorder: LedgerRecorder,
    sandbox: Sandbox,
    listener: PlacedCellListener,
    snapshot: CellSnapshot | undefined,
    shelf?: Shelf,
    compression?: Compression,
  ) {
    this.#recorder = recorder;
    this.#sandbox = sandbox;
    this.#listener = listener;
    this.#snapshot = snapshot;
    this.#shelf = shelf;
    this.#compression = compression;
    this.#timeBeforeMs = recorder.seen.cpuTimeMs;
    this.#cpuTimeMs = this.#timeBeforeMs;
  }

  /** How often the cell was placed again. */
  get rebuilds(): number {
    return this.#rebuilds;
  }

  /** Processor time the program has used. */
  get cpuTimeMs(): number {
    return this.#cpuTimeMs;
  }

  /** Whether it has something to do, and its thread does not do it. */
  get isWaiting(): boolean {
    return !this.isSettled && this.#placement?.isWaiting() === true;
  }

  get isSettled(): boolean {
    return this.#unanswered === 0;
  }

  place(): void {
    const placement = ++this.#placements;
    this.#unanswered = 1;
    if (this.#snapshot !== "on the shelf") {
      this.#placeFrom(this.#snapshot, placement);
      return;
    }
    this.#isWaking = true;
    void this.#shelf?.loadSnapshot().then((snapshot) => {
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
        onLost: (loss, cause) => {
          if (isCurrent()) this.#onLost(loss, cause);
        },
        onEvict: () => isCurrent() && this.#giveUp(),
      },
    );
  }

  /** Hands over what the recorder has recorded. */
  deliver(delivery: Delivery): void {
    if (this.#placement === undefined) {
      // One that is waking finds it in the ledger.
      if (!this.#isWaking) this.place();
      return;
    }
    this.#unanswered++;
    this.#placement.deliver(delivery);
  }

  /** The cell as it is now, if it is at rest and stays so until the answer comes. */
  async snapshot(): Promise<CellSnapshot | undefined> {
    if (this.#placement === undefined) {
      const kept = this.#snapshot === "on the shelf" ? await this.#shelf?.loadSnapshot() : this.#snapshot;
      // One that was evicted has moved on since its snapshot was taken.
      return kept?.progress.deliveries === this.#recorder.progress.deliveries ? kept : undefined;
    }
    const isSame = this.#watchRest();
    const { progress } = this.#recorder;
    const bytes = this.isSettled ? await this.#placement.snapshot() : undefined;
    return bytes === undefined || !isSame() ? undefined : { bytes, progress };
  }

  /** Undefined when the ledger is the cheaper way back: it is kept in any case, and small ones replay at once. */
  async snapshotThatPays(): Promise<CellSnapshot | undefined> {
    return this.#isReplayCheap ? undefined : this.snapshot();
  }

  get #isReplayCheap(): boolean {
    if (this.#recorder.header.hollow === true) return false;
    return this.#recorder.size < REPLAY_SIZE && this.#cpuTimeMs < REPLAY_CPU_MS;
  }

  /** Tells whether the cell has not moved since. */
  #watchRest(): () => boolean {
    const placement = this.#placements;
    const { length } = this.#recorder.deliveries;
    return () => placement === this.#placements && length === this.#recorder.deliveries.length;
  }

  /** Gives the cell up: for good, unless something is delivered. */
  leave(): void {
    this.#sleepTimer?.stop();
    this.#isWaking = false;
    this.#placements++;
    this.#placement?.drop();
    this.#placement = undefined;
  }

  /** Others need the memory of a cell that waits: what is delivered next brings it back. */
  #giveUp(): boolean {
    // The way back of a hollow ledger is its snapshot, which has to be taken first.
    if (!this.isSettled || this.#recorder.header.hollow === true) return false;
    this.#placements++;
    this.#placement = undefined;
    return true;
  }

  /** What the memory of all runs together is, if this one waits for some of it. */
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
      // Good to come back from even if the cell has moved on meanwhile.
      this.#snapshot = (await this.#shelf?.saveSnapshot(snapshot)) === true ? "on the shelf" : snapshot;
    }
    if (!isSame()) return;
    this.leave();
    // Whoever waits for so long passes by.
    this.#moves = 0;
  }

  #onReport(report: Report): void {
    if (exceedsLimits(report, this.#recorder.header.limits)) {
      this.#placement?.drop();
      this.#onLost("crashed");
      return;
    }
    // What was delivered after the program's end found nobody, and nothing needs to be.
    this.#unanswered = report.isOver ? 0 : this.#unanswered - 1;
    this.#cpuTimeMs = report.cpuTimeMs;
    this.#listener.onReport(report);
    if (this.#placement === undefined || report.isOver || !this.isSettled) return;
    this.#sleepTimer ??= platform.createRestTimer(() => void this.#sleep(), SLEEP_AFTER_MS);
    this.#sleepTimer.restart();
  }

  #onLost(loss: Loss, cause?: unknown): void {
    // What is delivered until it is placed again waits in the ledger.
    this.#placement = undefined;
    if (loss === "crashed") this.#crashes++;
    if (loss === "snapshot_refused") {
      // A hollow ledger is no way back either, which placing it finds.
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
