/**
 * NestedTools: tools of the AI SDK as a run calls them.
 *
 * - An input is validated by the tool's own schema; what is approved is what is executed.
 * - Whether a call may be executed is decided before its time counts: waiting for a person is not the program's.
 * - Tools see what the outer call was given, with an id of their own and a signal that ends with the invocation.
 */
import { asSchema, type Tool, type ToolSet } from "ai";
import { noSuchTool } from "../../calls/closest-names.ts";
import { validatorOf } from "../../calls/schema.ts";
import { withCause } from "../../contract/host-error.ts";
import type { JsonSchema } from "../../contract/standard-schema.ts";
import type { AnyTool, CallContext, ToolSet as RunTools } from "../../contract/tool.ts";
import type { Json } from "../../contract/value.ts";
import { isRecord } from "../../value/shape.ts";
import { approvalStatusOf, askHost, HostFault } from "./approval-status.ts";
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
import type { JudgeApart } from "../../protocol/judges.ts";
import { type CallMiddleware, type Decision, type ExecuteTool, UNDECIDED } from "../../calls/middleware.ts";
import { drain, isAsyncIterable } from "../../calls/drain.ts";

/** What the invocation that a call belongs to does for it. */
export interface CallKeeper {
  readonly tools: ToolSet;
  readonly approval: CodeModeApprovalOptions;
  readonly execution: Partial<CodeModeToolExecutionOptions>;
  /** Resolutions as they were given, by call id; what is stored of them is JSON. */
  readonly resolutions: ReadonlyMap<string, unknown>;
  begin(callId: string, toolName: string, input: unknown): Promise<InvocationCall>;
  callOf(callId: string): InvocationCall | undefined;
  /** Calls its tool, and knows of it until the promise settles. */
  track<T>(call: InvocationCall, execute: () => Promise<T>): Promise<T>;
  /** Keeps what its tool gave for as long as somebody is to be told: no event has it. */
  complete(call: InvocationCall, output: unknown): void;
}

/** How a call that waited goes on, as a run keeps it; with the input that was shown while it waited. */
export type StoredResolution = { readonly input: Json } & (
  | { readonly kind: "approval"; readonly approved: boolean; readonly reason?: string }
  | {
      readonly kind: "interrupt";
      readonly interruptId: string;
      readonly payload: Json;
      readonly resolution: Json;
    }
);

/** Without schemas: those of the AI SDK are looked at where a call is decided on. */
export function toRunTools(names: readonly string[], keeper: CallKeeper): RunTools {
  const tool: AnyTool = { execute: (input: unknown, call) => called(keeper, input, call) };
  return Object.fromEntries(names.map((name) => [name, tool]));
}

/** What an invocation puts between the calls of its program and their tools. */
export function createMiddleware(keeper: CallKeeper): CallMiddleware {
  return {
    decide: createDecide(keeper),
    execute: (call, execute) => executed(keeper, call, execute),
  };
}

/** Whether a call may be executed, and with which input; finds out all that has to be known before. */
function createDecide(keeper: CallKeeper): NonNullable<CallMiddleware["decide"]> {
  return async ({ callId, tool: toolName, input, resolution }, judgeApart) => {
    const call = await keeper.begin(callId, toolName, input);
    try {
      const decision = await decide(keeper, call, resolution as StoredResolution | undefined, judgeApart);
      return decision === "allow" ? { rewrite: call.validated } : decision;
    } catch (error) {
      if (!(error instanceof CodeModeError)) {
        // Who asks denies the call, and tells the host alone of this.
        const thrown: unknown = error instanceof HostFault ? error.error : error;
        call.error = toUndecided(toolName, thrown);
        throw thrown;
      }
      call.error = error;
      return { deny: error.message };
    }
  };
}

/** Whoever was to decide on a call and threw has failed as a tool does that throws; what it threw is for the host alone. */
function toUndecided(toolName: string, thrown: unknown): CodeModeError {
  const message = `Cannot call tool "${toolName}": ${UNDECIDED}`;
  const undecided = new CodeModeError(message, "CODE_MODE_HOST_TOOL_ERROR", { toolName });
  return withCause(Object.assign(undecided, { name: "Error" }), thrown);
}

