/** Runs on the host. The limits of a run that its worker enforces, and the check that the worker did. */
import type { CellLimits, Report, ReportPiece } from "../protocol/messages.ts";
import type { Limits } from "../contract/limits.ts";

/**
 * A rebuilt cell reports the timer changes of its whole life at once. A run with more changes than this cannot be
 * rebuilt.
 */
const MOST_TIMER_CHANGES = 1_000_000;

const cellLimits = new WeakMap<Limits, CellLimits>();

/** The limits that the worker enforces. Most runs share one object. */
export function toCellLimits(limits: Limits): CellLimits {
  let picked = cellLimits.get(limits);
  if (picked === undefined) {
    const { cpuTimeMs, memoryBytes, stackBytes, resultBytes, logBytes, callInputBytes, calls, timers } =
      limits;
    picked = { cpuTimeMs, memoryBytes, stackBytes, resultBytes, logBytes, callInputBytes, calls, timers };
    cellLimits.set(limits, picked);
  }
  return picked;
}

/** The most earlier processor time that a run gets again. No real run has used more. */
const MOST_TIME_BEFORE_MS = 600_000;
/** Another machine may be slower by this factor. */
const SLOWER = 2;

/**
 * The limits of a run that was taken up: it gets its full processor time again. The time it used before is added,
 * because a snapshot remembers that time, and a replay takes it once more.
 */
export function withFreshTime(limits: CellLimits, beforeMs: number, isReplayed: boolean): CellLimits {
  if (beforeMs === 0) return limits;
  const again = Math.min(beforeMs, MOST_TIME_BEFORE_MS) * (isReplayed ? SLOWER : 1);
  return { ...limits, cpuTimeMs: Math.ceil(limits.cpuTimeMs + again) };
}

/** More than the inputs of all calls that a worker lets a program make in one burst. */
const MOST_BURST_SIZE = 16 * 1024 * 1024;

/** Whether new calls that came in pieces are larger than all that an honest worker can report of one placement. */
export function exceedsLedger(sizeInPieces: number, { ledgerSize }: Limits): boolean {
  return sizeInPieces > ledgerSize + MOST_BURST_SIZE;
}

/** How many calls and timer changes the pieces of a report had so far. */
export interface InPieces {
  readonly calls: number;
  readonly timers: number;
}

export const NO_PIECES: InPieces = { calls: 0, timers: 0 };

/**
 * Whether a report or a piece of it, after the pieces before, holds more than its worker should let pass. Then the
 * worker cannot be trusted any more.
 */
export function exceedsLimits(said: Report | ReportPiece, before: InPieces, limits: Limits): boolean {
  return (
    before.calls + said.calls.length > limits.calls ||
    before.timers + said.timers.length > MOST_TIMER_CHANGES ||
    (said.kind === undefined && said.logs.length > limits.logBytes)
  );
}
