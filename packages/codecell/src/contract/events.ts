/**
 * Runs anywhere. Events are the one vocabulary for what happens in a run. Everything that tells of a run derives it
 * from events: `handle.events`, spans, traces, telemetry, trajectories. The inspection of a ledger tells outcomes in
 * the same shape.
 *
 * - A run keeps its `RunEvent`s for every reader; of progress, the newest parts. `onEvent` hears each `LiveEvent` as it happens.
 * - A step is an event of a call between its start and its end. Only `onEvent` hears it: a run does not keep steps, since
 *   they hold values that only the host has.
 * - No event has an output: an output may be large, and it belongs to the program. Middleware sees outputs.
 * - A call has one `call-end`. It has no `call-start` if its input could not be read, or if a resolution denied it.
 */
import type { CallFailure } from "./failure.ts";
import { withCause } from "./host-error.ts";
import type { SettledOutcome } from "./ledger.ts";
import type { LogLine, RunResult } from "./result.ts";
import type { Json } from "./value.ts";

interface OfRun {
  readonly runId: string;
}

interface OfCall extends OfRun {
  readonly callId: string;
  /** Counts the calls of the run, in the order in which the program made them. */
  readonly index: number;
  readonly tool: string;
}

/** What an event says about a call's outcome: sizes and failures, never the output. */
export type OutcomeSummary =
  | { readonly status: "completed"; readonly outputBytes: number }
  | {
      readonly status: "failed";
      readonly failure: CallFailure;
      /** The run had told the call to stop. */
      readonly isAborted?: true;
      /** The thrown value, for the host alone: the property is not enumerable. */
      readonly cause?: unknown;
    };

/** A program makes a call, and its input could be read. */
export type CallStartEvent = OfCall & {
  readonly type: "call-start";
  /** As the program wrote it. */
  readonly input: Json;
};

/** What a run's `events` tell every reader. */
export type RunEvent =
  | (OfRun & {
      readonly type: "run-start";
      /**
       * When the run first began, in milliseconds since the epoch. If the run was resumed, that is before this start.
       */
      readonly clock: number;
    })
  | CallStartEvent
  | (OfCall & {
      readonly type: "call-progress";
      /**
       * A value of the tool's async iterable, as the tool gave it. Readers that come late or fall behind get the newest
       * values, of 131,072 characters together.
       */
      readonly output: unknown;
    })
  | (OfCall & {
      readonly type: "call-end";
      readonly durationMs: number;
      readonly outcome: OutcomeSummary;
    })
  | (OfRun & { readonly type: "log" } & LogLine)
  | (OfRun & { readonly type: "run-end"; readonly result: RunResult });

/** What happens to a call between its start and its end. */
export type CallStep =
  | {
      readonly type: "call-decide";
      /** The input after validation. Middleware and `authorize` are asked next. */
      readonly input: unknown;
    }
  | {
      readonly type: "call-rewrite";
      /** The input that middleware gave, after validation. */
      readonly input: unknown;
      /** The size of its JSON text; 0 if it is not JSON. */
      readonly inputBytes: number;
    }
  | {
      readonly type: "call-execute";
      /** The input that the tool gets. Middleware may still be around the tool. */
      readonly input: unknown;
    }
  | {
      readonly type: "call-ask";
      /** What the call asks a decision about. The call ends later, in a resumed run. */
      readonly payload: Json;
    };

export type CallStepEvent = OfCall & CallStep;

/**
 * What `onEvent` hears: all events of a run and the steps of its calls, each with its time. A `call-start` also has its
 * input as text.
 */
export type LiveEvent = {
  /** Milliseconds since the epoch. */
  readonly at: number;
} & (
  | Exclude<RunEvent, CallStartEvent>
  | (CallStartEvent & {
      /** The input as the ledger has it. */
      readonly inputText: string;
    })
  | CallStepEvent
);

export type OnEvent = (event: LiveEvent) => void;

/** What a call does. A `waiting` call waits for a decision. */
export type CallState = "running" | "waiting" | "completed" | "failed";

/** The state that an event puts its call in; undefined if the event changes no state. */
export function callStateAfter(event: RunEvent | CallStepEvent): CallState | undefined {
  switch (event.type) {
    case "call-start":
    case "call-execute":
      return "running";
    case "call-ask":
      return "waiting";
    case "call-end":
      return event.outcome.status;
    case "call-decide":
    case "call-rewrite":
    case "call-progress":
    case "log":
    case "run-start":
    case "run-end":
      return undefined;
    default:
      return event satisfies never;
  }
}

/** `outputBytes` is the size of the output as JSON text. */
export function summarizeOutcome(
  outcome: SettledOutcome,
  outputBytes: number,
  isAborted = false,
  cause?: unknown,
): OutcomeSummary {
  if (outcome.kind === "output") return { status: "completed", outputBytes };
  const { failure } = outcome;
  return withCause({ status: "failed", failure, ...(isAborted ? { isAborted } : {}) }, cause);
}
