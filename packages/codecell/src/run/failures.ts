/** Runs on the host. The failures that the host itself finds, in words that tell a model what to do next. */
import { cutShort } from "../contract/cut-short.ts";
import type { CellFailure, Detached, Report } from "../protocol/messages.ts";
import type { Failure } from "../contract/failure.ts";
import { behindCall } from "../contract/features.ts";
import { toCallId } from "../contract/ledger.ts";
import type { Limits } from "../contract/limits.ts";
import { type Loss, SandboxUnavailable } from "../sandbox/sandbox.ts";
import type { LedgerRecorder, LedgerHeader } from "../ledger/ledger-recorder.ts";
import { utf8Bytes } from "../value/json-text.ts";

/** Undefined if the source is not too large. */
export function sourceRefusal({ source, limits }: LedgerHeader): Failure | undefined {
  const bytes = utf8Bytes(source);
  if (bytes <= limits.sourceBytes) return undefined;
  return {
    code: "source_limit",
    message: `The source has ${bytes} bytes, at most ${limits.sourceBytes} are allowed`,
  };
}

/** Why a run did not get on at the end: other cells held its thread, or all programs together used up their memory. */
export interface Waits {
  readonly isWaiting: boolean;
  readonly fullBytes: number | undefined;
}

export function timeoutFailure(
  recorder: LedgerRecorder,
  executing: readonly number[],
  { isWaiting, fullBytes }: Waits,
): Failure {
  // A run that has not done anything yet can be tried again as it is.
  if (fullBytes !== undefined && recorder.calls.length === 0) {
    return {
      code: "too_many_runs",
      message: `Cannot run the program: other programs use all ${Math.round(fullBytes / 1e6)} MB that programs may use together, try again later`,
    };
  }
  const { wallTimeMs } = recorder.header.limits;
  if (fullBytes !== undefined) {
    return {
      code: "timeout",
      message: `The run took longer than ${wallTimeMs} ms, and was waiting for memory at the end: other programs use all ${Math.round(fullBytes / 1e6)} MB that programs may use together, try again later`,
    };
  }
  if (isWaiting) {
    return {
      code: "timeout",
      message: `The run took longer than ${wallTimeMs} ms, and was waiting for a thread at the end: other runs are computing, try again later or compute less in one run`,
    };
  }
  const tools = [...new Set(executing.map((index) => named(recorder, recorder.calls[index]?.tool ?? "")))];
  const waiting = tools.length === 0 ? "" : ` while waiting for ${tools.slice(0, 3).join(", ")}`;
  return {
    code: "timeout",
    message: `The run took longer than ${wallTimeMs} ms${waiting}: do less in one run`,
  };
}

export function abortedFailure(reason: unknown): Failure {
  const why = reason instanceof Error ? reason.message : typeof reason === "string" ? reason : "";
  return {
    code: "aborted",
    message: why === "" ? "The run was aborted" : `The run was aborted: ${cutShort(why, 500)}`,
  };
}

export function deadlockFailure(): Failure {
  return {
    code: "deadlock",
    message:
      "The program waits for a promise that nothing can settle: no call and no timer is pending, look for a promise whose resolve is never called",
  };
}

export function divergedFailure(what: string): Failure {
  return { code: "replay_diverged", message: `The program ${what}` };
}

export function batchFailure({ callsInFlight, callsQueued }: Limits, calls: number): Failure {
  return {
    code: "call_limit",
    message: `Cannot make ${calls} calls at once: ${callsInFlight} may execute and ${callsQueued} may wait, make them in smaller groups`,
  };
}

/**
 * For a replay that has reached the end of its ledger while the program has not ended: the recorded run was still
 * running, or suspended.
 */
export function ledgerEndedFailure(): Failure {
  return {
    code: "replay_diverged",
    message: "Cannot replay to the end: the ledger ends while the program still waits",
  };
}

export function ledgerFailure({ ledgerSize }: Limits): Failure {
  return {
    code: "call_limit",
    message: `The run passed more than ${ledgerSize} characters to and from tools: move less data, or split the work over several runs`,
  };
}

