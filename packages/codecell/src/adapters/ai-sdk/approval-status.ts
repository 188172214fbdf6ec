/**
 * Runs on the host. Approval status: decides by the rules of the AI SDK whether a nested call may be executed.
 *
 * - `toolApproval` goes before a tool's own `needsApproval`, as it does for calls that the model makes.
 * - An invalid status is refused, never taken for a yes.
 * - Programs do not learn what functions of the host throw.
 */
import type { ModelMessage, Tool, ToolSet } from "ai";
import { noSuchTool } from "../../calls/closest-names.ts";
import { isThenable, whenKnown } from "../../loop/when-known.ts";
import { isRecord } from "../../value/shape.ts";
import { CodeModeProtocolError } from "./errors.ts";

const STATUSES = ["not-applicable", "approved", "denied", "user-approval"] as const;

type StatusType = (typeof STATUSES)[number];

export type ToolApprovalStatus = StatusType | { type: StatusType; reason?: string } | undefined;

export interface ToolApprovalCall<Context = unknown> {
  toolCall: {
    type: "tool-call";
    toolCallId: string;
    toolName: string;
    input: unknown;
    dynamic?: boolean | undefined;
  };
  tools: ToolSet | undefined;
  toolsContext: unknown;
  runtimeContext: Context;
  messages: ModelMessage[];
}

export type ApprovalAnswer = ToolApprovalStatus | PromiseLike<ToolApprovalStatus>;

/** Like `toolApproval` of AI SDK 7: one function for all tools, or a status or function for each tool. */
// Only the user knows the types of the user's functions: methods compare their parameters both ways.
export type ToolApproval<Context = unknown> =
  | { bivariant(call: ToolApprovalCall<Context>): ApprovalAnswer }["bivariant"]
  | Readonly<
      Record<
        string,
        | ToolApprovalStatus
        | {
            bivariant(
              input: unknown,
              options: {
                toolCallId: string;
                messages: ModelMessage[];
                toolContext: unknown;
                runtimeContext: Context;
              },
            ): ApprovalAnswer;
          }["bivariant"]
      >
    >;

export interface ApprovalQuestion {
  readonly tools: ToolSet;
  readonly tool: Tool;
  readonly toolName: string;
  readonly toolCallId: string;
  readonly input: unknown;
  readonly messages: ModelMessage[];
  readonly context: unknown;
  readonly experimentalContext: unknown;
  readonly toolApproval: ToolApproval | undefined;
  readonly runtimeContext: unknown;
  readonly toolsContext: Readonly<Record<string, unknown>> | undefined;
}

export interface ApprovalStatus {
  readonly type: StatusType;
  readonly reason?: string;
}

/** Holds what the host's own code threw when it was asked about a call. Only the host may see it. */
export class HostFault {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** Asks the host's own code, and waits only for a promise. Throws a HostFault for whatever that code throws. */
export function askHost<T>(ask: () => T | PromiseLike<T>): T | Promise<T> {
  try {
    const answer = ask();
    return isThenable(answer) ? Promise.resolve(answer).catch(blame) : answer;
  } catch (error) {
    return blame(error);
  }
}

function blame(error: unknown): never {
  throw new HostFault(error);
}

/** Throws for values that would apply to no tool, such as one status for all tools, or a Map. */
export function assertToolApproval(toolApproval: unknown): void {
  if (toolApproval === undefined || typeof toolApproval === "function") return;
  if (isRecord(toolApproval) && !(Symbol.iterator in toolApproval)) return;
  throw new TypeError(
    "Cannot run code mode: toolApproval must be a function, or an object with a status or a function for each tool",
  );
}

/** Throws for a name that no tool has: whoever misspelt it believes that calls of the tool are asked for. */
export function assertApprovalNames(toolApproval: unknown, tools: object): void {
  if (!isRecord(toolApproval)) return;
  for (const name of Object.keys(toolApproval)) {
    if (Object.hasOwn(tools, name)) continue;
    throw new TypeError(`Cannot run code mode: toolApproval is for "${name}", ${noSuchTool(name, tools)}`);
  }
}

export function approvalStatusOf(question: ApprovalQuestion): ApprovalStatus | Promise<ApprovalStatus> {
  const { toolApproval, toolName, toolCallId, input, messages, runtimeContext, toolsContext } = question;
  if (typeof toolApproval === "function") {
    const toolCall = { type: "tool-call", toolCallId, toolName, input } as const;
    const { tools } = question;
    const call = { toolCall, tools, toolsContext, runtimeContext, messages };
    return whenKnown(
      askHost(() => toolApproval(call)),
      (status) => parse(status, toolName),
    );
  }
  const own =
    toolApproval !== undefined && Object.hasOwn(toolApproval, toolName) ? toolApproval[toolName] : undefined;
  if (own !== undefined && own !== null) {
    const toolContext = toolsContext?.[toolName] ?? question.context;
    if (typeof own !== "function") return parse(own, toolName);
    const status = askHost(() => own(input, { toolCallId, messages, toolContext, runtimeContext }));
    return whenKnown(status, (given) => parse(given, toolName));
  }
  const { tool, context, experimentalContext: experimental_context } = question;
  const isNeeded = needsApproval(tool, input, { toolCallId, messages, context, experimental_context });
  return whenKnown(isNeeded, (needed) => ({ type: needed ? "user-approval" : "not-applicable" }));
}

/** Whether the tool itself asks for approval. Throws a HostFault if the tool's code throws. */
export function needsApproval(tool: Tool, input: unknown, options: object): boolean | Promise<boolean> {
  const needs = askHost((): unknown => {
    const own: unknown = tool.needsApproval;
    return typeof own === "function"
      ? (own as (input: unknown, options: object) => unknown)(input, options)
      : own;
  });
  return whenKnown(needs, Boolean);
}

export interface Approval {
  readonly approved: boolean;
  readonly reason?: string;
}

/** Only a boolean in `approved` decides. Throws for anything else; `problem` says what was wrong. */
export function parseApproval(
  value: unknown,
  problem = "Cannot resolve an approval: expected { approved: true or false } and, if any, a reason as text",
): Approval {
  const { approved, reason }: Record<string, unknown> = isRecord(value) ? value : {};
  if (typeof approved !== "boolean" || (reason !== undefined && typeof reason !== "string")) {
    throw new CodeModeProtocolError(problem);
  }
  return { approved, ...(reason === undefined ? {} : { reason }) };
}

function parse(status: unknown, toolName: string): ApprovalStatus {
  if (status === undefined) return { type: "not-applicable" };
  const { type, reason }: Record<string, unknown> = isRecord(status) ? status : { type: status };
  const known = STATUSES.find((one) => one === type);
  if (known === undefined) {
    throw new CodeModeProtocolError(
      `Cannot decide on tool "${toolName}": toolApproval gave an unknown status, expected one of ${STATUSES.join(", ")}`,
    );
  }
  return { type: known, ...(typeof reason === "string" ? { reason } : {}) };
}
