/**
 * Runs on the host. Invoke takes one call all the way: parse, find, validate, decide, execute, drain, validate, encode.
 *
 * - Every call of a program goes through here (direct-call.ts is for calls that no program makes). Surfaces and adapters add their own parts as middleware.
 * - It never throws and never rejects: every failure is an outcome.
 * - The input that was decided on is the input that is executed: validated, and encoded once by the guest.
 * - An output is printed once.
 */
import type { CallStep } from "../contract/events.ts";
import type { CallFailureCode } from "../contract/failure.ts";
import { calledAs, type NamedCall } from "../contract/features.ts";
import type { HostErrorSource } from "../contract/host-error.ts";
import { listedTools, toolOf } from "../contract/late-tools.ts";
import type { BeforeAsking, CallOutcome, SettledOutcome } from "../contract/ledger.ts";
import type { Limits } from "../contract/limits.ts";
import type { Direction } from "../contract/standard-schema.ts";
import type { AnyTool, CallContext, ToolSet } from "../contract/tool.ts";
import type { Json } from "../contract/value.ts";
import { isTurnLong, nextTurn } from "../loop/turn.ts";
import type { JudgeApart } from "../protocol/judges.ts";
import { asInput, utf8Bytes } from "../value/json-text.ts";
import { parseJson } from "../value/parse-json.ts";
import { copyJson, printJson } from "../value/print-json.ts";
import { boundedReason, CallRefusal, toCallFailure, toRefusal } from "./call-failure.ts";
import { noSuchTool } from "./closest-names.ts";
import { drain, isAsyncIterable } from "./drain.ts";
import { encodeOutput } from "./encode-output.ts";
import { toExecuteTool } from "./execute-tool.ts";
import {
  type AdapterCall,
  type AdapterMiddleware,
  BEFORE_END,
  type CallDecision,
  KeptInput,
  parseCallDecision,
  REMEMBERS,
  UNDECIDED,
  VALIDATE,
  type ValidateInput,
} from "./middleware.ts";
import { CallSuspended, Question } from "./question.ts";
import { type Validated, validatorOf } from "./schema.ts";

export interface CallSetup extends NamedCall {
  readonly tools: ToolSet;
  /** The call's place in the ledger. */
  readonly index: number;
  readonly input: string;
  readonly context: Omit<CallContext, "suspend">;
  readonly limits: Limits;
  readonly middleware: readonly AdapterMiddleware[];
  /** Why the call is not to be made, if somebody resolved it with a denial. */
  readonly denial?: string | undefined;
  /** How far the call had come when it asked, if that was remembered. */
  readonly before?: BeforeAsking | undefined;
  readonly judgeApart: JudgeApart;
  /** Bounds the run's wall time. It is paused while middleware decides, and while it keeps a call from ending. */
  readonly deadline: { pause(): void; resume(): void };
  /** Settles with what it is given, or as soon as nothing may keep a call from ending any more. */
  readonly unlessHurried: (waiting: Promise<void>) => Promise<void>;
  readonly onStart: (input: Json) => void;
  readonly onProgress: (output: unknown) => void;
  /** Told what happens between the start and the end; undefined where nobody listens. */
  readonly onStep?: ((step: CallStep) => void) | undefined;
  /** Is told the number of bytes of the output that the program will get. */
  readonly onOutput: (bytes: number) => void;
  /**
   * For the host alone. When a tool throws, the program sees a failure made from the error; of any other error it sees
   * nothing.
   */
  readonly onError: (error: unknown, source: HostErrorSource) => void;
}

/** The call as middleware sees it. Its input changes on the way. */
type Call = { -readonly [Key in keyof AdapterCall]: AdapterCall[Key] };

export function invoke(setup: CallSetup): Promise<CallOutcome> {
  // A run may make very many calls at once, so a call without middleware does no extra work.
  return setup.middleware.length === 0 ? attempt(setup, undefined) : attend(setup);
}

async function attend(setup: CallSetup): Promise<CallOutcome> {
  const { runId, callId, signal, context, resolution } = setup.context;
  const call: Call = { runId, callId, tool: setup.tool, input: undefined, signal, context, resolution };
  if (setup.before !== undefined) call.before = setup.before;
  const outcome = await attempt(setup, call);
  for (const one of setup.middleware) {
    try {
      if (one[BEFORE_END] !== undefined) await waited(setup, one[BEFORE_END](call, outcome));
      await one.end?.(call, outcome);
    } catch (error) {
      // An observer cannot make the call fail.
      setup.onError(error, "middleware");
    }
  }
  return outcome;
}

async function waited({ deadline, unlessHurried }: CallSetup, waiting: Promise<void>): Promise<void> {
  deadline.pause();
  try {
    await unlessHurried(waiting);
  } finally {
    deadline.resume();
  }
}

