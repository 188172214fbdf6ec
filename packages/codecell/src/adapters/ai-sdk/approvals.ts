/**
 * Runs on the host. Approvals: turns interrupts that ask for a yes or no into messages of the AI SDK, and answers back.
 *
 * - Functions that return a promise tell of no interrupt whose content differs from its seal.
 */
import { generateText, type ModelMessage, streamText } from "ai";
import { assertNames } from "../../contract/assert-names.ts";
import { isRecord } from "../../value/shape.ts";
import { parseApproval } from "./approval-status.ts";
import { isCodeModeInterrupt, openInterrupt } from "./continuation.ts";
import { CodeModeProtocolError } from "./errors.ts";
import { APPROVAL_KIND, type CodeModeApprovalInterrupt, type CodeModeInterrupt } from "./interrupt.ts";
import {
  CONTINUE,
  type ContinueCommon,
  continueCodeModeInterrupts,
  findInterrupt,
  getCodeModeInterrupt,
  goOn,
  OF_CONTINUED,
} from "./interrupts.ts";
import type { CodeModeOptions } from "./options.ts";

export interface CodeModeApprovalResponse {
  /** The interrupt's id. */
  approvalId: string;
  approved: boolean;
  reason?: string;
}

export interface CodeModeApprovalResolution {
  approved: boolean;
  reason?: string;
}

export function isCodeModeApprovalInterrupt(value: unknown): value is CodeModeApprovalInterrupt {
  return isCodeModeInterrupt(value) && value.payload.kind === APPROVAL_KIND;
}

interface ContinueApproval extends ContinueCommon {
  interrupt: CodeModeApprovalInterrupt;
}

/** Continues with the decision. Later calls that need approval interrupt again. */
export async function continueCodeModeApproval(
  input: ContinueApproval & { approvalResponse: CodeModeApprovalResponse },
): Promise<unknown> {
  assertNames(input, { ...OF_CONTINUED, approvalResponse: true }, CONTINUE);
  const { approvalResponse, interrupt, options, ...rest } = input;
  const opened = await openInterrupt(interrupt);
  const { interruptId } = opened.interrupt;
  const resolution = parseResponse(approvalResponse);
  if (approvalResponse.approvalId !== interruptId) {
    throw new CodeModeProtocolError(
      `Cannot continue "${interruptId}": the response is for "${approvalResponse.approvalId}"`,
    );
  }
  return goOn(opened, new Map([[interruptId, resolution]]), { ...rest, options: interrupting(options) });
}

/** Continues with all decisions on calls that wait together. Calls without a decision go on waiting. */
export async function continueCodeModeApprovals(
  input: ContinueApproval & { approvalResponses: readonly CodeModeApprovalResponse[] },
): Promise<unknown> {
  const { approvalResponses, options, ...rest } = input;
  if (!Array.isArray(approvalResponses)) {
    throw new CodeModeProtocolError("Cannot continue: approvalResponses must be a list of responses");
  }
  const resolutions: Record<string, CodeModeApprovalResolution> = {};
  for (const response of approvalResponses as readonly CodeModeApprovalResponse[]) {
    const resolution = parseResponse(response);
    if (Object.hasOwn(resolutions, response.approvalId)) {
      throw new CodeModeProtocolError(`Cannot continue: "${response.approvalId}" is answered twice`);
    }
    resolutions[response.approvalId] = resolution;
  }
  return continueCodeModeInterrupts({ ...rest, options: interrupting(options), resolutions });
}

function parseResponse(response: unknown): CodeModeApprovalResolution {
  if (!isRecord(response) || typeof response["approvalId"] !== "string") {
    throw new CodeModeProtocolError("Cannot continue: this is not a response to an approval request");
  }
  return parseApproval(response);
}

function interrupting(options: CodeModeOptions = {}): CodeModeOptions {
  return { ...options, approval: { ...options.approval, mode: "interrupt" } };
}

/** The request to approve the nested call, as if the model had made that call itself. */
export function toCodeModeApprovalMessages(interrupt: CodeModeApprovalInterrupt): ModelMessage[] {
  const { toolCallId, toolName, input, interruptId: approvalId } = interrupt;
  return [
    {
      role: "assistant",
      content: [
        { type: "tool-call", toolCallId, toolName, input },
        { type: "tool-approval-request", approvalId, toolCallId },
      ],
    },
  ];
}

