/**
 * Runs on the host. Makes tools of the AI SDK callable by a run.
 *
 * - calls/ validates inputs by the tools' own schemas. This file adds the rules of the contract around that: hooks hear
 *   of a call first, a denial needs no schema, and a call that waited is made with the input that was approved.
 * - Whether a call may be executed is decided before its time counts: the program does not pay for waiting for a
 *   person.
 * - A tool gets what the outer call was given, with an id of its own and a signal that ends with the invocation.
 */
import type { Tool, ToolSet } from "ai";
import { CallRefusal } from "../../calls/call-failure.ts";
import { noSuchTool } from "../../calls/closest-names.ts";
import {
  type AdapterMiddleware,
  BEFORE_END,
  type CallMiddleware,
  type Decision,
  type ExecuteTool,
  UNDECIDED,
  VALIDATE,
  type ValidateInput,
} from "../../calls/middleware.ts";
import type { Validated } from "../../calls/schema.ts";
import { withCause } from "../../contract/host-error.ts";
import type { SettledOutcome } from "../../contract/ledger.ts";
import type { AnyTool, CallContext, ToolSet as RunTools } from "../../contract/tool.ts";
import type { Json } from "../../contract/value.ts";
import { whenKnown } from "../../loop/when-known.ts";
import {
  type Approval,
  type ApprovalStatus,
  approvalStatusOf,
  askHost,
  HostFault,
  parseApproval,
} from "./approval-status.ts";
import { isSameJson } from "./continuation.ts";
import {
  CodeModeError,
  CodeModeProtocolError,
  CodeModeToolApprovalDeniedError,
  CodeModeToolApprovalRequiredError,
  CodeModeToolError,
} from "./errors.ts";
import {
  APPROVAL_KIND,
  type CodeModeInterruptPayload,
  type CodeModeToolExecutionOptions,
  requestedBy,
  unlessAsked,
} from "./interrupt.ts";
import { type InvocationCall, toShown } from "./nested-call.ts";
import type { ApprovalDecision, CodeModeApprovalOptions } from "./options.ts";
import { inputOf } from "./tool-schema.ts";

/** What an invocation does for its calls. */
export interface CallKeeper {
  readonly tools: ToolSet;
  readonly approval: CodeModeApprovalOptions;
  readonly execution: Partial<CodeModeToolExecutionOptions>;
  /** Resolutions as the host gave them, by call id. The store keeps them as JSON only. */
  readonly resolutions: ReadonlyMap<string, unknown>;
  begin(callId: string, toolName: string, input: unknown): InvocationCall | Promise<InvocationCall>;
  callOf(callId: string): InvocationCall | undefined;
  /** Calls the tool, and remembers the execution until its promise settles. */
  track<T>(call: InvocationCall, execute: () => Promise<T>): Promise<T>;
  /** Keeps the tool's output until hooks have been told of it: no event carries the output. */
  complete(call: InvocationCall, output: unknown): void;
  /** Waits while hooks are behind; undefined if there are none. */
  readonly ending: ((callId: string, outcome: SettledOutcome) => Promise<void>) | undefined;
}

/** How a call that waited goes on, as a run stores it, with the input that was shown while the call waited. */
export type StoredResolution = { readonly input: Json } & (
  | ({ readonly kind: "approval" } & Approval)
  | {
      readonly kind: "interrupt";
      readonly interruptId: string;
      readonly payload: Json;
      readonly resolution: Json;
    }
);

/** A host may exchange a tool while a program runs: then the new one validates, and is executed. */
export function toRunTools(names: readonly string[], keeper: CallKeeper): RunTools {
  const execute: AnyTool["execute"] = (input: unknown, call) => called(keeper, input, call);
  return Object.fromEntries(
    names.map((name): [string, AnyTool] => {
      // A tool that cannot be called needs no schema: none of its calls gets so far.
      const find = (): Tool | undefined => {
        const tool = toolOf(keeper, name);
        return isCallable(tool) ? tool : undefined;
      };
      return [name, { input: inputOf(find), execute }];
    }),
  );
}

function toolOf({ tools }: CallKeeper, name: string): Tool | undefined {
  return Object.hasOwn(tools, name) ? (tools[name] as Tool) : undefined;
}

function isCallable(tool: Tool | undefined): tool is Tool {
  return tool?.execute !== undefined && tool.execute !== null;
}

/** The middleware of an invocation: it stands between the program's calls and their tools. */
export function createMiddleware(keeper: CallKeeper): AdapterMiddleware {
  const { ending } = keeper;
  return {
    [VALIDATE]: ({ callId, tool, input, resolution }, validate) => {
      const given = resolution as StoredResolution | undefined;
      return whenKnown(keeper.begin(callId, tool, input), (call) =>
        attempt(call, () => validated(keeper, call, given, validate)),
      );
    },
    decide: ({ callId, input, resolution }) => {
      const call = callOf(keeper, callId);
      return attempt(call, () => decide(keeper, call, input, resolution as StoredResolution | undefined));
    },
    execute: (call, execute) => executed(keeper, call, execute),
    ...(ending === undefined
      ? {}
      : {
          [BEFORE_END]: async ({ callId }, outcome) => {
            if (outcome.kind !== "asked") await ending(callId, outcome);
          },
        }),
  };
}

