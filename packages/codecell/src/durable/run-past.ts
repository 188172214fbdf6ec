/**
 * RunPast: what a run begins with: its ledger so far, and what was under way when the ledger ended. Runs on the host.
 *
 * - A new run, a forked run and a run that is taken up from a token or a store all begin with this shape.
 * - Every call without an outcome is in exactly one of `pending`, `open`, `elsewhere` and `items`, except for open
 *   yields.
 */
import type { CellSnapshot } from "../protocol/messages.ts";
import {
  type Asked,
  type DeliveryItem,
  type KeptResolution,
  type TimerChange,
  toCallId,
} from "../contract/ledger.ts";
import type { Resolutions } from "../contract/result.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";

export interface RunPast {
  /** Holds the ledger, and goes on recording it. */
  readonly recorder: LedgerRecorder;
  /** Calls that wait for a decision, with what their tools asked for. */
  readonly pending: ReadonlyMap<number, Asked>;
  /** Calls to execute here, with their resolutions. */
  readonly open: ReadonlyMap<number, KeptResolution | undefined>;
  /** Outcomes that the program has not seen yet, in the order in which they came. */
  readonly items: readonly DeliveryItem[];
  /** Timers that were set, with the time they have left. */
  readonly timers: readonly TimerChange[];
  /** Calls that an executor has gone on with since the run was suspended. */
  readonly elsewhere: ReadonlyMap<number, Elsewhere>;
  /** Calls without an outcome that need their tool, unless somebody denies them. */
  readonly served: readonly number[];
  /** The memory of the cell, if going on from it is faster than repeating the ledger. */
  readonly snapshot: CellSnapshot | undefined;
}

/** A call that an executor went on with when the run was suspended. */
export interface Elsewhere {
  readonly executor: string;
  /** The resolution with which the call was dispatched. */
  readonly resolution: KeptResolution | undefined;
}

const NOTHING: Omit<RunPast, "recorder"> = {
  pending: new Map(),
  open: new Map(),
  items: [],
  timers: [],
  elsewhere: new Map(),
  served: [],
  snapshot: undefined,
};

/** The past of a run that has only its ledger: nothing is under way. */
export function newPast(recorder: LedgerRecorder): RunPast {
  return { ...NOTHING, recorder };
}

/** The same past after these resolutions: their calls are open, the others stay pending. */
export function withResolutions(past: RunPast, resolutions: Resolutions): RunPast {
  const pending = new Map(past.pending);
  const open = new Map(past.open);
  for (const [index, { before }] of past.pending) {
    const callId = toCallId(past.recorder.header.runId, index);
    const resolution = Object.hasOwn(resolutions, callId) ? resolutions[callId] : undefined;
    if (resolution === undefined) continue;
    pending.delete(index);
    open.set(index, before === undefined ? resolution : { ...resolution, before });
  }
  return { ...past, pending, open };
}

/**
 * The resolutions that a run begins with. Those of calls that executors have count too: this host may have to repeat such
 * a call.
 */
export function resolutionsOf({ open, elsewhere }: RunPast): Map<number, KeptResolution> {
  const resolutions = new Map<number, KeptResolution>();
  for (const [index, { resolution }] of elsewhere)
    if (resolution !== undefined) resolutions.set(index, resolution);
  for (const [index, resolution] of open) if (resolution !== undefined) resolutions.set(index, resolution);
  return resolutions;
}

/** The resolutions of calls that have no outcome yet and have not asked again. */
export function resolutionsLeft(
  past: RunPast,
  asked: ReadonlyMap<number, Asked>,
): [number, KeptResolution][] {
  const { recorder } = past;
  return [...resolutionsOf(past)].filter(([index]) => !recorder.isSettled(index) && !asked.has(index));
}
