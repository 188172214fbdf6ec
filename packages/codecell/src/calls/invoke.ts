/**
 * Invoke: the host's handling of one call. Look up, validate, authorise, execute, validate, encode.
 *
 * - Never throws and never rejects: every way to fail is an outcome.
 * - What was authorised is what is executed: the validated input, encoded once by the guest.
 * - Of an error only name, message and the tool's own code cross; stacks, causes and other fields stay here.
 */
import type { CallFailure, CallFailureCode } from "../contract/failure.ts";
import { type HostErrorSource, withCause } from "../contract/host-error.ts";
import type { Limits } from "../contract/limits.ts";
import type { AnyTool, CallContext, ToolSet } from "../contract/tool.ts";
import type { Json } from "../contract/value.ts";
import { asInput, utf8Bytes } from "../value/json-text.ts";
import { noSuchTool } from "./closest-names.ts";
import { parseJson } from "../value/parse-json.ts";
import { copyJson, printJson } from "../value/print-json.ts";
import { type Validated, validatorOf } from "./schema.ts";
import { isTurnLong, nextTurn } from "../loop/turn.ts";
import type { JudgeApart } from "../protocol/judges.ts";
import type { Direction } from "../contract/standard-schema.ts";

export type CallOutcome =
  | { readonly status: "completed"; readonly output: string; readonly outputBytes: number }
  | { readonly status: "failed"; readonly failure: CallFailure }
  | { readonly status: "suspended"; readonly payload: Json };

/** What the host's policy says about a call: yes, no, or ask somebody; then the run is suspended with the payload. */
export type Decision = "allow" | { readonly deny: string } | { readonly suspend: Json };

export interface CallDetails {
  readonly runId: string;
  readonly callId: string;
  readonly tool: string;
  /** The input after validation, as the tool will receive it. */
  readonly input: unknown;
  readonly signal: AbortSignal;
  readonly context: unknown;
  /** What the call was resolved with, after it suspended the run. */
  readonly resolution: Json | undefined;
}

/** What a program is told about a call that failed: name, message and codes. `thrown` is what its tool threw, if it did. */
export type MapCallFailure = (
  failure: CallFailure,
  call: { readonly callId: string; readonly tool: string; readonly thrown: unknown },
) => Omit<CallFailure, "code">;

export type Authorize = (call: CallDetails) => Decision | Promise<Decision>;

export interface CallSetup {
  readonly tools: ToolSet;
  readonly tool: string;
  readonly input: string;
  readonly context: Omit<CallContext, "suspend">;
  readonly limits: Limits;
  readonly authorize: Authorize | undefined;
  readonly judgeApart: JudgeApart;
  readonly onStart: (input: Json) => void;
  readonly onProgress: (output: unknown) => void;
  /** For the host's own eyes: of what a tool threw a program sees a failure made of it, of anything else nothing. */
  readonly onError: (error: unknown, source: HostErrorSource) => void;
}

const MAX_MESSAGE = 4096;
const MAX_NAME = 128;

/** Thrown by `call.suspend`, to end the tool. Whether it was called is not known by it: a tool may catch it. */
class CallSuspended extends Error {
  override readonly name = "CallSuspended";

  constructor() {
    super("The call is suspended until it is resolved: do not catch this, rethrow it");
  }
}

/** What one execution of a tool asked for. A tool that has asked is suspended, whatever it returns or throws afterwards. */
class Question {
  #asked: { readonly payload: Json } | undefined;
  #isOver = false;

  /** The tool ended as it was to: with what suspend threw. */
  isHeeded = false;

  get isAsked(): boolean {
    return this.#asked !== undefined;
  }

  readonly suspend: CallContext["suspend"] = (payload) => {
    if (this.#isOver) {
      throw new Error(
        "Cannot suspend the run: the call has ended, await what may call suspend before returning",
      );
    }
    // The tool was to end here: what it asks after that is nobody's question.
    this.#asked ??= { payload };
    throw new CallSuspended();
  };

  /** The outcome, unless something was asked for; nothing can be from here on. */
  end(tool: string, outcome: CallOutcome): CallOutcome | Promise<CallOutcome> {
    this.#isOver = true;
    return this.#asked === undefined ? outcome : toSuspended(tool, this.#asked.payload);
  }
}

