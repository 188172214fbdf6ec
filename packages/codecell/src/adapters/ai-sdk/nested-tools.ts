/**
 * Runs on the host. NestedTools makes tools of the AI SDK callable by a run.
 *
 * - The tool's own schema validates an input. The tool is executed with the input that was approved.
 * - Whether a call may be executed is decided before its time counts: the program does not pay for waiting for a
 *   person.
 * - A tool gets what the outer call was given, with an id of its own and a signal that ends with the invocation.
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

/** What an invocation does for its calls. */
export interface CallKeeper {
  readonly tools: ToolSet;
  readonly approval: CodeModeApprovalOptions;
  readonly execution: Partial<CodeModeToolExecutionOptions>;
  /** Resolutions as the host gave them, by call id. The store keeps them as JSON only. */
  readonly resolutions: ReadonlyMap<string, unknown>;
  begin(callId: string, toolName: string, input: unknown): Promise<InvocationCall>;
  callOf(callId: string): InvocationCall | undefined;
  /** Calls the tool, and remembers the execution until its promise settles. */
  track<T>(call: InvocationCall, execute: () => Promise<T>): Promise<T>;
  /** Keeps the tool's output until hooks have been told of it: no event carries the output. */
  complete(call: InvocationCall, output: unknown): void;
}

/** How a call that waited goes on, as a run stores it, with the input that was shown while the call waited. */
export type StoredResolution = { readonly input: Json } & (
  | { readonly kind: "approval"; readonly approved: boolean; readonly reason?: string }
  | {
      readonly kind: "interrupt";
      readonly interruptId: string;
      readonly payload: Json;
      readonly resolution: Json;
    }
);

/** The tools have no schemas here: schemas of the AI SDK are read where a call is decided on. */
export function toRunTools(names: readonly string[], keeper: CallKeeper): RunTools {
  const tool: AnyTool = { execute: (input: unknown, call) => called(keeper, input, call) };
  return Object.fromEntries(names.map((name) => [name, tool]));
}

/** The middleware of an invocation: it stands between the program's calls and their tools. */
export function createMiddleware(keeper: CallKeeper): CallMiddleware {
  return {
    decide: createDecide(keeper),
    execute: (call, execute) => executed(keeper, call, execute),
  };
}

/** Decides whether a call may be executed, and with which input. Finds out first everything the decision needs. */
function createDecide(keeper: CallKeeper): NonNullable<CallMiddleware["decide"]> {
  return async ({ callId, tool: toolName, input, resolution }, judgeApart) => {
    const call = await keeper.begin(callId, toolName, input);
    try {
      const decision = await decide(keeper, call, resolution as StoredResolution | undefined, judgeApart);
      return decision === "allow" ? { rewrite: call.validated } : decision;
    } catch (error) {
      if (!(error instanceof CodeModeError)) {
        // The caller of `decide` denies the call, and tells only the host of this error.
        const thrown: unknown = error instanceof HostFault ? error.error : error;
        call.error = toUndecided(toolName, thrown);
        throw thrown;
      }
      call.error = error;
      return { deny: error.message };
    }
  };
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
 * The input of a call that waited. The schema may have changed meanwhile, and some schemas make another value each
 * time. So the tool is called with the input that was shown, or not at all.
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
  // The program called the tool without an input: the tool may accept an empty object.
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

/**
 * Validates with the schema's own validator, or against its JSON Schema if it has no validator. Both may be the host's
 * own code.
 */
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

/** A schema that is made late may turn out to be no schema. That must not count as a schema that accepts everything. */
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

function callExecute(tool: Tool, input: unknown, options: object): unknown {
  return (tool as { execute: (input: unknown, options: object) => unknown }).execute(input, options);
}

/**
 * Calls a tool outside of a run. If the tool gives several outputs, the last counts. If the tool asked for an
 * interrupt, throws the request.
 */
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

/** What a suspended run keeps of a waiting call. The code that suspends the call turns this into JSON. */
function toKept(payload: CodeModeInterruptPayload, input: Json): Json {
  return { payload: payload as Record<string, Json>, input };
}
