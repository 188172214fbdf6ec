/**
 * Runs on the host. To error: turns failures of runs and calls into errors of code mode. Only this file knows both
 * vocabularies.
 *
 * - It is total: the compiler notices when a code is added.
 * - The class of an error follows from what the host saw. Names and codes that a program gives its errors choose no
 *   class.
 */
import type { CallFailure, CallFailureCode, Failure } from "../../contract/failure.ts";
import { withCause } from "../../contract/host-error.ts";
import type { Limits } from "../../contract/limits.ts";
import type { Json } from "../../contract/value.ts";
import { utf8Bytes } from "../../value/json-text.ts";
import { ownText } from "../../value/own-text.ts";
import { printBeginning } from "../../value/print-json.ts";
import { isRecord } from "../../value/shape.ts";
import type { CodeModeTraceError } from "./events.ts";
import {
  CodeModeAbortedError,
  CodeModeBridgeLimitError,
  CodeModeConcurrencyError,
  CodeModeDetachedBridgeRequestError,
  CodeModeError,
  CodeModeFetchError,
  CodeModeProtocolError,
  CodeModeSourceTooLargeError,
  CodeModeTimeoutError,
  CodeModeToolApprovalDeniedError,
  CodeModeToolApprovalRequiredError,
  CodeModeToolError,
} from "./errors.ts";
import { CallRefusal, toCallFailure } from "../../calls/call-failure.ts";

const SERIALIZATION = "CODE_MODE_SERIALIZATION_ERROR";
const HOST_TOOL = "CODE_MODE_HOST_TOOL_ERROR";

/** What is known about the invocation that failed. */
export interface FailedInvocation {
  readonly js: string;
  readonly limits: Partial<Limits>;
  /** What was thrown on the host for a call, if the call failed in this process. */
  readonly errorOf: (callId: string) => unknown;
}

export function toError(failure: Failure, invocation: FailedInvocation): CodeModeError {
  const error = errorFor(failure, invocation);
  try {
    const details = { ...(isRecord(error.details) ? error.details : {}), ...factsOf(failure) };
    return Object.assign(error, { details });
  } catch {
    // A tool threw this very error, and nothing can be added to it.
    return error;
  }
}

function factsOf({ code, position, advice }: Failure): object {
  return {
    failure: code,
    ...(position === undefined ? {} : { position }),
    ...(advice === undefined ? {} : { advice }),
  };
}

function errorFor(failure: Failure, { js, limits, errorOf }: FailedInvocation): CodeModeError {
  const { code, message, details, error } = failure;
  switch (code) {
    case "syntax_error":
    case "module_denied":
      return named("SyntaxError", message);
    case "guest_error":
      return named(toGuestName(error?.name), message);
    case "memory_limit":
      return named("InternalError", message);
    case "tool_failed":
      return toolFailed(failure, errorOf);
    case "source_limit":
      return new CodeModeSourceTooLargeError(utf8Bytes(js), limits.sourceBytes ?? 0);
    case "timeout":
      return new CodeModeTimeoutError(limits.wallTimeMs ?? 0, message);
    case "result_limit":
    case "suspension_limit":
      return new CodeModeError(message, SERIALIZATION);
    case "call_limit":
      return new CodeModeBridgeLimitError(message);
    case "detached_call":
      return new CodeModeDetachedBridgeRequestError(message, details);
    case "aborted":
      return new CodeModeAbortedError(message);
    case "too_many_runs":
      return new CodeModeConcurrencyError(undefined, message);
    case "replay_diverged":
    case "token_invalid":
    case "token_version":
    case "token_key":
    case "token_scope":
    case "token_expired":
    case "token_used":
    case "run_held":
    case "run_unknown":
    case "tool_missing":
    case "resume_invalid":
    case "run_taken":
      return new CodeModeProtocolError(message);
    case "check_failed":
    case "deadlock":
    case "unavailable":
    case "store_failed":
    case "internal":
      return new CodeModeError(message);
    default:
      return code satisfies never;
  }
}

const LONGEST_NAME = 128;

/** The name that the program gave its error. Programs may not use the names of our errors. */
function toGuestName(name = ""): string {
  return name === "" || name.startsWith("CodeMode") ? "Error" : ownText(name, LONGEST_NAME);
}

function named(name: string, message: string): CodeModeError {
  return Object.assign(new CodeModeError(message), { name });
}

/** For a program that did not catch the failure of a call. */
function toolFailed({ message, details }: Failure, errorOf: FailedInvocation["errorOf"]): CodeModeError {
  const {
    tool: toolName,
    callId,
    call,
  } = (details ?? {}) as {
    tool?: string;
    callId?: string;
    call?: CallFailure;
  };
  const thrown = callId === undefined ? undefined : errorOf(callId);
  if (thrown instanceof CodeModeError) return copyOf(thrown);
  const error = call === undefined ? new CodeModeToolError(message) : classOf(call, message, toolName);
  return withCause(error, thrown);
}

/** A copy, because details are added to it: the host owns the thrown object and may throw it again. */
function copyOf(thrown: CodeModeError): CodeModeError {
  const { name, message, code, details } = thrown;
  const made = Reflect.construct(
    Error,
    [message],
    thrown.constructor as typeof CodeModeError,
  ) as CodeModeError;
  return withCause(Object.assign(made, { name, code, details }), thrown.cause ?? thrown);
}

