/**
 * Runs on the host. Call failure: what a program is told about a call that failed.
 *
 * - Only an error's name, message and code reach the program, and all of them are bounded. Stacks, causes and other
 *   fields stay on the host, unless somebody says with `withCallDetails` that they are for the program.
 * - A failure is kept as long as its run. It has copies of its texts: a tool that repeats a word of its input would keep
 *   all of the input otherwise.
 */
import type { CallFailure, CallFailureCode } from "../contract/failure.ts";
import { withCause } from "../contract/host-error.ts";
import type { Json } from "../contract/value.ts";
import { toJsonText } from "../value/json-text.ts";
import { ownText } from "../value/own-text.ts";

/**
 * Says what a program is told about a call that failed: name, message and codes. `thrown` is what the call's tool
 * threw, if it threw.
 */
export type MapCallFailure = (
  failure: CallFailure,
  call: { readonly callId: string; readonly tool: string; readonly thrown: unknown },
) => Omit<CallFailure, "code">;

const MAX_MESSAGE = 4096;
const MAX_NAME = 128;
const MAX_DETAILS = 16_384;

/** Thrown by a tool that stands for other tools, to refuse a call with a code and a message of the host itself. */
export class CallRefusal {
  readonly code: CallFailureCode;
  readonly message: string;
  /** For the host alone. It is not enumerable, because whoever prints the refusal may show the text to a model. */
  declare readonly cause: unknown;

  /** For the program, as the code of a tool's error is. */
  readonly toolCode: string | undefined;

  constructor(code: CallFailureCode, message: string, cause?: unknown, toolCode?: string) {
    this.code = code;
    this.message = message;
    this.toolCode = toolCode;
    withCause(this, cause);
  }
}

/** Known by its name, so that a second copy of this package reads the details too. */
const DETAILS = Symbol.for("codecell.call-details");

/** Gives an error details for the program, as `error.details`. Details that are not JSON, or too large, are left out. */
export function withCallDetails<E extends object>(error: E, details: Json): E {
  return Object.defineProperty(error, DETAILS, { value: details });
}

function detailsOf(error: object): Pick<CallFailure, "details"> {
  const details = (error as { readonly [DETAILS]?: Json })[DETAILS];
  if (details === undefined) return {};
  const text = toJsonText(details);
  return text === undefined || text.length > MAX_DETAILS ? {} : { details: text };
}

/** The failure that the guest sees when the host itself refuses a call. */
export function toRefusal(code: CallFailureCode, message: string): CallFailure {
  return { code, name: "CallError", message: bounded(message, MAX_MESSAGE) };
}

/** The failure that the guest sees when a tool throws `error`. */
export function toCallFailure(error: unknown): CallFailure {
  if (error instanceof CallRefusal) {
    const { code, message, toolCode } = error;
    return {
      ...toRefusal(code, message),
      ...(toolCode === undefined ? {} : { toolCode }),
      ...detailsOf(error),
    };
  }
  try {
    if (typeof error === "object" && error !== null && "message" in error) {
      const { name, message, code } = error as { name?: unknown; message: unknown; code?: unknown };
      return {
        code: "tool_failed",
        name: bounded(name, MAX_NAME) || "Error",
        message: bounded(message, MAX_MESSAGE) || "The tool failed",
        ...(typeof code === "string" || typeof code === "number"
          ? { toolCode: bounded(String(code), MAX_NAME) }
          : {}),
        ...detailsOf(error),
      };
    }
    return { code: "tool_failed", name: "Error", message: bounded(error, MAX_MESSAGE) || "The tool failed" };
  } catch {
    return { code: "tool_failed", name: "Error", message: "The tool failed" };
  }
}

/**
 * The failure with an adapter's words. They may come from what a tool threw, so only texts are taken, and their length
 * is bounded.
 */
export function inWords(failure: CallFailure, words: Omit<CallFailure, "code"> | undefined): CallFailure {
  if (words === undefined) return failure;
  const shownCode = bounded(words.shownCode, MAX_NAME);
  return {
    ...failure,
    name: bounded(words.name, MAX_NAME) || failure.name,
    message: bounded(words.message, MAX_MESSAGE) || failure.message,
    ...(shownCode === "" ? {} : { shownCode }),
  };
}

/** Bounds a reason that somebody else wrote; `otherwise` replaces an empty one. */
export function boundedReason(reason: string, otherwise: string): string {
  return bounded(reason, MAX_MESSAGE) || otherwise;
}

function bounded(value: unknown, length: number): string {
  return typeof value === "string" ? ownText(value, length) : "";
}
