/**
 * Sandbox: where cells live. One contract, whatever isolates them.
 *
 * - A cell is placed, moved by deliveries, and dropped. Every `place` and every `deliver` is answered by one report,
 *   in order, unless the cell is lost or dropped first.
 * - A lost cell is gone: whoever placed it may place it again with its history.
 * - A snapshot is opaque here, and as untrusted as the worker that made it.
 */
import type { Command, Report } from "../protocol/messages.ts";
import type { Delivery } from "../contract/ledger.ts";
import type { JudgeApart } from "../protocol/judges.ts";

export type CellStart = Omit<Extract<Command, { type: "start" }>, "type" | "cell">;

/**
 * Why a cell is gone.
 * - `overran`: it held its worker past its processor time and did not return; its worker was killed.
 * - `crashed`: its worker died while executing it.
 * - `displaced`: its worker was lost or held by another cell; nothing is wrong with this one.
 * - `computes`: it has used up its quantum and others wait for its thread. Placed again, with one more of `moves`, it
 *   goes to a thread for such cells.
 * - `unavailable`: no worker could be started.
 * - `snapshot_refused`: it was to go on from a snapshot that fits neither this build nor its start, or is damaged. Nothing
 *   has happened; placed without the snapshot it begins with its source.
 */
export type Loss = "overran" | "crashed" | "displaced" | "computes" | "unavailable" | "snapshot_refused";

export interface CellListener {
  onReport(report: Report): void;
  /** The cause is what was thrown when no worker could be started. */
  onLost(loss: Loss, cause?: unknown): void;
  /** The cell waits, and its memory is wanted for others. True gives it up: then it is gone, and nothing was lost. */
  onEvict(): boolean;
}

/** Thrown where no worker can be started, with words for whoever runs the host. */
export class SandboxUnavailable extends Error {}

/**
 * Functions only: of an object literal with a getter V8 keeps the getter and all it sees, here a whole run, until the old
 * generation is collected.
 */
export interface Placement {
  /** Whether it was told something and another cell is executed where it lives. */
  isWaiting(): boolean;
  /** Whether it waits because the cells of all runs together have all the memory they may have; if so, how much. */
  fullBytes(): number | undefined;
  deliver(delivery: Delivery): void;
  /**
   * The cell as it is after all deliveries so far, for `CellStart.snapshot`; it lives on. Undefined when there is none
   * to be had: the cell is over, lost, dropped, too large, or its worker is held or does not answer in time.
   */
  snapshot(): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Stops guest code if it is running, and forgets the cell. No report or loss follows. */
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