/** Awaits only where there is something to wait for, and all in one function. */
async function attempt(setup: CallSetup, call: Call | undefined): Promise<CallOutcome> {
  const { tools, tool: name, limits } = setup;
  if (setup.denial !== undefined) return denied(setup, setup.denial);
  const parsing = parseJson(setup.input, limits.callInputBytes);
  const parsed = asInput(setup.input, parsing instanceof Promise ? await parsing : parsing);
  // A value that was large to build is large to judge: judging gets a turn of its own.
  if (parsing instanceof Promise) await nextTurn();
  if (!parsed.ok)
    return refused(
      setup,
      "invalid_input",
      `Cannot call ${calledAs(setup)}: its input is unusable, ${parsed.problem}`,
    );
  setup.onStart(parsed.value);
  if (call !== undefined) call.input = parsed.value;
  const tool = toolOf(tools, name);
  if (tool === undefined) {
    return refused(
      setup,
      "unknown_tool",
      `Cannot call tool "${name}": ${noSuchTool(name, listedTools(tools))}`,
    );
  }
  const question = new Question();
  let outcome: CallOutcome;
  let isHeeded = false;
  try {
    const checked =
      call !== undefined && setup.middleware.some((one) => one[VALIDATE] !== undefined)
        ? (hasEnded(setup) ?? validatedAround(setup, tool, call))
        : validated(setup, tool, "input", parsed.value, setup.input);
    const input = checked instanceof Promise ? await checked : checked;
    if ("kind" in input) return input;
    if (!input.ok)
      return refused(setup, "invalid_input", `Cannot call ${calledAs(setup)}: ${input.problems}`);
    if (call !== undefined) call.input = input.value;
    if (setup.onStep !== undefined) {
      // Whoever records a large input needs a turn for it.
      if (parsing instanceof Promise) while (isTurnLong()) await nextTurn();
      if (!setup.context.signal.aborted) setup.onStep({ type: "call-decide", input: input.value });
    }
    const stopped =
      hasEnded(setup) ??
      (call === undefined ? undefined : ((await undecided(setup, tool, call)) ?? hasEnded(setup)));
    if (stopped !== undefined) return stopped;
    setup.onStep?.({ type: "call-execute", input: call === undefined ? input.value : call.input });
    const { suspend } = question;
    let output: unknown;
    if (call === undefined) {
      const { signal } = setup.context;
      output = await tool.execute(input.value, { ...setup.context, suspend });
      if (isAsyncIterable(output))
        output = await drain(output, { hasAsked: () => question.isAsked, signal, onPart: setup.onProgress });
    } else output = await executed(setup, tool, call, question);
    while (isTurnLong()) await nextTurn();
    const validating = validated(setup, tool, "output", output);
    const given = validating instanceof Promise ? await validating : validating;
    if (given.ok) {
      while (isTurnLong()) await nextTurn();
      const encoding = encodeOutput(setup, given.value, limits.callOutputBytes);
      const { text, bytes } = encoding instanceof Promise ? await encoding : encoding;
      setup.onOutput(bytes);
      outcome = { kind: "output", call: setup.index, output: text };
    } else
      outcome = refused(
        setup,
        "invalid_output",
        `${calledAs(setup, "Tool")} gave an unusable output, ${given.problems}`,
      );
  } catch (error) {
    if (question.isAsked) isHeeded = error instanceof CallSuspended;
    else setup.onError(error, "tool");
    outcome = { kind: "failure", call: setup.index, failure: toCallFailure(error) };
  }
  if (question.isAsked && !isHeeded) {
    const message = `Tool "${name}" caught what call.suspend throws: rethrow it, the call is suspended all the same`;
    setup.onError(new Error(message), "tool");
  }
  const asked = question.end();
  return asked === undefined ? outcome : toAsked(setup, call, asked.payload, true);
}

/** The tool with all middleware around it, the first one outermost. */
function executed(setup: CallSetup, tool: AnyTool, call: Call, question: Question): Promise<unknown> {
  const { suspend } = question;
  let execute = toExecuteTool({
    tool,
    input: call.input,
    context: setup.context,
    question,
    abortedMessage: toDenial(setup, RUN_ENDED),
    onProgress: setup.onProgress,
  });
  for (const one of setup.middleware.toReversed()) {
    const { execute: around } = one;
    if (around === undefined) continue;
    const inner = execute;
    // Changes made by outer middleware hold for inner middleware, unless that changes them again.
    execute = (changes) => around.call(one, { ...call, suspend }, (more) => inner({ ...changes, ...more }));
  }
  return execute();
}

/**
 * Validation with all middleware around it, the first one outermost; or the outcome of a call that is refused before it
 * is decided on.
 */
function validatedAround(
  setup: CallSetup,
  tool: AnyTool,
  call: Call,
): Validated | SettledOutcome | Promise<Validated | SettledOutcome> {
  const said: Validated[] = [];
  const remember = (checked: Validated): Validated => {
    said.push(checked);
    return checked;
  };
  let validate: ValidateInput = (input) => {
    // The text spares printing the input, if it is judged on another thread.
    const text = input === call.input ? setup.input : undefined;
    const checked = validatorOf(tool.input, "input")(input, "input", setup.judgeApart, text);
    return checked instanceof Promise ? checked.then(remember) : remember(checked);
  };
  for (const one of setup.middleware.toReversed()) {
    const { [VALIDATE]: around } = one;
    if (around === undefined) continue;
    const inner = validate;
    validate = (input) => around.call(one, { ...call, input }, inner);
  }
  const accept = (checked: Validated): Validated => {
    if (!said.includes(checked)) throw new TypeError("middleware gave what no schema said");
    return checked;
  };
  const refuse = (error: unknown): SettledOutcome => undecidable(setup, error);
  let judging: Promise<Validated> | undefined;
  setup.deadline.pause();
  try {
    const checked = validate(call.input);
    if (!(checked instanceof Promise)) return accept(checked);
    judging = checked;
  } catch (error) {
    return refuse(error);
  } finally {
    if (judging === undefined) setup.deadline.resume();
  }
  return judging
    .then(accept)
    .catch(refuse)
    .finally(() => setup.deadline.resume());
}

