/**
 * Runs on the host. Exec and wait over tools of the AI SDK: for agents with more tools than a description can list.
 *
 * - A tool that needs approval is not executed without approval. A tool that calls `requestCodeModeInterrupt` is called
 *   again with the answer. In both cases the program waits for `run.resolve`, with `{ approved, reason? }` or `{
 *   resolution }`.
 * - What a call asked decides which of the two its answer is, not the form of the answer. The run remembers what it
 *   asked, in every process. If `approved` is there, it decides in both cases.
 * - Tools validate with their own schemas, as they do when the model calls them.
 */
import { jsonSchema, type LanguageModelMiddleware, type Tool, type ToolSet } from "ai";
import { SCHEMA_FAILED } from "../../calls/invoke.ts";
import { type Validated, validatorOf } from "../../calls/schema.ts";
import { type HostError, type OnError, tellError, withCause } from "../../contract/host-error.ts";
import type { CallContext } from "../../contract/tool.ts";
import type { Json } from "../../contract/value.ts";
import { inputSchemaOf } from "../../declare/tool-schemas.ts";
import type { JudgeApart } from "../../protocol/judges.ts";
import { assertOptions } from "../../run/host/assert-options.ts";
import type { Host } from "../../run/host/host.ts";
import { type AgentTool, type AgentToolSet, isMarkedControl } from "../../surface/agent-tools.ts";
import type { AgentScope } from "../../surface/calls/nested-call.ts";
import {
  type AgentRunOptions,
  createAgentRuntime,
  judgeOf,
  prepareAgentRun,
  type PreparedAgentRun,
  type VisibleTool,
} from "../../surface/prepare-agent-run.ts";
import { isRecord } from "../../value/shape.ts";
import { HostFault, needsApproval, parseApproval } from "./approval-status.ts";
import { CodeModeProtocolError } from "./errors.ts";
import { APPROVAL_KIND, requestedBy, unlessAsked } from "./interrupt.ts";
import { callExecute } from "./nested-tools.ts";
import { checkTools } from "./options.ts";
import { inputOf, schemaFor, schemaOf } from "./tool-schema.ts";
import { CallRefusal } from "../../calls/call-failure.ts";
import { callDirectly } from "../../calls/direct-call.ts";
import { type AdapterCall, type Decision, REMEMBERS, withOwnMiddleware } from "../../calls/middleware.ts";

export interface ExecWaitOptions extends Omit<AgentRunOptions<AgentScope>, "tools"> {
  /** Runs the programs, on a runtime made for this host. */
  readonly host?: Host;
  /** Prepares the run. Default: a runtime that the whole process shares. */
  readonly runtime?: {
    prepareAgentRun(options: AgentRunOptions<AgentScope>): PreparedAgentRun;
  };
}

export interface ExecWaitTools extends AsyncDisposable {
  /** `exec`, `wait` and the tools marked direct-only. Give these to the AI SDK in place of your tools. */
  readonly tools: ToolSet;
  /** Checks every request before a provider gets it: the request may contain no other tools. */
  readonly middleware: LanguageModelMiddleware;
  readonly run: PreparedAgentRun;
}

/** Puts `exec` and `wait` in the place of tools. Default of `config`: code mode is on. */
export function createExecWaitTools(tools: ToolSet, options: ExecWaitOptions): ExecWaitTools {
  assertOptions(options, "create exec and wait");
  const { host, runtime: given, config = true, ...rest } = options;
  if (host !== undefined && given !== undefined) {
    throw new TypeError(
      "Cannot create exec and wait with a host and a runtime: give the host to the runtime",
    );
  }
  const own = host === undefined ? undefined : createAgentRuntime({ host });
  const runtime = given ?? own ?? { prepareAgentRun };
  const run = runtime.prepareAgentRun({ ...rest, config, tools: { core: toAgentTools(tools) } });
  return {
    tools: toAiTools(run.visibleTools, options.context, options.onError),
    middleware: checkingPayload(run),
    run,
    [Symbol.asyncDispose]: async () => {
      await run[Symbol.asyncDispose]();
      await own?.[Symbol.asyncDispose]();
    },
  };
}

