/**
 * Differences: where we do not do as the contract's package does, and why. docs/guide/ai-sdk-differences.md tells
 * users the same.
 *
 * - `in` says which parts of an outcome differ; all others are equal, and these are checked to differ still.
 */
import type { Outcome } from "./outcome.ts";

export interface Difference {
  readonly why: string;
  readonly in: readonly (keyof Parts)[];
  /** What ours comes to, as far as that is the point. */
  readonly ours?: Outcome;
}

interface Parts {
  readonly value: unknown;
  readonly error: unknown;
  readonly executed: unknown;
  readonly hooks: unknown;
  readonly traces: unknown;
}

const failed = (name: string, code = "CODE_MODE_ERROR"): Outcome => ({ error: { name, code } });

const NOTHING = "values that JSON cannot express become null";
const TRACED = "every invocation ends with a trace, even if it fails before its program starts";
const REFUSED = "a value that JSON would lose is refused with its path; it does not become {}";
const GENERATED = "eval, Function and import are refused by other means, so the name of the error differs";
const NAMES = "error names are class names, not a bundler's short names";
const TOOL_NAMES =
  "errors of tools keep their name and message, so that programs and models can tell them apart";
const OWN_CODES =
  "only the host sets the code of an error and the names of its error classes: a program cannot choose what its host reads";
const QUEUED =
  "calls beyond maxInFlightBridgeRequests wait for their turn: Promise.all over many items is normal code";
const FINAL = "a program that exceeds its limit of calls ends; it cannot catch this and go on";
const IN_GUEST =
  "an input that is too large is refused inside the sandbox, before any hook hears of the call";
const DECIDED = "an invalid approval answer fails its call, and hooks hear of it like of any failure";
const ONCE = "a continuation can be used once: a tool does not run twice, and a denial is final";
const VALIDATED =
  "an approval shows the input that will be executed: the one that the tool's schema returned";
const TOLD = "hooks hear that a call resumes before they hear its result, also if it was denied";
const STOPPED = "the trace of a program includes the calls that were stopped with it";
const EAGER = "a call starts when the program makes it, whether the program awaits it or not";
const UNMADE = "calls that a program makes in its last step, without awaiting them, do not start";
const BATCHES = "calls that wait at the same time are all asked for at once, and hooks hear of them together";

