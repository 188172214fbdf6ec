/**
 * Runs on the host. MissingTools: why a host cannot resume a run, because it lacks tools of the run's calls.
 *
 * - This is said before the run is taken, so a host that has the tools can still go on with it.
 * - Only calls that were made and have no outcome count. Denied calls do not count, because their tools are not called.
 */
import type { Failure } from "../../contract/failure.ts";
import { behindCall, type FeatureName, type FeatureSettings } from "../../contract/features.ts";
import { toolOf } from "../../contract/late-tools.ts";
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
    const call = behindCall(features, name);
    const isThere = toolOf(tools, name) !== undefined || (call?.endedBy === "host" && serves(call.feature));
    const resolution = Object.hasOwn(resolutions, callId) ? resolutions[callId] : undefined;
    const isDenied = resolution !== undefined && "deny" in resolution;
    if (!isThere && !isDenied) missing.add(name);
  }
  return missing.size === 0 ? undefined : toFailure([...missing], features);
}

function toFailure(tools: readonly string[], features: FeatureSettings): Failure {
  const shown = tools.slice(0, MOST_NAMES);
  const needs = shown.map((tool) => inWords(tool, features)).join(", ");
  const more = tools.length > MOST_NAMES ? ` and ${tools.length - MOST_NAMES} more` : "";
  return {
    code: "tool_missing",
    message: `Cannot resume: the run waits for ${needs}${more}; resume it with these tools, until then it stays suspended`,
    details: { tools },
  };
}

function inWords(tool: string, features: FeatureSettings): string {
  const call = behindCall(features, tool);
  return call?.endedBy === "host" ? `${call.noun} (give ${call.needs})` : `tool ${JSON.stringify(tool)}`;
}
