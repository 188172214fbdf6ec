/** From the settings of code mode to the limits of a run. */
import type { Limits } from "../contract/limits.ts";
import { LARGEST_LOAD } from "./catalog-tools.ts";
import type { CodeModeSettings } from "./config.ts";

/** Calls that wait for one of those in flight; a batch that does not fit is refused as a whole. */
const CALLS_QUEUED = 1024;
/** Output beyond its cap is shown in part and parked, so more than the cap has to cross. */
const OUTPUT_FACTOR = 4;
/** Enough for one large item; more would let very many small ones hold up the host. */
const LEAST_OUTPUT = 1024 * 1024;
/** A suspended run can still be discarded when its time is over: its program's timer does that, and only then. */
const DISCARD_MS = 10_000;

export function toLimits(settings: CodeModeSettings): Partial<Limits> {
  const { timeoutMs, memoryLimitBytes, maxOutputBytes, maxSnapshotBytes } = settings;
  return {
    wallTimeMs: timeoutMs,
    cpuTimeMs: timeoutMs,
    memoryBytes: memoryLimitBytes,
    logBytes: Math.max(maxOutputBytes * OUTPUT_FACTOR, LEAST_OUTPUT),
    // What is too large to be shown is parked, and must be loadable again. What may be shown has to cross in any case.
    resultBytes: Math.max(maxOutputBytes, LARGEST_LOAD),
    callOutputBytes: LARGEST_LOAD,
    suspensionBytes: maxSnapshotBytes,
    suspensionTimeMs: settings.snapshotTtlSeconds * 1000 + DISCARD_MS,
    callsInFlight: settings.maxPendingToolCalls,
    callsQueued: CALLS_QUEUED,
  };
}