/** If the schema itself fails, the error is for the host alone: the program does not see what the schema threw. */
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

/** What a program is told when a schema itself fails. */
export const SCHEMA_FAILED: Readonly<Record<Direction, string>> = {
  input: "input cannot be checked, the tool's schema failed",
  output: "output cannot be checked, the tool's schema failed",
};

const RUN_ENDED = "the run has ended";

/** If the run ended while the call was being validated or decided on, the call is not made. */
function hasEnded(setup: CallSetup): SettledOutcome | undefined {
  return setup.context.signal.aborted ? denied(setup, RUN_ENDED) : undefined;
}

/**
 * The outcome of a call that may not be made now; undefined if it may. If a policy fails, the call is denied, and the
 * policy's error is for the host alone.
 */
async function undecided(setup: CallSetup, tool: AnyTool, call: Call): Promise<CallOutcome | undefined> {
  try {
    for (const one of setup.middleware) {
      if (one.decide === undefined) continue;
      const decision = await decided(setup, one, call);
      if (decision === "allow") continue;
      if (decision instanceof KeptInput) {
        call.input = decision.input;
        continue;
      }
      if ("suspend" in decision) return await toAsked(setup, call, decision.suspend, false);
      if ("deny" in decision) return denied(setup, boundedReason(decision.deny, "it was denied"));
      const checked = await validated(setup, tool, "input", decision.rewrite);
      if (!checked.ok) return denied(setup, `a hook gave it another input, ${checked.problems}`);
      call.input = checked.value;
      if (setup.onStep === undefined) continue;
      // Whoever records a large input cannot print it at once to measure it, and needs a turn of its own.
      const text = await printJson(checked.value);
      while (isTurnLong()) await nextTurn();
      if (setup.context.signal.aborted) continue;
      setup.onStep({
        type: "call-rewrite",
        input: checked.value,
        inputBytes: text === undefined ? 0 : utf8Bytes(text),
      });
    }
  } catch (error) {
    return undecidable(setup, error);
  }
  return undefined;
}

async function decided(
  { deadline }: CallSetup,
  middleware: AdapterMiddleware,
  call: Call,
): Promise<CallDecision> {
  deadline.pause();
  try {
    return parseCallDecision(await middleware.decide?.({ ...call }));
  } finally {
    deadline.resume();
  }
}

/** The outcome of a call when middleware threw before the call was decided on. Only a refusal is told to the program. */
function undecidable(setup: CallSetup, error: unknown): SettledOutcome {
  setup.onError(error, "authorize");
  return error instanceof CallRefusal
    ? { kind: "failure", call: setup.index, failure: toCallFailure(error) }
    : denied(setup, UNDECIDED);
}

function denied(setup: CallSetup, reason: string): SettledOutcome {
  return refused(setup, "denied", toDenial(setup, reason));
}

function toDenial(setup: CallSetup, reason: string): string {
  return `Cannot call ${calledAs(setup)}: ${reason}`;
}

/** The payload leaves this process with the suspended run, so it must be JSON now. */
async function toAsked(
  setup: CallSetup,
  call: Call | undefined,
  payload: Json,
  isAllowed: boolean,
): Promise<CallOutcome> {
  const { index } = setup;
  const kept = await copyJson(payload ?? null);
  if (kept === undefined) {
    const problem = `${calledAs(setup, "Tool")} suspended the run with a payload that is not JSON`;
    return refused(setup, "invalid_output", problem);
  }
  const before = await toBefore(setup, call, isAllowed);
  return { kind: "asked", call: index, payload: kept, ...(before === undefined ? {} : { before }) };
}

/** What is remembered of the call with its question, if anything. */
async function toBefore(
  { middleware }: CallSetup,
  call: Call | undefined,
  isAllowed: boolean,
): Promise<BeforeAsking | undefined> {
  const isInputKept = middleware.some((one) => one[REMEMBERS] === "input");
  if (!isInputKept && !(isAllowed && middleware.some((one) => one[REMEMBERS] !== undefined)))
    return undefined;
  const allowed = isAllowed ? ({ isAllowed } as const) : {};
  if (!isInputKept) return allowed;
  const json = await copyJson(call?.input);
  return { ...allowed, input: json === undefined ? {} : { json } };
}

function refused({ index: call }: CallSetup, code: CallFailureCode, message: string): SettledOutcome {
  return { kind: "failure", call, failure: toRefusal(code, message) };
}