/** The answer to the interrupt. Responses that are not well formed do not count. */
export function getCodeModeApprovalResponse(
  messages: ModelMessage[],
  interrupt: CodeModeApprovalInterrupt,
): CodeModeApprovalResponse | undefined {
  for (const message of messages.toReversed()) {
    // Text that a model or a user writes decides nothing.
    if (message.role !== "tool" || !Array.isArray(message.content)) continue;
    for (const part of message.content as unknown[]) {
      const response = responseIn(part, interrupt);
      if (response !== undefined) return response;
    }
  }
  return undefined;
}

function responseIn(
  part: unknown,
  { interruptId, toolCallId }: CodeModeApprovalInterrupt,
): CodeModeApprovalResponse | undefined {
  if (!isRecord(part) || part["type"] !== "tool-approval-response") return undefined;
  const { approvalId, approved, reason } = part;
  if (approvalId !== interruptId || typeof approved !== "boolean") return undefined;
  if (reason !== undefined && typeof reason !== "string") return undefined;
  if ("toolCallId" in part && part["toolCallId"] !== toolCallId) return undefined;
  return { approvalId: interruptId, approved, ...(reason === undefined ? {} : { reason }) };
}

export function getCodeModeApprovalInterrupt(result: unknown): CodeModeApprovalInterrupt | undefined {
  return asApproval(getCodeModeInterrupt(result));
}

function asApproval(interrupt: CodeModeInterrupt | undefined): CodeModeApprovalInterrupt | undefined {
  return interrupt?.payload.kind === APPROVAL_KIND ? (interrupt as CodeModeApprovalInterrupt) : undefined;
}

export interface CodeModeApprovalResult {
  codeModeApproval: CodeModeApprovalInterrupt | undefined;
  codeModeApprovalMessages: ModelMessage[];
}

/** The result itself, with the approval that was found in it attached. */
export function attachCodeModeApprovalResult<T>(result: T): T & CodeModeApprovalResult {
  return attach(result, getCodeModeApprovalInterrupt(result));
}

function attach<T>(
  result: T,
  codeModeApproval: CodeModeApprovalInterrupt | undefined,
): T & CodeModeApprovalResult {
  const codeModeApprovalMessages =
    codeModeApproval === undefined ? [] : toCodeModeApprovalMessages(codeModeApproval);
  return Object.assign(result as T & object, { codeModeApproval, codeModeApprovalMessages });
}

async function attachFound<T>(result: T): Promise<T & CodeModeApprovalResult> {
  return attach(result, asApproval(await findInterrupt(result)));
}

export async function generateTextWithCodeModeApprovals(
  options: Parameters<typeof generateText>[0],
): Promise<Awaited<ReturnType<typeof generateText>> & CodeModeApprovalResult> {
  return attachFound(await generateText(options));
}

export interface CodeModeApprovalPromise {
  codeModeApproval: Promise<CodeModeApprovalInterrupt | undefined>;
}

export function streamTextWithCodeModeApprovals(
  options: Parameters<typeof streamText>[0],
): ReturnType<typeof streamText> & CodeModeApprovalPromise {
  const result = streamText(options);
  return Object.assign(result, approvalOf(result));
}

function approvalOf({ toolResults }: { toolResults: PromiseLike<unknown> }): CodeModeApprovalPromise {
  const codeModeApproval = Promise.resolve(toolResults).then(async (results) =>
    asApproval(await findInterrupt({ toolResults: results })),
  );
  // A caller that does not ask for the approval need not hear that the stream failed.
  codeModeApproval.catch(() => {});
  return { codeModeApproval };
}

type Method = (...args: never[]) => Promise<unknown>;

/** The same agent. Its results also tell for which approval a program waits. */
export function wrapToolLoopAgentForCodeModeApprovals<T extends { generate?: Method; stream?: Method }>(
  agent: T,
): T {
  return new Proxy(agent, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== "function") return value;
      const method = value.bind(target) as (...args: unknown[]) => Promise<unknown>;
      if (property === "generate") return async (...args: unknown[]) => attachFound(await method(...args));
      if (property !== "stream") return method;
      return async (...args: unknown[]) => {
        const result = await method(...args);
        return isRecord(result) && "toolResults" in result
          ? Object.assign(result, approvalOf(result as { toolResults: PromiseLike<unknown> }))
          : result;
      };
    },
  });
}
