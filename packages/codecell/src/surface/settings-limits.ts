/** From the settings of code mode to the limits of a run. */
import type { Limits } from "../contract/limits.ts";
import { LARGEST_LOAD } from "./catalog-tools.ts";
import type { CodeModeSettings } from "./config.ts";

/** Calls that wait for one of those in flight; a batch that does not fit is refused as a whole. */
const CALLS_QUEUED = 1024;
/** Output beyond its cap is counted and shown in part, so more than the cap has to cross. */
const OUTPUT_FACTOR = 4;
/** A suspended run can still be discarded when its time is over: its cell's timer does that, and only then. */
const DISCARD_MS = 10_000;

export function toLimits(settings: CodeModeSettings): Partial<Limits> {
  const { timeoutMs, memoryLimitBytes, maxOutputBytes, maxSnapshotBytes } = settings;
  return {
    wallTimeMs: timeoutMs,
    cpuTimeMs: timeoutMs,
    memoryBytes: memoryLimitBytes,
    logBytes: maxOutputBytes * OUTPUT_FACTOR,
    // What is too large to be shown is parked, and must be loadable again.
    resultBytes: LARGEST_LOAD,
    callOutputBytes: LARGEST_LOAD,
    suspensionBytes: maxSnapshotBytes,
    suspensionTimeMs: settings.snapshotTtlSeconds * 1000 + DISCARD_MS,
    callsInFlight: settings.maxPendingToolCalls,
    callsQueued: CALLS_QUEUED,
  };
}