export const DIFFERENCES: Readonly<Record<string, Difference>> = {
  nothing: { why: NOTHING, in: ["value"], ours: { value: null } },
  undefined: { why: NOTHING, in: ["value"], ours: { value: null } },
  "an empty program": { why: NOTHING, in: ["value"], ours: { value: null } },
  "an output of nothing": { why: NOTHING, in: ["value"], ours: { value: "object" } },
  "an empty async iterable": { why: NOTHING, in: ["value"], ours: { value: "object" } },
  "a map": { why: REFUSED, in: ["value", "error", "traces"], ours: failed("TypeError") },
  "a result that is too large": {
    why: NAMES,
    in: ["error"],
    ours: failed("CodeModeError", "CODE_MODE_SERIALIZATION_ERROR"),
  },
  "a tool's error": {
    why: TOOL_NAMES,
    in: ["error"],
    ours: failed("RangeError", "CODE_MODE_HOST_TOOL_ERROR"),
  },
  "a tool's error, caught": {
    why: TOOL_NAMES,
    in: ["value"],
    ours: { value: ["RangeError", "CODE_MODE_HOST_TOOL_ERROR", true, false, null] },
  },
  "input that its JSON Schema refuses": {
    why: "a plain JSON Schema is validated too, not only shown",
    in: ["value", "error", "executed", "hooks", "traces"],
    ours: failed("CodeModeToolError", "CODE_MODE_TOOL_ERROR"),
  },
  "reading tools": {
    why: "tools is an object whose keys are the tools",
    in: ["value"],
    ours: { value: ["object", "function", true] },
  },
  "replacing tools": {
    why: "tools cannot be replaced; an attempt changes nothing",
    in: ["value", "error", "executed", "hooks", "traces"],
    ours: { value: { a: 1 } },
  },
  "a thrown error with a code": { why: OWN_CODES, in: ["error", "traces"], ours: failed("Error") },
  "an error with a name of the package": { why: OWN_CODES, in: ["error"], ours: failed("Error") },
  "a syntax error": { why: TRACED, in: ["error", "traces"], ours: failed("SyntaxError") },
  "an import": { why: TRACED, in: ["error", "traces"], ours: failed("SyntaxError") },
  "a source that is too large": { why: TRACED, in: ["traces"] },
  "aborted before it starts": { why: TRACED, in: ["traces"] },
  "what else is there": {
    why: "programs have timers, URL and other web APIs; randomness and the clock come from the ledger, so that replay repeats them",
    in: ["value"],
    ours: { value: ["object", "object", "function", "function"] },
  },
  "a dynamic import": { why: GENERATED, in: ["error"], ours: failed("SyntaxError") },
  eval: { why: GENERATED, in: ["error"], ours: failed("ReferenceError") },
  Function: { why: GENERATED, in: ["error"], ours: failed("EvalError") },
  "Function by its constructor": { why: GENERATED, in: ["error"], ours: failed("EvalError") },
  "a rejection that nobody handles": {
    why: "a rejection that nobody handles fails the program, instead of being lost",
    in: ["value", "error", "traces"],
    ours: failed("Error"),
  },
  "a promise that nothing settles": {
    why: "a program that waits for something that cannot happen fails at once, not after its time limit",
    in: ["error", "traces"],
    ours: failed("CodeModeError"),
  },
  "deep recursion": {
    why: "an overflow is a RangeError, as in other engines",
    in: ["value"],
    ours: { value: "RangeError" },
  },
  "an input that is too large": {
    why: IN_GUEST,
    in: ["error", "hooks", "traces"],
    ours: failed("CallError"),
  },
  "an input that is too large, caught": {
    why: IN_GUEST,
    in: ["value", "hooks", "traces"],
    ours: { value: ["CallError", "input_limit", true, false, null] },
  },
  "too many calls, caught": {
    why: FINAL,
    in: ["value", "error", "traces"],
    ours: failed("CodeModeBridgeLimitError", "CODE_MODE_BRIDGE_LIMIT"),
  },
  "more at once than may be": {
    why: QUEUED,
    in: ["value", "error", "executed", "hooks", "traces"],
    ours: { value: 4 },
  },
  "a tool that takes too long": { why: STOPPED, in: ["traces"] },
  "a call that nobody awaits and that has ended": { why: EAGER, in: ["executed", "hooks", "traces"] },
  "a call that somebody looks at, still running": { why: UNMADE, in: ["hooks"] },
  "a call with a catch, still running": { why: UNMADE, in: ["hooks"] },
  "a race": { why: STOPPED, in: ["traces"] },
  "a callback says null": { why: DECIDED, in: ["hooks", "traces"] },
  "a callback says a number": { why: DECIDED, in: ["hooks", "traces"] },
  "a callback says no boolean": { why: DECIDED, in: ["hooks", "traces"] },
  "a callback says a reason that is not a text": { why: DECIDED, in: ["hooks", "traces"] },
  "a callback says another text": {
    why: "a text that is not a decision is refused, not taken for a denial",
    in: ["error", "traces"],
    ours: failed("CodeModeProtocolError", "CODE_MODE_PROTOCOL_ERROR"),
  },
  "an approval interrupts with a validated input": {
    why: VALIDATED,
    in: ["value"],
    ours: { value: { input: { path: "/a" } } },
  },
  "denied later": { why: TOLD, in: ["hooks"] },
  "denied later, caught": { why: TOLD, in: ["hooks"] },
  "continued twice": {
    why: ONCE,
    in: ["value", "executed", "hooks", "traces"],
    ours: { value: [{ token: 1 }, { name: "CodeModeProtocolError" }] },
  },
  "denied, then approved": {
    why: ONCE,
    in: ["value", "executed", "hooks", "traces"],
    ours: { value: [{ name: "CodeModeToolApprovalDeniedError" }, { name: "CodeModeProtocolError" }] },
  },
  "two that wait at the same time": { why: BATCHES, in: ["hooks", "traces"] },
  "a prefix with a query": {
    why: "a fetch policy that cannot be enforced is refused before a program starts",
    in: ["value", "error", "hooks", "traces"],
    ours: { error: { name: "TypeError" } },
  },
  "a fetch of the host's own that fails": {
    why: "a fetch that fails throws a CodeModeFetchError; the host gets the original error",
    in: ["value"],
    ours: { value: ["CodeModeFetchError", "CODE_MODE_FETCH_ERROR"] },
  },
  "calls and fetches": {
    why: "ids number the calls and fetches of a program together",
    in: ["hooks", "traces"],
    ours: { value: 1 },
  },
  "fetches only": {
    why: "includeFetchSummary alone is enough for a summary of fetches",
    in: ["value"],
    ours: { value: [1, { value: { nestedTools: [] } }, { value: { nestedTools: [] } }] },
  },
};