/** Makes tools for an agent run of tools of the AI SDK. Leaves out tools without `execute`. */
export function toAgentTools(tools: ToolSet): AgentToolSet {
  checkTools(tools);
  const executable = Object.entries(tools).filter(([, tool]) => typeof tool.execute === "function");
  return Object.fromEntries(executable.map(([name, tool]) => [name, toAgentTool(tool as Tool)]));
}

function toAgentTool(tool: Tool): AgentTool {
  const { description } = tool as { description?: unknown };
  const output = schemaOf((tool as { outputSchema?: Tool["outputSchema"] }).outputSchema);
  const own: Omit<AgentTool, "execute"> = {
    ...(typeof description === "string" ? { description } : {}),
    input: toInput(tool),
    ...(output === undefined ? {} : { output }),
  };
  return withApproval(tool, own);
}

type CalledWith = Pick<CallContext, "callId" | "signal" | "context">;

/** The options that the AI SDK gives to a tool and to its `needsApproval`. */
function toToolOptions({ callId, signal, context }: CalledWith) {
  return {
    toolCallId: callId,
    messages: [],
    abortSignal: signal,
    context,
    experimental_context: context,
  };
}

/**
 * Calls are decided on before they are made. A caller that skips the decision cannot call a tool that needs approval.
 */
function withApproval(tool: Tool, own: Omit<AgentTool, "execute">): AgentTool {
  /** The calls that were decided on, and whether they come again because their tool asked. */
  const decided = new Map<string, boolean>();
  return withOwnMiddleware(
    {
      ...own,
      execute: async (input: unknown, call: CallContext) => {
        const hasAsked = decided.get(call.callId);
        if (hasAsked === undefined && mayNeedApproval(tool)) {
          throw new CallRefusal("denied", "Cannot call the tool: nobody decided whether it may be called");
        }
        const { resolution } = call;
        const isAnswered = (hasAsked ?? true) && isInterruptResolution(resolution);
        return callExecute(tool, input, {
          ...toToolOptions(call),
          ...(isAnswered ? { codeModeInterrupt: resolution } : {}),
        });
      },
    },
    {
      [REMEMBERS]: "no input",
      decide: (call) => decide(tool, call),
      execute: async (call, executeTool) => {
        const { callId } = call;
        decided.set(callId, hasToolAsked(call));
        try {
          return await unlessAsked((hasAsked) => executeTool({ hasAsked }));
        } catch (error) {
          const payload = requestedBy(error);
          // `suspend` turns the payload into JSON.
          if (payload !== undefined) call.suspend(payload as unknown as Json);
          throw error;
        } finally {
          decided.delete(callId);
        }
      },
    },
  );
}

function mayNeedApproval(tool: Tool): boolean {
  try {
    return tool.needsApproval !== undefined && tool.needsApproval !== false;
  } catch {
    return true;
  }
}

/**
 * Allows a call that needs approval only after a yes. Without an answer the program waits for an answer. Throws for an
 * answer that is neither a yes nor a no.
 */
async function decide(tool: Tool, call: AdapterCall): Promise<Decision> {
  const { input, resolution } = call;
  if (hasToolAsked(call)) {
    // The call was allowed before its tool asked. Only a word about the approval can change that.
    if (!isRecord(resolution) || !("approved" in resolution)) return "allow";
  } else {
    try {
      if (!(await needsApproval(tool, input, toToolOptions(call)))) return "allow";
    } catch (error) {
      throw error instanceof HostFault ? error.error : error;
    }
    if (resolution === undefined) return { suspend: { kind: APPROVAL_KIND } };
  }
  const { approved, reason = "" } = parseApproval(resolution);
  return approved ? "allow" : { deny: `it was not approved${reason === "" ? "" : `: ${reason}`}` };
}

/** Whether the call comes again because its tool asked. The answer itself proves nothing: anybody may have sent it. */
function hasToolAsked({ before }: AdapterCall): boolean {
  return before?.isAllowed === true;
}

