/** Runs on the host. Resolutions: how the pending calls of a suspended run go on. They often come from a client. */
import { assertNames } from "../../contract/assert-names.ts";
import { buildJson } from "../../value/parse-json.ts";
import { isLargeJson, printJson } from "../../value/print-json.ts";
import type { CallResolution, Resolutions } from "../../contract/result.ts";
import { isResolution } from "../../value/ledger-shape.ts";
import { asInput, isProtoText, PROTO, toJsonText } from "../../value/json-text.ts";
import type { RunPast } from "../../durable/run-past.ts";
import { toCallId } from "../../contract/ledger.ts";

const OF_RESOLUTION = { resolution: true, deny: true };

export function assertResolutions(resolutions: unknown): asserts resolutions is Resolutions {
  if (typeof resolutions !== "object" || resolutions === null) {
    throw new TypeError("Cannot resume a run: resolutions must be an object of call ids");
  }
  for (const [callId, resolution] of Object.entries(resolutions as Record<string, unknown>)) {
    if (typeof resolution === "object" && resolution !== null && looked.has(resolution)) continue;
    if (!isResolution(resolution)) throw noResolution(callId);
    const isTaken = "resolution" in resolution ? takes(resolution.resolution) : true;
    if (isTaken === undefined) throw noResolution(callId);
    // A misspelt denial beside a resolution would allow the call.
    assertNames(resolution, OF_RESOLUTION, "resume a run", `resolutions["${callId}"]`);
    if (!isTaken) throw hasProto(callId);
  }
}

/**
 * Whether the value has no key `__proto__`; undefined if it is not JSON. A resolution may repeat all of a call's input:
 * then it is looked through once, not printed.
 */
function takes(value: unknown): boolean | undefined {
  let isClean = true;
  const look = (record: object): void => {
    if (Object.hasOwn(record, PROTO)) isClean = false;
  };
  if (isLargeJson(value, look)) return isClean;
  const text = toJsonText(value);
  return text === undefined ? undefined : !isProtoText(text);
}

/** Resolutions that were checked before. Nobody else has these objects, so they have not changed since. */
const looked = new WeakSet<object>();

/**
 * Makes a resolution of what a program chose, for an adapter. It is copied and checked in turns, and not checked again.
 */
export async function toKnown(callId: string, resolution: unknown): Promise<CallResolution> {
  const text = await printJson(resolution);
  if (text === undefined) throw noResolution(callId);
  const parsed = asInput(text, { ok: true, value: await buildJson(text) });
  if (!parsed.ok) throw hasProto(callId);
  const resolved = { resolution: parsed.value };
  looked.add(resolved);
  return resolved;
}

function noResolution(callId: string): TypeError {
  return new TypeError(
    `Cannot resume a run: resolutions["${callId}"] has neither a resolution that is JSON nor a text in deny`,
  );
}

function hasProto(callId: string): TypeError {
  return new TypeError(
    `Cannot resume a run: resolutions["${callId}"] has a key "__proto__", leave it out: tools would take it for their own`,
  );
}

/** Throws if a resolution is for a call that is not pending. */
export function assertPending({ recorder, pending }: RunPast, resolutions: Resolutions): void {
  const { runId } = recorder.header;
  const known = new Set([...pending.keys()].map((index) => toCallId(runId, index)));
  for (const callId of Object.keys(resolutions)) {
    if (!known.has(callId)) {
      throw new TypeError(
        `Cannot resume a run: no call "${callId}" is pending, there are ${[...known].join(", ") || "none"}`,
      );
    }
  }
}
