/**
 * Runs on the host. Converts the settings of code mode to the limits of a run.
 *
 * - A setting that the configuration sets counts, whatever the host's limits are.
 * - A default never widens a limit that the host was given: the tighter of the two counts.
 */
import type { LimitName, Limits } from "../contract/limits.ts";
import { LARGEST_LOAD } from "./catalog-tools.ts";
import type { CodeModeSettings, NumberSetting } from "./config.ts";

/** Calls that wait while others are in flight. A batch that does not fit is refused as a whole. */
const CALLS_QUEUED = 1024;
/** Output beyond its cap is shown in part and saved, so more than the cap has to cross. */
const OUTPUT_FACTOR = 4;
/** Enough for one large item. More would let very many small items block the host. */
const LEAST_OUTPUT = 1024 * 1024;
/**
 * After its time is over, a suspended run must still be there for a while: only then the timer of its program
 * discards it.
 */
const DISCARD_MS = 10_000;

/** The setting that says a limit. Other limits follow from what is set, and from the host's. */
const SETTING_OF: Partial<Record<LimitName, NumberSetting>> = {
  wallTimeMs: "timeoutMs",
  memoryBytes: "memoryLimitBytes",
  logBytes: "maxOutputBytes",
  resultBytes: "maxOutputBytes",
  suspensionBytes: "maxSnapshotBytes",
  suspensionTimeMs: "snapshotTtlSeconds",
  callsInFlight: "maxPendingToolCalls",
};

/** `given` are the settings that the configuration sets, `ofHost` the limits that the host was given. */
export function toLimits(
  settings: CodeModeSettings,
  given: ReadonlySet<NumberSetting>,
  ofHost: Partial<Limits>,
): Partial<Limits> {
  const limits: { -readonly [Name in LimitName]?: number } = { ...limitsOf(settings) };
  for (const name of Object.keys(limits) as LimitName[]) {
    const setting = SETTING_OF[name];
    if (setting !== undefined && given.has(setting)) continue;
    limits[name] = Math.min(limits[name] ?? Infinity, ofHost[name] ?? Infinity);
  }
  return limits;
}

/** How long a suspended program is held. */
export function snapshotMs(
  { snapshotTtlSeconds }: CodeModeSettings,
  given: ReadonlySet<NumberSetting>,
  { suspensionTimeMs = Infinity }: Partial<Limits>,
): number {
  const ms = snapshotTtlSeconds * 1000;
  return given.has("snapshotTtlSeconds") ? ms : Math.min(ms, suspensionTimeMs);
}

function limitsOf(settings: CodeModeSettings): Partial<Limits> {
  const { timeoutMs, memoryLimitBytes, maxOutputBytes, maxSnapshotBytes } = settings;
  return {
    wallTimeMs: timeoutMs,
    cpuTimeMs: timeoutMs,
    memoryBytes: memoryLimitBytes,
    logBytes: Math.max(maxOutputBytes * OUTPUT_FACTOR, LEAST_OUTPUT),
    // A value that is too large to show is saved, and must be loadable again. A value that may be shown has to cross
    // in any case.
    resultBytes: Math.max(maxOutputBytes, LARGEST_LOAD),
    callOutputBytes: LARGEST_LOAD,
    suspensionBytes: maxSnapshotBytes,
    suspensionTimeMs: settings.snapshotTtlSeconds * 1000 + DISCARD_MS,
    callsInFlight: settings.maxPendingToolCalls,
    callsQueued: CALLS_QUEUED,
  };
}
