/**
 * Sandbox: the place where cells live. One contract for every kind of isolation; `testSandbox` of codecell/testing
 * tests its sentences. Used on the host.
 *
 * **One cell**
 * - A caller places a cell, moves it with deliveries, and drops it. `place` and every `deliver` get one report each, in
 *   the order in which they were called.
 * - A report says what the cell did since the report before: all calls, timer changes and log lines of that burst, each
 *   in the order in which the program made them. Guest code runs in answer to `place` and `deliver`, and at no other
 *   time.
 * - If there is a history, the first report may come in pieces, at most one in a turn of the caller's event loop: it
 *   has all that the program did in its life. Each piece has the next calls and timer changes; the report has the rest
 *   of them, and all else. Nothing else is said of the cell between the first piece and the report, but that it is lost.
 * - A cell ends in one of four ways: a report with `isOver`, a loss, an eviction that its listener agreed to, or
 *   `drop`. After that its listener hears nothing more, and later deliveries to it are ignored.
 * - The cell is a function of its start and its deliveries: equal starts and deliveries give equal reports, except for
 *   `cell`, `cpuTimeMs` and `heapBytes`. Deliveries in `history` count as well; the first report covers all of them.
 * - Guest code sees nothing of other cells and nothing of the host.
 *
 * **Losses**
 * - A sandbox may lose any cell at any time. The caller places the cell again with its deliveries as history, including
 *   deliveries that were not reported. Nothing of a lost burst is reported.
 * - A cell that computes does not keep others waiting for ever: it is lost as `computes`, and may get more time with
 *   each of its `moves`. A cell that is alone may stay.
 *
 * **Limits**
 * - The sandbox keeps each cell within `CellStart.limits`. A cell that exceeds `cpuTimeMs`, `memoryBytes`,
 *   `resultBytes` or `calls` ends as failed, with `timeout`, `memory_limit`, `result_limit` or `call_limit`, or is lost
 *   as `overran`. Guest code gets an error for a call's input above `callInputBytes` and for more than `timers`. Log
 *   lines above `logBytes` are counted in `logsDropped`.
 *
 * **The caller**
 * - Listeners are never called before `place` has returned. `deliver` may lose the cell before it returns.
 * - A listener may call `place`, `deliver`, `snapshot` and `drop`. A listener must not throw: the sandbox takes an
 *   error as a fault of the worker behind the message, and cells may be lost for it.
 * - No order is promised between cells.
 *
 * **The end**
 * - After disposal no listener hears of any remaining cell, and requested snapshots resolve to undefined. A cell that
 *   is placed later is lost as `unavailable`.
 *
 * Everything that comes out of a sandbox is untrusted, because guest code may have taken it over. Reports have been
 * parsed, but not checked further. A snapshot is opaque here.
 */
import type { Command, Report, ReportPiece } from "../protocol/messages.ts";
import type { Delivery } from "../contract/ledger.ts";
import type { JudgeApart } from "../protocol/judges.ts";

/**
 * What a cell begins with. Without a snapshot it evaluates its source and repeats its history. With a snapshot it
 * continues from there, and `history` has the deliveries made since.
 */
export type CellStart = Omit<Extract<Command, { type: "start" }>, "type" | "cell">;

/**
 * Why a cell is gone.
 * - `overran`: it held its worker past its processor time and did not return; its worker was killed.
 * - `crashed`: its worker died while executing it.
 * - `displaced`: its worker was lost or held by another cell; nothing is wrong with this cell.
 * - `computes`: it has used up its quantum and others wait for its thread. Placed again, with `moves` one higher, it
 *   goes to a compute thread.
 * - `unavailable`: no worker could be started, or the sandbox was disposed before.
 * - `snapshot_refused`: its snapshot is damaged, or of another build, or of another start, or was compressed by a method
 *   that this sandbox does not have. The cell has not run. Placed again without the snapshot, it begins with its source.
 */
export type Loss = "overran" | "crashed" | "displaced" | "computes" | "unavailable" | "snapshot_refused";

export interface CellListener {
  onReport(report: Report): void;
  /** What the report that follows begins with. If the cell is lost before the report, the piece counts for nothing. */
  onPiece(piece: ReportPiece): void;
  /** `cause` is the error if no worker could be started. */
  onLost(loss: Loss, cause?: unknown): void;
  /**
   * Asks whether the cell may go: it has answered everything, and others need its memory. True gives the cell up: it is
   * gone, and this is not a loss. False keeps the cell; the sandbox may ask again.
   */
  onEvict(): boolean;
}

/** Thrown if no worker can be started; the message is for whoever runs the host. */
export class SandboxUnavailable extends Error {}

/**
 * One stay of a cell in the sandbox; a run that is rebuilt has several. Has functions only: if an object literal has a getter, V8 keeps the getter and
 * everything that it sees, here a whole run, until the old generation is collected.
 */
export interface Placement {
  /**
   * Whether the cell has something to do while its worker executes another cell. For messages only: the answer may be
   * outdated by a moment.
   */
  isWaiting(): boolean;
  /**
   * If the cell waits because the cells of all runs together use all the memory they may have: that number of bytes.
   * Otherwise undefined.
   */
  fullBytes(): number | undefined;
  deliver(delivery: Delivery): void;
  /**
   * The cell after all deliveries so far, for `CellStart.snapshot`; the cell lives on. Undefined if there is no
   * snapshot: the cell is over, lost, dropped or too large, or its worker is held or does not answer in time. Never
   * rejects. The bytes have a buffer of their own.
   */
  snapshot(): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Stops guest code if it runs, and removes the cell. No report or loss follows. May be called again, and late. */
  drop(): void;
}

export interface Sandbox extends AsyncDisposable {
  place(start: CellStart, listener: CellListener): Placement;
  /**
   * Judges values that may take long, apart from the caller's thread and from all cells, for one owner such as a run.
   * When the signal is aborted, every value that is not being judged yet becomes `unknown`. Works even after the
   * sandbox was disposed: calls of a suspended run end when they end.
   */
  judgeFor(owner: string, signal: AbortSignal): JudgeApart;
}