async function decide(
  keeper: CallKeeper,
  call: InvocationCall,
  resolution: StoredResolution | undefined,
  judgeApart: JudgeApart,
): Promise<Decision> {
  const { tools, approval, execution } = keeper;
  const { toolName, toolCallId } = call;
  if (resolution?.kind === "approval" && !resolution.approved) {
    throw new CodeModeToolApprovalDeniedError(toolName, resolution.input, toolCallId, resolution.reason);
  }
  const tool = (Object.hasOwn(tools, toolName) ? tools[toolName] : undefined) as Tool | undefined;
  if (tool === undefined) {
    const why = noSuchTool(toolName, tools);
    throw new CodeModeToolError(`Cannot call tool "${toolName}": ${why}`, { toolName });
  }
  if (tool.execute === undefined || tool.execute === null) {
    throw new CodeModeToolError(`Cannot call tool "${toolName}": it has no execute()`, { toolName });
  }
  const input = await (resolution === undefined
    ? validated(tool, call, judgeApart)
    : validatedAs(resolution.input, tool, call, judgeApart));
  call.validated = input;
  if (resolution?.kind === "approval") return "allow";
  if (resolution?.kind === "interrupt") {
    const { interruptId, payload } = resolution;
    call.interrupt = {
      interruptId,
      payload: payload as CodeModeInterruptPayload,
      resolution: keeper.resolutions.has(call.callId)
        ? keeper.resolutions.get(call.callId)
        : resolution.resolution,
    };
    return "allow";
  }
  const { messages = [], context, experimental_context: experimental } = execution;
  const status = await approvalStatusOf({
    tools,
    tool,
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
  switch (status.type) {
    case "not-applicable":
    case "approved":
      return "allow";
    case "denied":
      throw new CodeModeToolApprovalDeniedError(toolName, input, toolCallId, status.reason);
    case "user-approval":
      return ask(approval, call, status.reason);
    default:
      return status.type satisfies never;
  }
}

async function ask(
  { mode = "callback", onApprovalRequired }: CodeModeApprovalOptions,
  call: InvocationCall,
  reason: string | undefined,
): Promise<Decision> {
  const { toolName, toolCallId, validated: input } = call;
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

function parseDecision(
  decision: ApprovalDecision | undefined,
  toolName: string,
): { readonly approved: boolean; readonly reason?: string } | undefined {
  if (decision === undefined) return undefined;
  if (decision === "approved") return { approved: true };
  if (decision === "denied") return { approved: false };
  const { approved, reason }: Record<string, unknown> = isRecord(decision) ? decision : {};
  if (typeof approved !== "boolean" || (reason !== undefined && typeof reason !== "string")) {
    throw new CodeModeProtocolError(
      `Cannot call tool "${toolName}": onApprovalRequired gave neither "approved" nor "denied" nor { approved, reason }`,
    );
  }
  return { approved, ...(reason === undefined ? {} : { reason }) };
}

/**
 * The input of a call that waited. Schemas may have changed meanwhile, and some make another value each time: what was
 * shown then is what the tool is called with, or it is not called.
 */
async function validatedAs(
  shown: Json,
  tool: Tool,
  call: InvocationCall,
  judgeApart: JudgeApart,
): Promise<unknown> {
  const isShown = async (input: unknown): Promise<boolean> => isSameJson(await toShown(input), shown);
  const again = await validated(tool, call, judgeApart);
  if (await isShown(again)) return again;
  const kept = await validatorFor(tool, judgeApart)(shown);
  if (kept.ok && (await isShown(kept.value))) return kept.value;
  throw new CodeModeProtocolError(
    `Cannot call tool "${call.toolName}": its schema makes another input than the one that was shown while the call waited, start the program again`,
  );
}

async function validated(
  tool: Tool,
  { toolName, input }: InvocationCall,
  judgeApart: JudgeApart,
): Promise<unknown> {
  const validate = validatorFor(tool, judgeApart);
  let checked = await validate(input);
  // A call without an input is meant for a tool that needs none.
  if (!checked.ok && input === null) {
    const empty = await validate({});
    if (empty.ok) checked = empty;
  }
  if (checked.ok) return checked.value;
  throw invalid(toolName, checked.problems);
}

type Checked =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problems: string };

/** By the schema's own validator; by what it says, if it has none. All of it may be the host's own code. */
export function validatorFor(tool: Tool, judgeApart: JudgeApart): (input: unknown) => Promise<Checked> {
  return async (input) => {
    const schema = await askHost(() => asSchema(tool.inputSchema));
    const { validate } = schema;
    if (validate === undefined) {
      const said: unknown = await askHost(() => schema.jsonSchema);
      return validatorOf(toSchema(said), "input")(input, "input", judgeApart);
    }
    const result = await askHost(() => validate(input));
    return result.success ? { ok: true, value: result.value } : { ok: false, problems: result.error.message };
  };
}

/** One that is made late may turn out to be none: that is no schema that takes everything. */
function toSchema(said: unknown): JsonSchema {
  if (isRecord(said) || typeof said === "boolean") return said;
  throw new HostFault(new TypeError("The tool's inputSchema gave no JSON Schema"));
}

function invalid(toolName: string, problems: string): CodeModeToolError {
  return new CodeModeToolError(`Invalid input for tool "${toolName}": ${problems}`, { toolName });
}

async function executed(
  keeper: CallKeeper,
  { callId, suspend }: Parameters<NonNullable<CallMiddleware["execute"]>>[0],
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
    if (payload !== undefined) suspend(toKept(payload, await toShown(call.validated)));
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
  // One that an outer invocation resumes is not this call's.
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

function callExecute(tool: Tool, input: unknown, options: object): unknown {
  return (tool as { execute: (input: unknown, options: object) => unknown }).execute(input, options);
}

/** The output of a tool that no run calls; of one that gives several, the last. Throws what it asked for, if it did. */
export async function callTool(
  tool: Tool,
  input: unknown,
  options: { readonly abortSignal: AbortSignal; readonly toolCallId: string },
): Promise<unknown> {
  return unlessAsked(async (hasAsked) => {
    const output = await callExecute(tool, input, options);
    return isAsyncIterable(output) ? drain(output, { hasAsked, signal: options.abortSignal }) : output;
  });
}

/** What is told of a call that waits; who suspends it makes JSON of it. */
function toKept(payload: CodeModeInterruptPayload, input: Json): Json {
  return { payload: payload as Record<string, Json>, input };
}
