/**
 * Runs anywhere. Failures say why a run or a call did not succeed, in one closed vocabulary.
 *
 * - The host or the worker assigns the code. Nothing that the guest throws or returns can choose it.
 * - The message tells a model what to do next. It never has host stacks, paths, causes or secrets.
 */

import type { Diagnostic } from "./diagnostic.ts";

/** Every code, with what it means. A code never changes its meaning. */
export const FAILURE_CODES = {
  syntax_error: "The source is not a program the guest can run",
  module_denied: "The source uses import, export, import.meta or require",
  check_failed: "The check found errors in the program, so it was not run",
  guest_error: "The program threw, or left a promise rejection unhandled",
  tool_failed: "A call failed and the program did not catch it",
  detached_call: "The program returned without waiting for a call",
  deadlock: "The program waits for something that can never happen",
  source_limit: "The source is larger than limits.sourceBytes",
  timeout: "The run used up limits.wallTimeMs or limits.cpuTimeMs",
  memory_limit: "The program needed more than limits.memoryBytes",
  result_limit: "The result is larger than limits.resultBytes, nested too deeply, or has too many parts",
  call_limit:
    "The run made more calls than limits.calls, more at once than the queue holds, or moved too much data",
  aborted: "The caller aborted the run, or the host was closed",
  too_many_runs: "The host has as many live runs as it may have, or no memory for another",
  unavailable: "The sandbox could not be started, or kept dying",
  replay_diverged: "The program did not repeat what its ledger recorded",
  token_invalid: "The text is not a suspension token, or was altered",
  token_version: "The suspension token was made by a version of this package that this version cannot read",
  token_key: "The suspension token was sealed with a key this host does not have",
  token_scope: "The suspension token belongs to another scope",
  token_expired: "The suspension token is past its expiry",
  token_used: "The suspension token was already used to resume its run",
  suspension_limit: "The suspended run is larger than limits.suspensionBytes",
  run_held: "The run to resume is held by another process",
  run_unknown: "The store has no run with this id: it ended, expired or never existed",
  tool_missing: "The host lacks a tool that the run waits for; the run stays suspended",
  resume_invalid: "The tools or the resolutions do not fit the suspended run, which stays suspended",
  run_taken: "Another process took the run over while it executed here",
  store_failed: "The store refused what the run needed to keep",
  internal: "Codecell itself is at fault",
} as const;

export type FailureCode = keyof typeof FAILURE_CODES;

/** Codes of a failed call, as `error.code` inside the guest. */
export const CALL_FAILURE_CODES = {
  unknown_tool: "No tool has this name",
  invalid_input: "The input does not match the tool's schema",
  input_limit: "The input is larger than limits.callInputBytes",
  denied: "The host's policy or a person refused the call",
  tool_failed: "The tool threw",
  invalid_output: "The tool's output does not match its schema or is not JSON",
  output_limit: "The output is larger than limits.callOutputBytes",
  fetch_failed: "The fetch policy refused a fetch, or the request failed",
  outcome_unknown: "The process ended while the call executed; nobody knows whether the call took effect",
} as const;

export type CallFailureCode = keyof typeof CALL_FAILURE_CODES;

/** A place in the model's own source. Line and column begin at 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** What the guest threw, as data of bounded size. */
export interface GuestError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
}

export interface Failure {
  readonly code: FailureCode;
  readonly message: string;
  readonly position?: Position;
  readonly error?: GuestError;
  /** What the check before the run said about the program, if there was a check: it may explain the failure. */
  readonly advice?: readonly Diagnostic[];
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Why a call failed, as the guest and the events see it. */
export interface CallFailure {
  readonly code: CallFailureCode;
  readonly name: string;
  readonly message: string;
  /** The `code` of the error that the tool threw, if it had one. */
  readonly toolCode?: string;
  /** The `code` that the program sees instead of `code`, in the words of an adapter. */
  readonly shownCode?: string;
  /** What a program needs to repair the call, or to tell what went wrong, as JSON text of bounded size. */
  readonly details?: string;
}

const BRAND = "codecell.error";

/** The only error class for failures. `unwrap` throws it for host programmers who want a value instead of a result. */
export class CodecellError extends Error {
  /** Marks instances, also those of another copy of this package. */
  readonly brand: string = BRAND;
  override readonly name = "CodecellError";
  readonly code: FailureCode;
  readonly failure: Failure;

  /** The cause is for the host only. */
  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.message, options);
    this.code = failure.code;
    this.failure = failure;
  }

  static is(value: unknown): value is CodecellError {
    return typeof value === "object" && value !== null && "brand" in value && value.brand === BRAND;
  }
}