export function lostFailure(loss: Loss, limits: Limits, cause?: unknown): Failure {
  if (loss === "snapshot_refused") {
    return {
      code: "token_version",
      message:
        "Cannot resume: this compact token works only with the engine build that made it; create hosts without compactTokens if tokens must survive an update",
    };
  }
  if (loss === "overran") {
    return {
      code: "timeout",
      message: `The program used more than ${limits.cpuTimeMs} ms of processor time without a pause: work on less data at once`,
    };
  }
  return {
    code: "unavailable",
    message: `The sandbox could not run the program: ${unavailability(cause)}`,
  };
}

/**
 * Says what Node.js was not allowed to do, because only whoever started the process can change that. Other errors stay
 * on the host.
 */
function unavailability(cause: unknown): string {
  const { code, permission } = (cause ?? {}) as { readonly code?: unknown; readonly permission?: unknown };
  if (code === "ERR_ACCESS_DENIED") {
    return permission === "WorkerThreads"
      ? "this process may not start worker threads, start Node.js with --allow-worker beside --permission"
      : "this process may not read the files of Codecell, start Node.js with --allow-fs-read for them beside --permission";
  }
  return cause instanceof SandboxUnavailable ? cause.message : "it failed to start or died repeatedly";
}

/** A cell's failure. If the program let a call's failure escape, it also has what the ledger knows about that call. */
export function explain(recorder: LedgerRecorder, { failure, call: index, detached }: CellFailure): Failure {
  if (index !== null && detached !== undefined) return detachedFailure(recorder, failure, index, detached);
  const call = index === null ? undefined : recorder.failureOf(index);
  if (index === null || call === undefined) return failure;
  const tool = recorder.calls[index]?.tool ?? "";
  return {
    ...failure,
    code: "tool_failed",
    message: `${subjectOf(recorder, tool)} failed and the program did not catch it: ${call.message}${placeOf(failure)}`,
    details: { tool, callId: toCallId(recorder.header.runId, index), call },
  };
}

/** Only the ledger knows which tool the call was of, and how it is named. */
function detachedFailure(
  recorder: LedgerRecorder,
  failure: Failure,
  index: number,
  state: Detached,
): Failure {
  const tool = recorder.calls[index]?.tool;
  if (tool === undefined) return failure;
  const message =
    state === "unawaited"
      ? `The program returned without waiting for its call of ${named(recorder, tool)}${placeOf(failure)}: await every call, or handle its outcome with then and catch`
      : `The program returned while its call of ${named(recorder, tool)} was still pending${placeOf(failure)}: await every call before returning, for example with Promise.allSettled`;
  return { ...failure, message, details: { tool, callId: toCallId(recorder.header.runId, index), state } };
}

/** The tool or feature that was called, to begin a sentence. */
function subjectOf({ header }: LedgerRecorder, tool: string): string {
  const call = behindCall(header.features, tool);
  return call?.endedBy === "host"
    ? `${call.noun.charAt(0).toUpperCase()}${call.noun.slice(1)}`
    : `Tool "${tool}"`;
}

/** The tool or feature that was called, as a program names it. */
function named({ header }: LedgerRecorder, tool: string): string {
  const call = behindCall(header.features, tool);
  return call?.endedBy === "host" ? call.shown : `"${tool}"`;
}

function placeOf({ position }: Failure): string {
  return position === undefined ? "" : ` (line ${position.line}, column ${position.column})`;
}

/** The failure of a run with nothing left to wait for, if a rejection was not handled. */
export function unhandledFailure(recorder: LedgerRecorder, report: Report | undefined): Failure | undefined {
  const unhandled = report?.unhandled ?? null;
  if (unhandled === null) return undefined;
  const failure = explain(recorder, unhandled);
  if (failure.code === "memory_limit") return failure;
  return { ...failure, message: `A promise was rejected and nobody handled it: ${failure.message}` };
}
