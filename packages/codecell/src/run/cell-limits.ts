/** The limits of a run that its worker enforces, and the check that it did. */
import type { CellLimits, Report } from "../protocol/messages.ts";
import type { Limits } from "../contract/limits.ts";

/** A rebuilt cell reports the changes of its whole life at once; a run with more than these cannot be rebuilt. */
const MOST_TIMER_CHANGES = 1_000_000;

const cellLimits = new WeakMap<Limits, CellLimits>();

/** The limits the worker enforces; most runs share one object. */
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

/** What a run that used so much before it was taken up may use again; more than this is no run's past. */
const MOST_TIME_BEFORE_MS = 600_000;
/** Another machine may be slower. */
const SLOWER = 2;

/**
 * The limits of a run that was taken up: its processor time is fresh. What it used before counts again, since a
 * snapshot remembers it and a replay takes it.
 */
export function withFreshTime(limits: CellLimits, beforeMs: number, isReplayed: boolean): CellLimits {
  if (beforeMs === 0) return limits;
  const again = Math.min(beforeMs, MOST_TIME_BEFORE_MS) * (isReplayed ? SLOWER : 1);
  return { ...limits, cpuTimeMs: Math.ceil(limits.cpuTimeMs + again) };
}

/** Whether a report says more than its worker may let pass: then the worker is no longer what we started. */
export function exceedsLimits({ calls, timers, logs }: Report, limits: Limits): boolean {
  return calls.length > limits.calls || timers.length > MOST_TIMER_CHANGES || logs.length > limits.logBytes;
}
