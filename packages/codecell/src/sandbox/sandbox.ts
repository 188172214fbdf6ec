/**
 * Sandbox: where cells live. One contract, whatever isolates them; `testSandbox` of codecell/testing has its sentences as
 * tests. Used on the host.
 *
 * **One cell**
 * - A cell is placed, moved by deliveries, and dropped. `place` is answered by one report, and so is every `deliver`, in
 *   the order in which they were called.
 * - A report says what the cell did since the report before it: all calls, timer changes and log lines of that turn, each
 *   in the order in which the program made them. Guest code runs in answer to `place` and `deliver`, and at no other time.
 * - A cell ends in one of four ways, and then nothing more is heard of it: a report that `isOver`, a loss, an eviction
 *   that its listener agreed to, or `drop`. What is delivered to it later is ignored.
 * - The cell is a function of its start and its deliveries: the same ones give the same reports, except for `cell`,
 *   `cpuTimeMs` and `heapBytes`. Deliveries in `history` count as well; their reports are told together, in the first one.
 * - Guest code sees nothing of other cells and nothing of the host.
 *
 * **Losses**
 * - A sandbox may lose any cell at any time. Whoever placed the cell places it again with its deliveries as history; what
 *   was delivered and not reported is part of that history. Nothing of a turn that was lost is told.
 * - A cell that computes does not keep others waiting for ever: it is lost as one that `computes`, and may have longer
 *   with each of its `moves`. A cell that is alone may stay.
 *
 * **Limits**
 * - The sandbox keeps each cell within `CellStart.limits`. A cell that exceeds `cpuTimeMs`, `memoryBytes`, `resultBytes` or
 *   `calls` ends as failed, with `timeout`, `memory_limit`, `result_limit` or `call_limit`, or is lost because it `overran`.
 *   Guest code gets an error for a call's input above `callInputBytes` and for more than `timers`; log lines above
 *   `logBytes` are counted in `logsDropped`.
 *
 * **The caller**
 * - Listeners are never called before `place` has returned. `deliver` may lose the cell before it returns.
 * - A listener may call `place`, `deliver`, `snapshot` and `drop`. It does not throw: what it throws counts as a fault of
 *   whatever told it, and cells may be lost for it.
 * - Between cells no order is promised.
 *
 * **The end**
 * - After disposal nobody hears of any cell that was left, and snapshots that were asked for come to undefined. A cell
 *   that is placed later is lost as `unavailable`.
 *
 * Everything that comes out of a sandbox is untrusted, since guest code may have taken it over: reports have been parsed and
 * nothing else. A snapshot is opaque here.
 */
import type { Command, Report } from "../protocol/messages.ts";
import type { Delivery } from "../contract/ledger.ts";
import type { JudgeApart } from "../protocol/judges.ts";

/**
 * What a cell begins with. Without a snapshot it evaluates its source and repeats its history; with one it goes on where
 * the snapshot was taken, and its history has the deliveries made since.
 */
export type CellStart = Omit<Extract<Command, { type: "start" }>, "type" | "cell">;

/**
 * Why a cell is gone.
 * - `overran`: it held its worker past its processor time and did not return; its worker was killed.
 * - `crashed`: its worker died while executing it.
 * - `displaced`: its worker was lost or held by another cell; nothing is wrong with this one.
 * - `computes`: it has used up its quantum and others wait for its thread. Placed again, with one more of `moves`, it
 *   goes to a thread for such cells.
 * - `unavailable`: no worker could be started, or the sandbox was disposed before.
 * - `snapshot_refused`: it was to go on from a snapshot that fits neither this build nor its start, is damaged, or was
 *   compressed by a method that this sandbox does not have. Nothing has happened; placed without the snapshot it begins
 *   with its source.
 */
export type Loss = "overran" | "crashed" | "displaced" | "computes" | "unavailable" | "snapshot_refused";

export interface CellListener {
  onReport(report: Report): void;
  /** The cause is what was thrown when no worker could be started. */
  onLost(loss: Loss, cause?: unknown): void;
  /**
   * The cell has answered everything it was told, and its memory is wanted for others. True gives it up: then it is gone,
   * and nothing was lost. False keeps it; it may be asked again.
   */
  onEvict(): boolean;
}

/** Thrown where no worker can be started, with words for whoever runs the host. */
export class SandboxUnavailable extends Error {}

/**
 * Functions only: of an object literal with a getter V8 keeps the getter and all it sees, here a whole run, until the old
 * generation is collected.
 */
export interface Placement {
  /** Whether it was told something and another cell is executed where it lives. For messages: it may be wrong by a moment. */
  isWaiting(): boolean;
  /** Whether it waits because the cells of all runs together have all the memory they may have; if so, how much. */
  fullBytes(): number | undefined;
  deliver(delivery: Delivery): void;
  /**
   * The cell as it is after all deliveries so far, for `CellStart.snapshot`; it lives on. Undefined when there is none
   * to be had: the cell is over, lost, dropped, too large, or its worker is held or does not answer in time. Never rejects.
   * The bytes have a buffer of their own.
   */
  snapshot(): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Stops guest code if it is running, and forgets the cell. No report or loss follows. May be called again, and late. */
  drop(): void;
}

export interface Sandbox extends AsyncDisposable {
  place(start: CellStart, listener: CellListener): Placement;
  /**
   * Judges values for one owner, such as a run, until the signal is aborted: what has not begun then is `unknown`. For
   * values that may take long, apart from the caller's thread and from all cells. Goes on after the sandbox was disposed:
   * calls of a suspended run end when they end.
   */
  judgeFor(owner: string, signal: AbortSignal): JudgeApart;
}