/** Thrown by a tool that stands for others, to refuse in the words and with the code of the host itself. */
export class CallRefusal {
  readonly code: CallFailureCode;
  readonly message: string;
  /** For the host alone; not enumerable, since whoever prints what was thrown may show it to a model. */
  declare readonly cause: unknown;

  constructor(code: CallFailureCode, message: string, cause?: unknown) {
    this.code = code;
    this.message = message;
    withCause(this, cause);
  }
}

/** Waits only where there is something to wait for, and in one function: a run may make very many calls at once. */
export async function invoke(invocation: CallSetup): Promise<CallOutcome> {
  const { tools, tool: name, limits } = invocation;
  const parsing = parseJson(invocation.input, limits.callInputBytes);
  const parsed = asInput(invocation.input, parsing instanceof Promise ? await parsing : parsing);
  // What was large to build is large to judge: that gets a turn of its own.
  if (parsing instanceof Promise) await nextTurn();
  if (!parsed.ok)
    return refused("invalid_input", `Cannot call tool "${name}": its input is unusable, ${parsed.problem}`);
  invocation.onStart(parsed.value);
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (tool === undefined) {
    return refused("unknown_tool", `Cannot call tool "${name}": ${noSuchTool(name, tools)}`);
  }
  const question = new Question();
  let outcome: CallOutcome;
  try {
    const checked = validated(invocation, tool, "input", parsed.value, invocation.input);
    const input = checked instanceof Promise ? await checked : checked;
    if (!input.ok) return refused("invalid_input", `Cannot call tool "${name}": ${input.problems}`);
    const stopped =
      hasEnded(invocation) ??
      (invocation.authorize === undefined
        ? undefined
        : ((await undecided(invocation, invocation.authorize, input.value)) ?? hasEnded(invocation)));
    if (stopped !== undefined) return stopped;
    const { suspend } = question;
    let output: unknown = await tool.execute(input.value, { ...invocation.context, suspend });
    if (isAsyncIterable(output)) output = await lastOf(output, invocation, question);
    while (isTurnLong()) await nextTurn();
    const validating = validated(invocation, tool, "output", output);
    const given = validating instanceof Promise ? await validating : validating;
    if (given.ok) {
      while (isTurnLong()) await nextTurn();
      const encoding = encodeOutput(name, given.value, limits.callOutputBytes);
      const { text, bytes } = encoding instanceof Promise ? await encoding : encoding;
      outcome = { status: "completed", output: text, outputBytes: bytes };
    } else outcome = refused("invalid_output", `Tool "${name}" gave an unusable output, ${given.problems}`);
  } catch (error) {
    if (question.isAsked) question.isHeeded = error instanceof CallSuspended;
    else invocation.onError(error, "tool");
    outcome = { status: "failed", failure: toCallFailure(error) };
  }
  if (question.isAsked && !question.isHeeded) {
    const message = `Tool "${name}" caught what call.suspend throws: rethrow it, the call is suspended all the same`;
    invocation.onError(new Error(message), "tool");
  }
  return question.end(name, outcome);
}

/** A schema that fails by itself is the host's affair: what it threw stays here. */
function validated(
  { onError, judgeApart }: CallSetup,
  tool: AnyTool,
  direction: Direction,
  value: unknown,
  text?: string,
): Validated | Promise<Validated> {
  const failed = (error: unknown): Validated => {
    onError(error, "schema");
    return { ok: false, problems: SCHEMA_FAILED[direction] };
  };
  try {
    const checked = validatorOf(tool[direction], direction)(value, direction, judgeApart, text);
    return checked instanceof Promise ? checked.catch(failed) : checked;
  } catch (error) {
    return failed(error);
  }
}

/** What is told of a schema that failed by itself. */
export const SCHEMA_FAILED: Readonly<Record<Direction, string>> = {
  input: "input cannot be checked, the tool's schema failed",
  output: "output cannot be checked, the tool's schema failed",
};

/** A run that ended while its call was being looked at makes no call any more. */
function hasEnded({ tool, context }: CallSetup): CallOutcome | undefined {
  return context.signal.aborted ? denied(tool, "the run has ended") : undefined;
}

