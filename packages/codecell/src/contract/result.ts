/** Runs anywhere. The results of a run as a closed union of plain data, and the way from a result to its value. */
import { CodecellError, type Failure } from "./failure.ts";
import type { Json } from "./value.ts";

/**
 * `text` and `json` are what a program of the catalog profile gave out by these names. The text of a `json` line is
 * JSON.
 */
export type LogLevel = "debug" | "log" | "info" | "warn" | "error" | "text" | "json";

/** Text that the program printed, with a level. */
export interface LogLine {
  readonly level: LogLevel;
  readonly text: string;
}

export interface RunStats {
  /** Milliseconds from start to result. */
  readonly wallTimeMs: number;
  /** Milliseconds of guest execution, including the preparation of the source. */
  readonly cpuTimeMs: number;
  readonly calls: number;
  /** How often the run was rebuilt from its ledger because its worker was lost or busy. */
  readonly rebuilds: number;
}

interface ResultCommon {
  readonly runId: string;
  readonly logs: readonly LogLine[];
  /** How many log lines did not fit limits.logBytes. */
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

/** Resolutions by call id. */
export type Resolutions = Readonly<Record<string, CallResolution>>;

/** What a call gives in a fork, instead of being made. */
export type ForkOutcome =
  | { readonly output: Json }
  | { readonly error: { readonly name?: string; readonly message: string } };

/** A run that waits to be resumed: for decisions, for calls that take long, or because the program yielded. */
export interface Suspension {
  /**
   * Sealed and single-use: give it back to `host.resume`. It holds the whole run, or says where the host's store has
   * the run.
   */
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** Calls that wait for a decision, in the order the program made them. */
  readonly pending: readonly PendingCall[];
  /**
   * The reasons of the program's yields, in the order the program made them. A yield without a reason gives an empty
   * text.
   */
  readonly yielded: readonly string[];
}

export type RunResult =
  | (ResultCommon & { readonly status: "completed"; readonly value: Json })
  | (ResultCommon & { readonly status: "suspended"; readonly suspension: Suspension })
  | (ResultCommon & {
      readonly status: "failed";
      readonly failure: Failure;
      /**
       * The value thrown in this process, for the host alone. The property is not enumerable, so no copy and no text of
       * the result has it.
       */
      readonly cause?: unknown;
    });

/** The value of a completed run. Throws a CodecellError for a failed run, and a TypeError for a suspended one. */
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