/** JSON Schema, where that is all there is. A schema that cannot be described throws now. */
function toInput(tool: Tool): NonNullable<AgentTool["input"]> {
  const described = schemaOf(tool.inputSchema);
  const isAll = described !== undefined && schemaFor(tool.inputSchema).validate === undefined;
  return isAll ? described : inputOf(() => tool);
}

/** Whether the answer is one for a tool that asked for an interrupt: `{ resolution }`, and whatever the host adds. */
function isInterruptResolution(given: Json | undefined): given is { readonly resolution: Json } & Json {
  return isRecord(given) && !Array.isArray(given) && "resolution" in given;
}

/**
 * The tools of an agent run that a model may see, as tools of the AI SDK. `context` and `onError` are for tools that
 * the model calls directly; tools that programs call get the same.
 */
export function toAiTools(visible: readonly VisibleTool[], context?: unknown, onError?: OnError): ToolSet {
  return Object.fromEntries(visible.map((one) => [one.name, toAiTool(one, context, onError)]));
}

function toAiTool(visible: VisibleTool, context: unknown, onError: OnError | undefined): ToolSet[string] {
  const { name, tool: own } = visible;
  const judgeApart = judgeOf(visible);
  const schema = inputSchemaOf(own);
  const tell = (report: Pick<HostError, "error" | "source">, callId?: string): void =>
    tellError(onError, {
      ...report,
      tool: name,
      runId: callId ?? "",
      ...(callId === undefined ? {} : { callId }),
    });
  return {
    description: own.description ?? "",
    inputSchema: jsonSchema(
      typeof schema === "boolean" ? {} : schema,
      // Exec and wait answer invalid inputs themselves.
      isMarkedControl(own)
        ? {}
        : { validate: validating(own, judgeApart, (error) => tell({ error, source: "schema" })) },
    ),
    // The trajectory contains the provider's ids. Aborting the agent aborts the program.
    execute: async (
      input: unknown,
      { toolCallId, abortSignal }: { readonly toolCallId: string; readonly abortSignal?: AbortSignal },
    ) => {
      try {
        return await callDirectly({
          name,
          tool: own,
          input,
          callId: toolCallId,
          signal: abortSignal ?? new AbortController().signal,
          context,
          judgeApart,
          answersAborts: isMarkedControl(own),
          onFault: (error) => tell({ error, source: "schema" }, toolCallId),
          asking: new CodeModeProtocolError(
            "A tool that the model calls by itself cannot ask for a decision",
          ),
        });
      } catch (error) {
        if (!(error instanceof CallRefusal)) throw error;
        // If the thrown value is not an Error, the AI SDK shows the model all of its fields.
        const { message, cause } = error;
        if (cause !== undefined) tell({ error: cause, source: "authorize" }, toolCallId);
        throw withCause(new Error(message), cause);
      }
    },
  };
}

type Validation = { success: true; value: unknown } | { success: false; error: Error };

/** Validates with the tool's own schema. The AI SDK validates once, and calls the tool with the validated input. */
function validating({ input }: AgentTool, judgeApart: JudgeApart, onFault: (error: unknown) => void) {
  return async (value: unknown): Promise<Validation> => {
    let checked: Validated;
    try {
      checked = await validatorOf(input, "input")(value, "input", judgeApart);
    } catch (error) {
      onFault(error);
      checked = { ok: false, problems: SCHEMA_FAILED.input };
    }
    return checked.ok
      ? { success: true, value: checked.value }
      : { success: false, error: new Error(checked.problems) };
  };
}

/** The last check of every request: removes tools added on the way, and throws if a tool is missing or replaced. */
export function checkingPayload(run: PreparedAgentRun): LanguageModelMiddleware {
  const transformParams: LanguageModelMiddleware["transformParams"] = async ({ params }) => ({
    ...params,
    tools: [...run.assertPayload(params.tools ?? [])],
  });
  // AI SDK 6 wants middleware to name its version of requests. Tools look the same in all versions.
  // oxlint-disable-next-line typescript/no-unnecessary-type-assertion
  return { transformParams } as LanguageModelMiddleware;
}
