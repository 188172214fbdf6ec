/**
 * Ask: `toolApproval` as the AI SDK gets it, in which calls of programs that wait are known.
 *
 * - A call that waits is asked for with the reason that was given when the program made it. A second opinion counts if
 *   it is a no.
 */
import { isRecord } from "../../../value/shape.ts";
import type { ToolApproval, ToolApprovalCall, ToolApprovalStatus } from "../approval-status.ts";
import { History } from "./history.ts";
import type { Nested } from "./stand-in.ts";

type Answer = ToolApprovalStatus | PromiseLike<ToolApprovalStatus>;

/** A function for one tool. */
type PerTool = Extract<
  Exclude<ToolApproval, (...args: never[]) => unknown>[string],
  (...args: never[]) => unknown
>;

interface Question {
  readonly toolCallId: string;
  readonly messages: readonly unknown[];
  readonly isDirect: boolean;
  readonly own: () => Answer;
}

export function askingForPrograms(toolApproval: ToolApproval, nested: readonly Nested[]): ToolApproval {
  const byName = new Map(nested.map((one) => [one.name, one]));
  if (typeof toolApproval === "function") {
    return async (call: ToolApprovalCall) => {
      const { toolCallId, toolName } = call.toolCall;
      const isDirect = byName.get(toolName)?.isDirect ?? true;
      return decide({ toolCallId, messages: call.messages, isDirect, own: () => toolApproval(call) });
    };
  }
  const asking: Record<string, PerTool> = {};
  for (const [name, own] of Object.entries(toolApproval)) {
    const isDirect = byName.get(name)?.isDirect;
    // A tool without an entry of its own is asked for by its stand-in.
    if (isDirect === undefined || own === undefined || own === null) continue;
    asking[name] = async (input, options) =>
      decide({
        toolCallId: options.toolCallId,
        messages: options.messages,
        isDirect,
        own: () => (typeof own === "function" ? own(input, options) : own),
      });
  }
  return { ...toolApproval, ...asking };
}

async function decide({ toolCallId, messages, isDirect, own }: Question): Promise<ToolApprovalStatus> {
  const waiting = new History(messages).approval(toolCallId);
  if (waiting === undefined) return isDirect ? own() : "not-applicable";
  const status = await own();
  if (status === "denied" || (isRecord(status) && status["type"] === "denied")) return status;
  const { reason } = waiting.call.payload;
  return { type: "user-approval", ...(typeof reason === "string" ? { reason } : {}) };
}