/** Keeps why a call is refused: hooks and the program learn of it in the words of the AI SDK's contract. */
function attempt<T>(call: InvocationCall, work: () => T | Promise<T>): T | Promise<T> {
  const refuse = (error: unknown): never => {
    if (error instanceof CodeModeError) {
      call.error = error;
      throw new CallRefusal("denied", error.message);
    }
    // calls/ denies the call, and tells only the host of this error.
    const thrown: unknown = error instanceof HostFault ? error.error : error;
    call.error = toUndecided(call.toolName, thrown);
    throw thrown;
  };
  try {
    const done = work();
    return done instanceof Promise ? done.catch(refuse) : done;
  } catch (error) {
    return refuse(error);
  }
}

/**
 * If the code that decides on a call throws, the call fails like a tool that throws. Only the host sees what was
 * thrown.
 */
function toUndecided(toolName: string, thrown: unknown): CodeModeError {
  const message = `Cannot call tool "${toolName}": ${UNDECIDED}`;
  const undecided = new CodeModeError(message, "CODE_MODE_HOST_TOOL_ERROR", { toolName });
  return withCause(Object.assign(undecided, { name: "Error" }), thrown);
}

/** A call that was denied is refused whatever has become of its tool. So are calls that no input could save. */
function validated(
  keeper: CallKeeper,
  call: InvocationCall,
  resolution: StoredResolution | undefined,
  validate: ValidateInput,
): Validated | Promise<Validated> {
  const { toolName, toolCallId, input } = call;
  if (resolution?.kind === "approval" && !resolution.approved) {
    throw new CodeModeToolApprovalDeniedError(toolName, resolution.input, toolCallId, resolution.reason);
  }
  const tool = toolOf(keeper, toolName);
  if (!isCallable(tool)) {
    const why = tool === undefined ? noSuchTool(toolName, keeper.tools) : "it has no execute()";
    throw new CodeModeToolError(`Cannot call tool "${toolName}": ${why}`, { toolName });
  }
  // Schemas may be the host's own code.
  const validateSafely: ValidateInput = (given) => askHost(() => validate(given));
  return whenKnown(validateSafely(input), (checked) =>
    checked.ok && resolution === undefined ? checked : judged(checked, call, resolution, validateSafely),
  );
}

/** For an input that does not fit, or a call that waited. */
async function judged(
  given: Validated,
  call: InvocationCall,
  resolution: StoredResolution | undefined,
  validate: ValidateInput,
): Promise<Validated> {
  const { toolName, input } = call;
  let checked = given;
  // The program called the tool without an input: the tool may accept an empty object.
  if (!checked.ok && input === null) {
    const empty = await validate({});
    if (empty.ok) checked = empty;
  }
  if (checked.ok)
    return resolution === undefined ? checked : sameAs(resolution.input, checked, call, validate);
  const problems = checked.words ?? checked.problems;
  call.error = new CodeModeToolError(`Invalid input for tool "${toolName}": ${problems}`, { toolName });
  return checked;
}

/**
 * The input of a call that waited. The schema may have changed meanwhile, and some schemas make another value each
 * time. So the tool is called with the input that was shown, or not at all.
 */
async function sameAs(
  shown: Json,
  again: Validated,
  call: InvocationCall,
  validate: ValidateInput,
): Promise<Validated> {
  const isShown = async (checked: Validated): Promise<boolean> => {
    if (!checked.ok || !(await isSameJson(await toShown(checked.value), shown))) return false;
    call.compared = checked.value;
    return true;
  };
  if (await isShown(again)) return again;
  const kept = await validate(shown);
  if (await isShown(kept)) return kept;
  throw notShown(call, "its schema makes");
}

function notShown({ toolName }: InvocationCall, who: string): CodeModeProtocolError {
  return new CodeModeProtocolError(
    `Cannot call tool "${toolName}": ${who} another input than the one that was shown while the call waited, start the program again`,
  );
}

/** Decides whether a call may be executed with its input. */
function decide(
  keeper: CallKeeper,
  call: InvocationCall,
  input: unknown,
  resolution: StoredResolution | undefined,
): Decision | Promise<Decision> {
  if (resolution !== undefined) return goOn(keeper, call, input, resolution);
  const { tools, approval, execution } = keeper;
  const { toolName, toolCallId } = call;
  const { messages = [], context, experimental_context: experimental } = execution;
  const status = approvalStatusOf({
    tools,
    tool: tools[toolName] as Tool,
    toolName,
    toolCallId,
    input,
    messages,
    context: context ?? experimental,
    experimentalContext: experimental ?? context,
    toolApproval: approval.toolApproval,
    runtimeContext: approval.runtimeContext,
    toolsContext: approval.toolsContext,
  });
  return whenKnown(status, (known) => toDecision(known, approval, call, input));
}

