/**
 * Runs on the host. MissingTools: why a host cannot resume a run, because it lacks tools of the run's calls.
 *
 * - This is said before the run is taken, so a host that has the tools can still go on with it.
 * - Only calls that were made and have no outcome count. Denied calls do not count, because their tools are not called.
 */
import type { Failure } from "../../contract/failure.ts";
import { BEHIND_CALLS, type FeatureName } from "../../contract/features.ts";
import { toCallId } from "../../contract/ledger.ts";
import type { Resolutions } from "../../contract/result.ts";
import type { ToolSet } from "../../contract/tool.ts";
import type { RunPast } from "../../durable/run-past.ts";

/** How many names a message has. The details have all. */
const MOST_NAMES = 10;

/** What a host resumes a run with. */
export interface ResumedWith {
  readonly tools: ToolSet;
  /** Whether the host serves the calls of a feature. */
  readonly serves: (feature: FeatureName) => boolean;
  readonly resolutions: Resolutions;
}

export function missingTools({ recorder, served }: RunPast, resumedWith: ResumedWith): Failure | undefined {
  const { calls } = recorder;
  const { runId, features } = recorder.header;
  const { tools, resolutions, serves } = resumedWith;
  const missing = new Set<string>();
  for (const index of served) {
    const callId = toCallId(runId, index);
    const name = calls[index]?.tool ?? "";
    const call = BEHIND_CALLS.get(name);
    const isOfHost =
      call?.endedBy === "host" && (serves(call.feature) || features[call.feature] === undefined);
    const isThere = Object.hasOwn(tools, name) || isOfHost;
    const resolution = Object.hasOwn(resolutions, callId) ? resolutions[callId] : undefined;
    const isDenied = resolution !== undefined && "deny" in resolution;
    if (!isThere && !isDenied) missing.add(name);
  }
  return missing.size === 0 ? undefined : toFailure([...missing]);
}

function toFailure(tools: readonly string[]): Failure {
  const needs = tools.slice(0, MOST_NAMES).map(inWords).join(", ");
  const more = tools.length > MOST_NAMES ? ` and ${tools.length - MOST_NAMES} more` : "";
  return {
    code: "tool_missing",
    message: `Cannot resume: the run waits for ${needs}${more}; resume it with these tools, until then it stays suspended`,
    details: { tools },
  };
}

function inWords(tool: string): string {
  const call = BEHIND_CALLS.get(tool);
  return call?.endedBy === "host" ? `${call.noun} (give ${call.needs})` : `tool ${JSON.stringify(tool)}`;
}
