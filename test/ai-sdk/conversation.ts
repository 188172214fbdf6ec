/** What a host does around generateText and UI messages, in both generations of the AI SDK. */
import type { ModelMessage, UIMessage } from "ai";

interface Result {
  readonly response: unknown;
}

/** All messages of all steps; AI SDK 6 has them in another place. */
export function messagesOf(result: Result): ModelMessage[] {
  const { responseMessages, response } = result as {
    responseMessages?: ModelMessage[];
    response: { messages: ModelMessage[] };
  };
  return responseMessages ?? response.messages;
}

export interface ApprovalRequest {
  readonly approvalId: string;
  readonly toolCall: { readonly toolName: string; readonly toolCallId: string; readonly input: unknown };
  readonly reason?: string;
  readonly signature?: string;
}

/** What a user is asked for. */
export function requestsIn({ content }: { readonly content: readonly unknown[] }): ApprovalRequest[] {
  return (content as (ApprovalRequest & { type: string })[]).filter(
    ({ type }) => type === "tool-approval-request",
  );
}

/** The user's answers, in one message; true and false, or false with a reason. */
export function answers(
  requests: readonly ApprovalRequest[],
  given: readonly (boolean | string)[],
): ModelMessage {
  return {
    role: "tool",
    content: requests.map(({ approvalId }, index) => {
      const answer = given[index];
      return {
        type: "tool-approval-response",
        approvalId,
        approved: answer === true,
        ...(typeof answer === "string" ? { reason: answer } : {}),
      };
    }),
  };
}

/** As `addToolApprovalResponse` of a chat does it, for all requests of the message. */
export function approveInUI(message: UIMessage, approved: boolean, reason?: string): UIMessage {
  const parts = message.parts.map((part) => {
    const { state, approval } = part as { state?: string; approval?: { id: string } };
    if (state !== "approval-requested" || approval === undefined) return part;
    const answered = { ...approval, approved, ...(reason === undefined ? {} : { reason }) };
    return Object.assign({ ...part }, { state: "approval-responded", approval: answered });
  });
  return { ...message, parts };
}

/** Tool parts as `name: state`. */
export function statesIn({ parts }: UIMessage): string[] {
  return parts.flatMap((part) => {
    const { state } = part as { state?: string };
    return part.type.startsWith("tool-") ? [`${part.type.slice(5)}: ${state}`] : [];
  });
}
