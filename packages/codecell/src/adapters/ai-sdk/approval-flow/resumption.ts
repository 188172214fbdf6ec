/**
 * Runs on the host. Resumption: continues a paused program with the answers to its approvals that the messages contain.
 *
 * - A yes is a receipt for exactly the waiting call. A no needs no proof. Anything else continues nothing.
 */
import type { ModelMessage } from "ai";
import { isRecord } from "../../../value/shape.ts";
import { CodeModeProtocolError } from "../errors.ts";
import type { CodeModeToolExecutionOptions } from "../interrupt.ts";
import type { InvocationSetup } from "../invocation.ts";
import type { CodeModeOptions, CodeModeToolSet } from "../options.ts";
import { toContinuedSetup } from "../run-code-mode.ts";
import type { ApprovalFlow } from "./flow.ts";
import { valueOf } from "./paused-program.ts";
import { isReceiptFor, type WaitingCall } from "./receipt.ts";

interface ResumeInput {
  readonly tools: CodeModeToolSet;
  readonly options: CodeModeOptions;
  readonly toolExecutionOptions: Partial<CodeModeToolExecutionOptions>;
}

/** Throws for a program of another tool than the flow's: that program was not written for the tools it would get. */
export async function toResumption(
  outerToolCallId: string,
  flow: ApprovalFlow,
  given: ResumeInput,
): Promise<InvocationSetup> {
  const { toolName, readings } = flow;
  const { tools, options, toolExecutionOptions: execution } = given;
  const messages: readonly ModelMessage[] = execution.messages ?? [];
  const program = (await readings.of(messages)).program(outerToolCallId);
  const paused = program?.opened;
  if (program?.toolName !== toolName || paused === undefined) {
    throw refusal(outerToolCallId, "the messages have no program of this tool that waits under this id");
  }
  if (program.stage !== "resume") throw refusal(outerToolCallId, "its approvals have not all been answered");
  const { interrupt, opened } = paused;
  const resolutions = new Map<string, unknown>();
  for (const call of program.approvals) {
    const answer = program.answerTo(call.toolCallId);
    resolutions.set(call.interruptId, await toResolution(answer, { interrupt, call }, flow));
  }
  return toContinuedSetup(interrupt.continuation, opened, resolutions, { tools, options, execution });
}

async function toResolution(
  output: unknown,
  waiting: WaitingCall,
  flow: ApprovalFlow,
): Promise<{ approved: boolean; reason?: string }> {
  if (await isReceiptFor(valueOf(output), waiting)) return { approved: true };
  const { type, reason, value }: Record<string, unknown> = isRecord(output) ? output : {};
  switch (type) {
    case "execution-denied":
      return typeof reason === "string" ? { approved: false, reason } : { approved: false };
    // The AI SDK later turns a denial, and an approval that it refuses, into these.
    case "error-text":
    case "error-json":
      return { approved: false, reason: typeof value === "string" ? value : JSON.stringify(value) };
    default: {
      const { outerToolCallId } = waiting.interrupt;
      const error = refusal(
        outerToolCallId,
        `the result of "${waiting.call.toolCallId}" is not a receipt for the approved call, or was sealed with another key`,
      );
      flow.refused(outerToolCallId, Object.assign(error, { details: { failure: "token_invalid" } }));
      throw error;
    }
  }
}

function refusal(outerToolCallId: string, why: string): CodeModeProtocolError {
  return new CodeModeProtocolError(`Cannot go on with the program of "${outerToolCallId}": ${why}`);
}
