/** RunSetup: what one run is made of. Runs on the host. */
import type { MapCallFailure } from "../calls/call-failure.ts";
import type { Authorize, CallMiddleware } from "../calls/middleware.ts";
import type { Compression } from "../contract/compression.ts";
import type { Failure } from "../contract/failure.ts";
import type { Suspension } from "../contract/result.ts";
import type { ToolSet } from "../contract/tool.ts";
import type { Json } from "../contract/value.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { RunKeeping } from "../durable/run-keeping.ts";
import type { RunPast } from "../durable/run-past.ts";
import type { EventStream } from "./event-stream.ts";
import type { ProgramCheck } from "./check/program-check.ts";
import type { RunErrors } from "./run-errors.ts";

export interface RunSetup {
  readonly sandbox: Sandbox;
  /** How snapshots are compressed; undefined for what the sandbox does best. */
  readonly compression: Compression | undefined;
  /** Undefined in a replay: only what the ledger holds may happen. */
  readonly tools: ToolSet | undefined;
  readonly signal: AbortSignal | undefined;
  readonly context: unknown;
  readonly middleware: readonly CallMiddleware[];
  readonly authorize: Authorize | undefined;
  readonly mapCallFailure: MapCallFailure | undefined;
  /** Tools that serve the calls of features that the host itself serves. */
  readonly hostTools: ToolSet;
  /** The ledger so far, and what was under way when it ended. */
  readonly past: RunPast;
  readonly events: EventStream;
  readonly errors: RunErrors;
  /** Asked before the program runs. */
  readonly check: ProgramCheck | undefined;
  /** Whether a run that still waits when its time is up is suspended instead of failed. */
  readonly suspendsAtDeadline: boolean;
  /** Where the run goes when it has to wait. */
  readonly keeping: RunKeeping;
}

/** How a run ends. */
export type Ending =
  | { readonly status: "completed"; readonly value: Json }
  | { readonly status: "suspended"; readonly suspension: Suspension }
  | { readonly status: "failed"; readonly failure: Failure };

/** The number of characters of a call's input; 0 if the call is not executed here. */
export function inputLengthsOf({ recorder, elsewhere }: RunPast): (index: number) => number {
  return (index) => (elsewhere.has(index) ? 0 : (recorder.calls[index]?.input.length ?? 0));
}