/** For a call that failed in another process: the class follows from the ledger, which no program writes. */
function classOf(call: CallFailure, message: string, toolName = ""): CodeModeError {
  if (call.shownCode === "CODE_MODE_TOOL_APPROVAL_REQUIRED") {
    return new CodeModeToolApprovalRequiredError(toolName, undefined, "");
  }
  if (call.shownCode === "CODE_MODE_TOOL_APPROVAL_DENIED") {
    return new CodeModeToolApprovalDeniedError(toolName, undefined, "", call.message);
  }
  switch (call.code) {
    case "tool_failed":
      return Object.assign(new CodeModeError(message, HOST_TOOL, { toolName }), { name: call.name });
    case "input_limit":
    case "output_limit":
    case "invalid_output":
      return new CodeModeError(message, SERIALIZATION, { toolName });
    case "fetch_failed":
      return new CodeModeFetchError(message);
    case "denied":
      return call.shownCode === HOST_TOOL
        ? Object.assign(new CodeModeError(message, HOST_TOOL, { toolName }), { name: call.name })
        : new CodeModeToolError(message, { toolName });
    case "unknown_tool":
    case "invalid_input":
    case "outcome_unknown":
      return new CodeModeToolError(message, { toolName });
    default:
      return call.code satisfies never;
  }
}

/** The name and code of the error that a program sees, by the code of the failed call. */
const WORDS: Readonly<Record<CallFailureCode, readonly [name: string, code: string]>> = {
  unknown_tool: ["CodeModeToolError", "CODE_MODE_TOOL_ERROR"],
  invalid_input: ["CodeModeToolError", "CODE_MODE_TOOL_ERROR"],
  denied: ["CodeModeToolError", "CODE_MODE_TOOL_ERROR"],
  outcome_unknown: ["CodeModeToolError", "CODE_MODE_TOOL_ERROR"],
  tool_failed: ["Error", HOST_TOOL],
  input_limit: ["CodeModeError", SERIALIZATION],
  output_limit: ["CodeModeError", SERIALIZATION],
  invalid_output: ["CodeModeError", SERIALIZATION],
  fetch_failed: ["CodeModeFetchError", "CODE_MODE_FETCH_ERROR"],
};

/**
 * What a program learns about a failed call. Our own errors keep their name and code; other errors keep what the tool
 * gave them.
 */
export function inWordsOfCodeMode(failure: CallFailure, thrown: unknown): Omit<CallFailure, "code"> {
  if (thrown instanceof CodeModeError) {
    const { name, message } = toCallFailure(thrown);
    return { name, message, shownCode: thrown.code };
  }
  const [name, shownCode] = WORDS[failure.code];
  return { ...failure, name: failure.code === "tool_failed" ? failure.name : name, shownCode };
}

/** The error that the host gets for a failed fetch, with what the host's own fetch threw, if it threw. */
export function toFetchError({ message }: CallFailure, thrown: unknown): CodeModeFetchError {
  const cause = thrown instanceof CallRefusal ? thrown.cause : thrown;
  if (cause === undefined) return new CodeModeFetchError(message);
  return withCause(new CodeModeFetchError(message, { cause: toTraceError(cause) }), cause);
}

const LONGEST_MESSAGE = 4096;
const LONGEST_STACK = 16_384;
/** Characters of their JSON text. */
const LONGEST_DETAILS = 4096;

/**
 * An error as traces keep it. What a tool threw is kept as far as it can be read. Long texts are cut: a tool may repeat
 * its input in its message and its details, and a stack repeats the message.
 */
export function toTraceError(error: unknown): CodeModeTraceError {
  try {
    return isRecord(error)
      ? traceErrorOf(error)
      : { name: "Error", message: ownText(String(error), LONGEST_MESSAGE) };
  } catch {
    return { name: "Error", message: "The error cannot be read" };
  }
}

function traceErrorOf({ name, message, stack, code, details }: Record<string, unknown>): CodeModeTraceError {
  return {
    name: typeof name === "string" ? ownText(name, LONGEST_NAME) : "Error",
    message: typeof message === "string" ? ownText(message, LONGEST_MESSAGE) : "",
    ...(typeof stack === "string" ? { stack: stackOf(stack, message) } : {}),
    ...(typeof code === "string" ? { code: ownText(code, LONGEST_NAME) } : {}),
    ...detailsOf(details),
  };
}

/** A copy of the details, or the beginning of their text if they are long. Nothing if they are not JSON. */
function detailsOf(details: unknown): Pick<CodeModeTraceError, "details"> {
  const text = printBeginning(details, LONGEST_DETAILS + 1);
  if (text === "") return {};
  const isWhole = text.length <= LONGEST_DETAILS;
  return { details: isWhole ? (JSON.parse(text) as Json) : `${ownText(text, LONGEST_DETAILS)}…` };
}

/** Cuts the message in the stack like the message itself, so that the frames behind it stay. */
function stackOf(stack: string, message: unknown): string {
  if (typeof message !== "string" || message.length <= LONGEST_MESSAGE) return ownText(stack, LONGEST_STACK);
  const short = message.slice(0, LONGEST_MESSAGE);
  return ownText(
    stack.replace(message, () => short),
    LONGEST_STACK,
  );
}