/** Somebody decided on a call that waited. */
async function goOn(
  keeper: CallKeeper,
  call: InvocationCall,
  input: unknown,
  given: StoredResolution,
): Promise<Decision> {
  // Middleware of the host may have rewritten the input since it was compared.
  if (input !== call.compared && !(await isSameJson(await toShown(input), given.input))) {
    throw notShown(call, "middleware makes");
  }
  if (given.kind === "interrupt") {
    const { callId } = call;
    call.interrupt = {
      interruptId: given.interruptId,
      payload: given.payload as CodeModeInterruptPayload,
      resolution: keeper.resolutions.has(callId) ? keeper.resolutions.get(callId) : given.resolution,
    };
  }
  return "allow";
}

function toDecision(
  status: ApprovalStatus,
  approval: CodeModeApprovalOptions,
  call: InvocationCall,
  input: unknown,
): Decision | Promise<Decision> {
  const { toolName, toolCallId } = call;
  switch (status.type) {
    case "not-applicable":
    case "approved":
      return "allow";
    case "denied":
      throw new CodeModeToolApprovalDeniedError(toolName, input, toolCallId, status.reason);
    case "user-approval":
      return ask(approval, call, input, status.reason);
    default:
      return status.type satisfies never;
  }
}

async function ask(
  { mode = "callback", onApprovalRequired }: CodeModeApprovalOptions,
  call: InvocationCall,
  input: unknown,
  reason: string | undefined,
): Promise<Decision> {
  const { toolName, toolCallId } = call;
  if (mode === "interrupt") {
    const shown = await toShown(input);
    const isAsGiven = input === call.input || (await isSameJson(call.input, shown));
    const payload = {
      kind: APPROVAL_KIND,
      ...(reason === undefined ? {} : { reason }),
      ...(isAsGiven ? {} : { given: call.input }),
    };
    return { suspend: toKept(payload, shown) };
  }
  const given = await askHost(() => onApprovalRequired?.({ toolName, input, toolCallId }));
  const answer = parseDecision(given, toolName);
  if (answer === undefined) throw new CodeModeToolApprovalRequiredError(toolName, input, toolCallId);
  if (answer.approved) return "allow";
  throw new CodeModeToolApprovalDeniedError(toolName, input, toolCallId, answer.reason);
}

function parseDecision(decision: ApprovalDecision | undefined, toolName: string): Approval | undefined {
  if (decision === undefined) return undefined;
  if (decision === "approved") return { approved: true };
  if (decision === "denied") return { approved: false };
  return parseApproval(
    decision,
    `Cannot call tool "${toolName}": onApprovalRequired gave neither "approved" nor "denied" nor { approved, reason }`,
  );
}

async function executed(
  keeper: CallKeeper,
  { callId, input, suspend }: Parameters<NonNullable<CallMiddleware["execute"]>>[0],
  execute: ExecuteTool,
): Promise<unknown> {
  const call = callOf(keeper, callId);
  try {
    const output = await keeper.track(call, () =>
      unlessAsked((hasAsked) => execute({ hasAsked, onPart: () => {} })),
    );
    keeper.complete(call, output);
    return output;
  } catch (error) {
    const payload = requestedBy(error);
    if (payload !== undefined) suspend(toKept(payload, await toShown(input)));
    call.error = error;
    throw error;
  }
}

function callOf(keeper: CallKeeper, callId: string): InvocationCall {
  const call = keeper.callOf(callId);
  if (call === undefined) throw new CodeModeProtocolError("Cannot call a tool that was not authorised");
  return call;
}

function called(keeper: CallKeeper, input: unknown, run: CallContext): unknown {
  const call = callOf(keeper, run.callId);
  const { execution, tools, approval } = keeper;
  const own = approval.toolsContext?.[call.toolName];
  const context = own ?? execution.context ?? execution.experimental_context;
  const experimental = execution.experimental_context ?? execution.context;
  // An interrupt that the outer invocation resumes does not belong to this call.
  const { codeModeInterrupt: _others, ...given } = execution;
  const options = {
    messages: [],
    ...given,
    toolCallId: call.toolCallId,
    abortSignal: run.signal,
    ...(context === undefined ? {} : { context }),
    ...(experimental === undefined ? {} : { experimental_context: experimental }),
    ...(call.interrupt === undefined ? {} : { codeModeInterrupt: call.interrupt }),
  };
  return callExecute(tools[call.toolName] as Tool, input, options);
}

export function callExecute(tool: Tool, input: unknown, options: object): unknown {
  return (tool as { execute: (input: unknown, options: object) => unknown }).execute(input, options);
}

/** What a suspended run keeps of a waiting call. The code that suspends the call turns this into JSON. */
function toKept(payload: CodeModeInterruptPayload, input: Json): Json {
  return { payload: payload as Record<string, Json>, input };
}