/** What becomes of a call that may not be made now. A policy that fails allows nothing, and its error stays here. */
async function undecided(
  { tool, context: call, onError }: CallSetup,
  authorize: Authorize,
  input: unknown,
): Promise<CallOutcome | undefined> {
  const { runId, callId, signal, context, resolution } = call;
  let decision: Decision;
  try {
    const given = await authorize({ runId, callId, tool, input, signal, context, resolution });
    decision = parseDecision(given, "authorize");
  } catch (error) {
    onError(error, "authorize");
    return denied(tool, UNDECIDED);
  }
  if (decision === "allow") return undefined;
  if ("suspend" in decision) return toSuspended(tool, decision.suspend);
  return denied(tool, bounded(decision.deny, MAX_MESSAGE) || "it was denied");
}

/** What is told of a policy that failed, or decided nothing. */
export const UNDECIDED = "it could not be authorised";

/** Throws for what is no decision: it allows nothing. `who` gave it. A no is one, whatever else it comes with. */
export function parseDecision(given: unknown, who: string): Decision {
  if (given === "allow") return given;
  if (typeof given === "object" && given !== null) {
    const { deny, suspend } = given as { readonly deny?: unknown; readonly suspend?: Json };
    if (typeof deny === "string") return { deny };
    if (deny === undefined && "suspend" in given) return { suspend: suspend ?? null };
  }
  const what = typeof given === "object" && given !== null ? "an object that is none" : String(given);
  throw new TypeError(
    `${who} gave no decision but ${what}: give "allow", { deny: "why" } or { suspend: payload }`,
  );
}

function denied(tool: string, reason: string): CallOutcome {
  return refused("denied", `Cannot call tool "${tool}": ${reason}`);
}

export interface EncodedOutput {
  readonly text: string;
  readonly bytes: number;
}

/** A tool's output as it crosses to the guest; throws a refusal for what cannot, or rejects with it. */
export function encodeOutput(
  name: string,
  output: unknown,
  maxBytes: number,
): EncodedOutput | Promise<EncodedOutput> {
  const printing = printJson(output ?? null);
  if (printing instanceof Promise) return printing.then((text) => withinBytes(name, text, maxBytes));
  return withinBytes(name, printing, maxBytes);
}

function withinBytes(name: string, text: string | undefined, maxBytes: number): EncodedOutput {
  if (text === undefined)
    throw new CallRefusal("invalid_output", `Tool "${name}" gave an output that is no JSON`);
  const bytes = text.length > maxBytes ? text.length : utf8Bytes(text);
  if (bytes > maxBytes) {
    throw new CallRefusal(
      "output_limit",
      `Tool "${name}" gave an output of ${bytes} bytes, at most ${maxBytes} are allowed: ask it for less`,
    );
  }
  return { text, bytes };
}

async function lastOf(
  items: AsyncIterable<unknown>,
  { context: { signal }, onProgress }: CallSetup,
  question: Question,
): Promise<unknown> {
  let last: unknown;
  for await (const item of items) {
    // Leaving the loop tells the iterable to stop.
    if (question.isAsked) break;
    last = item;
    onProgress(item);
    if (signal.aborted) break;
  }
  return last;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

/** The payload leaves this process with the suspended run, so it must be JSON now. */
function toSuspended(name: string, payload: Json): CallOutcome | Promise<CallOutcome> {
  const toOutcome = (kept: Json | undefined): CallOutcome =>
    kept === undefined
      ? refused("invalid_output", `Tool "${name}" suspended the run with a payload that is no JSON`)
      : { status: "suspended", payload: kept };
  const copying = copyJson(payload ?? null);
  return copying instanceof Promise ? copying.then(toOutcome) : toOutcome(copying);
}

function refused(code: CallFailureCode, message: string): CallOutcome {
  return { status: "failed", failure: { code, name: "CallError", message } };
}

/** Of whatever a tool threw, what the guest gets to see. */
export function toCallFailure(error: unknown): CallFailure {
  if (error instanceof CallRefusal) {
    const { code, message } = error;
    return { code, name: "CallError", message: bounded(message, MAX_MESSAGE) };
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
      };
    }
    return { code: "tool_failed", name: "Error", message: bounded(error, MAX_MESSAGE) || "The tool failed" };
  } catch {
    return { code: "tool_failed", name: "Error", message: "The tool failed" };
  }
}

/** A failure in the words of an adapter, which may have taken them from what a tool threw: only texts, and short ones. */
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

function bounded(value: unknown, length: number): string {
  return typeof value === "string" ? value.slice(0, length) : "";
}
