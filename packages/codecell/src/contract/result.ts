/** Results of a run: a closed union of plain data, and the way from a result to its value. */
import { CodecellError, type Failure } from "./failure.ts";
import type { Json } from "./value.ts";

/** `text` and `json` are what a program of the catalog profile gave out by these names; the text of `json` is JSON. */
export type LogLevel = "debug" | "log" | "info" | "warn" | "error" | "text" | "json";

export interface LogLine {
  readonly level: LogLevel;
  readonly text: string;
}

export interface RunStats {
  /** Milliseconds from start to result. */
  readonly wallTimeMs: number;
  /** Milliseconds of guest execution, the preparation of its source included. */
  readonly cpuTimeMs: number;
  readonly calls: number;
  /** How often the run was rebuilt from its ledger because its worker was lost or busy. */
  readonly rebuilds: number;
}

interface ResultCommon {
  readonly runId: string;
  readonly logs: readonly LogLine[];
  /** Log lines that did not fit limits.logBytes. */
  readonly logsDropped: number;
  readonly stats: RunStats;
}

export interface PendingCall {
  readonly callId: string;
  readonly tool: string;
  readonly input: Json;
  /** What the tool asked for when it suspended the run. */
  readonly payload: Json;
}

/** How a pending call of a suspended run goes on. */
export type CallResolution = { readonly resolution: Json } | { readonly deny: string };

/** By call id. */
export type Resolutions = Readonly<Record<string, CallResolution>>;

/** What a call gives in a fork, instead of being made. */
export type ForkOutcome =
  | { readonly output: Json }
  | { readonly error: { readonly name?: string; readonly message: string } };

/** A run that waits to be resumed: for decisions, for calls that take long, or because the program yielded. */
export interface Suspension {
  /** Sealed, single-use; give it back to `host.resume`. Holds the whole run, or where the host's store has it. */
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Calls that wait for a decision. */
  readonly pending: readonly PendingCall[];
  /** The reasons of the program's yields, in the order it made them; one without a reason gives an empty text. */
  readonly yielded: readonly string[];
}

export type RunResult =
  | (ResultCommon & { readonly status: "completed"; readonly value: Json })
  | (ResultCommon & { readonly status: "suspended"; readonly suspension: Suspension })
  | (ResultCommon & {
      readonly status: "failed";
      readonly failure: Failure;
      /** What was thrown in this process, for the host alone: not enumerable, so no copy and no text of the result has it. */
      readonly cause?: unknown;
    });

/** The value of a completed run; throws a CodecellError for a failed one. */
export function unwrap(result: RunResult): Json {
  switch (result.status) {
    case "completed":
      return result.value;
    case "failed":
      throw new CodecellError(
        result.failure,
        result.cause === undefined ? undefined : { cause: result.cause },
      );
    case "suspended":
      throw new TypeError("Cannot unwrap a suspended run: resume it first");
    default:
      return result satisfies never;
  }
}
