/** What a run is made of, what it takes up from its past, and what it still waits for when nothing moves it. */
import type { MapCallFailure } from "../calls/call-failure.ts";
import type { Authorize, CallMiddleware } from "../calls/middleware.ts";
import type { CellSnapshot, TimerChange } from "../protocol/messages.ts";
import type { Compression } from "../contract/compression.ts";
import type { Failure } from "../contract/failure.ts";
import type { DeliveryItem } from "../contract/ledger.ts";
import type { CallResolution, Suspension } from "../contract/result.ts";
import type { ToolSet } from "../contract/tool.ts";
import type { Json } from "../contract/value.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import type { KeptRun, Suspender } from "../durable/suspender.ts";
import type { EventStream } from "./event-stream.ts";
import type { ProgramCheck } from "./check/program-check.ts";
import type { Elsewhere } from "../durable/recovery.ts";
import type { RunErrors } from "./run-errors.ts";

export interface RunSetup {
  readonly sandbox: Sandbox;
  /** How snapshots are compressed; undefined for what the sandbox does best. */
  readonly compression: Compression | undefined;
  /** Undefined replays: nothing but what the ledger holds may happen. */
  readonly tools: ToolSet | undefined;
  readonly signal: AbortSignal | undefined;
  readonly context: unknown;
  readonly middleware: readonly CallMiddleware[];
  readonly authorize: Authorize | undefined;
  readonly mapCallFailure: MapCallFailure | undefined;
  /** Serve the calls of features that the host itself serves. */
  readonly hostTools: ToolSet;
  readonly past: RunPast;
  readonly events: EventStream;
  readonly errors: RunErrors;
  /** Asked before the program runs. */
  readonly check: ProgramCheck | undefined;
  /** Whether a run that still waits when its time is up is suspended instead of failed. */
  readonly suspendsAtDeadline: boolean;
  /** Where it goes when it is suspended. */
  readonly suspender: Pick<Suspender, "suspend" | "takeLate">;
  readonly kept: KeptRun;
}

/** How a run ends. */
export type Ending =
  | { readonly status: "completed"; readonly value: Json }
  | { readonly status: "suspended"; readonly suspension: Suspension }
  | { readonly status: "failed"; readonly failure: Failure };

/** What a run that is taken up again has to go on with. */
export interface RunPast {
  /** Calls that wait for a decision, with what was asked. */
  readonly pending: ReadonlyMap<number, Json>;
  /** Calls to execute, with the decision that was made about them. */
  readonly open: ReadonlyMap<number, CallResolution | undefined>;
  /** Outcomes the program has not seen. */
  readonly items: readonly DeliveryItem[];
  readonly timers: readonly TimerChange[];
  /** Calls whose tools have been going on since. */
  readonly elsewhere: ReadonlyMap<number, Elsewhere>;
  readonly snapshot: CellSnapshot | undefined;
}

/** The decisions a run was taken up with, also about calls that others execute: they may have to be made again. */
export function decisionsOf({ open, elsewhere }: RunPast): Map<number, CallResolution> {
  const decisions = new Map<number, CallResolution>();
  for (const [index, { resolution }] of elsewhere)
    if (resolution !== undefined) decisions.set(index, resolution);
  for (const [index, resolution] of open) if (resolution !== undefined) decisions.set(index, resolution);
  return decisions;
}

/** Those about calls that are still to be made, and have not asked again. */
export function decisionsLeft(
  past: RunPast,
  recorder: LedgerRecorder,
  asked: ReadonlyMap<number, Json>,
): [number, CallResolution][] {
  return [...decisionsOf(past)].filter(([index]) => !recorder.isSettled(index) && !asked.has(index));
}

export const NO_PAST: RunPast = {
  pending: new Map(),
  open: new Map(),
  items: [],
  timers: [],
  elsewhere: new Map(),
  snapshot: undefined,
};

/** Characters of the inputs that calls are executed with here, by their indices. */
export function inputLengthsOf({ kept, past }: Pick<RunSetup, "kept" | "past">): (index: number) => number {
  return (index) => (past.elsewhere.has(index) ? 0 : (kept.recorder.calls[index]?.input.length ?? 0));
}
