/**
 * Types, and the table of codes. CodeModeResult is what `exec` and `wait` answer: plain data for a model to read.
 *
 * It has exactly one of three shapes. An error has one of them too, and is never thrown through the agent's loop.
 */
import type { Json } from "../../contract/value.ts";

export type CodeModeResult = CodeModeCompleted | CodeModeWaiting | CodeModeFailed;

export interface CodeModeCompleted {
  readonly status: "completed";
  readonly value: Json;
  readonly output?: readonly CodeModeOutput[];
  readonly telemetry: CodeModeTelemetry;
}

export interface CodeModeWaiting {
  readonly status: "waiting";
  /** Give this to `wait`. */
  readonly runId: string;
  readonly reason: "pending_tools" | "yield";
  readonly pendingToolCalls?: readonly PendingToolCall[];
  readonly output?: readonly CodeModeOutput[];
  readonly telemetry: CodeModeTelemetry;
}

export interface CodeModeFailed {
  readonly status: "failed";
  /** What went wrong, where, and what to do next. */
  readonly error: string;
  readonly code: CodeModeErrorCode;
  readonly output?: readonly CodeModeOutput[];
  readonly telemetry: CodeModeTelemetry;
}

/** What the program gave out, in the order in which it did so. */
export type CodeModeOutput =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "json"; readonly value: Json };

/** A nested call that the program still waits for. */
export interface PendingToolCall {
  readonly id: string;
  /** The tool's id in the catalog. */
  readonly tool: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** The beginning of the input's JSON text, as the program wrote it. */
  readonly input: string;
  /** What the tool asked for, if the call waits for a decision; shortened if it is long. */
  readonly asks?: Json;
}

/** All codes, and when they are given. */
export const CODE_MODE_ERROR_CODES = {
  runtime_unavailable: "The sandbox could not be started, or died",
  invalid_config: "The configuration names a runtime, mode or language that does not exist",
  invalid_input:
    "The arguments, the program's syntax or the run id are wrong, or too many runs are suspended",
  unsupported_language: "The language is unknown or not enabled",
  typescript_transform_failed: "The TypeScript is not a program",
  module_access_denied: "The program uses import, export, import.meta or require",
  timeout: "The program used up its time",
  memory_limit_exceeded: "The program needed more memory than it may have",
  output_limit_exceeded: "The result is too large to be delivered in any form",
  snapshot_limit_exceeded: "The suspended run is larger than it may be",
  snapshot_expired: "The suspended run was not waited for in time",
  snapshot_restore_failed: "The suspended run could not be continued",
  too_many_pending_tool_calls: "The program made more calls at once than can be queued",
  nested_tool_failed: "A tool failed and the program did not catch it",
  aborted: "The run, the session or the tool call was cancelled",
  internal_error: "Anything else; an error that the program threw by itself",
} as const;

export type CodeModeErrorCode = keyof typeof CODE_MODE_ERROR_CODES;

/** Counts and names of one agent run so far; never inputs, outputs or secrets. */
export interface CodeModeTelemetry {
  /** Tools that the model sees. */
  readonly visibleTools: readonly string[];
  readonly catalog: {
    readonly size: number;
    /** Number of tools by kind. */
    readonly sources: Readonly<Record<string, number>>;
  };
  readonly counts: {
    readonly exec: number;
    readonly wait: number;
    readonly search: number;
    readonly describe: number;
    readonly call: number;
  };
  /** Ids of the tools that were called, each once, in the order of their first calls; at most a hundred. */
  readonly calledTools: readonly string[];
  /** How many further tools were called. */
  readonly moreCalledTools?: number;
  /** Number of failures by code; only codes that occurred. */
  readonly failures: Readonly<Partial<Record<CodeModeErrorCode, number>>>;
  readonly snapshots: {
    readonly created: number;
    readonly restored: number;
    readonly expired: number;
    readonly dropped: number;
  };
}
