/**
 * Runs on the host. Ask: makes the `toolApproval` that the AI SDK gets, which recognises waiting calls of programs.
 *
 * - Continuing a program needs no approval of its own, even if starting a program does.
 * - The request for a waiting call shows the reason that was given when the program made the call. A second opinion
 *   counts only if it is a no.
 */
import { isRecord } from "../../../value/shape.ts";
import type {
  ApprovalAnswer,
  ToolApproval,
  ToolApprovalCall,
  ToolApprovalStatus,
} from "../approval-status.ts";
import type { Readings } from "./readings.ts";
import type { Nested } from "./stand-in.ts";

/** A `toolApproval` function for one tool. */
type PerTool = Extract<
  Exclude<ToolApproval, (...args: never[]) => unknown>[string],
  (...args: never[]) => unknown
>;

interface PendingQuestion {
  readonly toolCallId: string;
  readonly input: unknown;
  readonly isCodeMode: boolean;
  readonly messages: readonly unknown[];
  readonly isDirect: boolean;
  readonly own: () => ApprovalAnswer;
}

export function askingForPrograms(
  toolApproval: ToolApproval,
  nested: readonly Nested[],
  codeModeTools: ReadonlySet<string>,
  readings: Readings,
): ToolApproval {
  const byName = new Map(nested.map((one) => [one.name, one]));
  const kindOf = (name: string): Pick<PendingQuestion, "isDirect" | "isCodeMode"> => ({
    isDirect: byName.get(name)?.isDirect ?? true,
    isCodeMode: codeModeTools.has(name),
  });
  if (typeof toolApproval === "function") {
    return async (call: ToolApprovalCall) => {
      const { toolCallId, toolName, input } = call.toolCall;
      const { messages } = call;
      const own = (): ApprovalAnswer => toolApproval(call);
      return decide({ ...kindOf(toolName), toolCallId, input, messages, own }, readings);
    };
  }
  const asking: Record<string, PerTool> = {};
  for (const [name, own] of Object.entries(toolApproval)) {
    const isOurs = byName.has(name) || codeModeTools.has(name);
    // For a tool without an entry of its own, the stand-in asks.
    if (!isOurs || own === undefined || own === null) continue;
    asking[name] = async (input, options) =>
      decide(
        {
          ...kindOf(name),
          toolCallId: options.toolCallId,
          input,
          messages: options.messages,
          own: () => (typeof own === "function" ? own(input, options) : own),
        },
        readings,
      );
  }
  return { ...toolApproval, ...asking };
}

async function decide(question: PendingQuestion, readings: Readings): Promise<ToolApprovalStatus> {
  const { toolCallId, input, messages, isDirect, isCodeMode, own } = question;
  const history = await readings.of(messages);
  if (isCodeMode && history.isResumption(input)) return "not-applicable";
  const waiting = history.approval(toolCallId);
  if (waiting === undefined) return isDirect ? own() : "not-applicable";
  const status = await own();
  if (status === "denied" || (isRecord(status) && status["type"] === "denied")) return status;
  const { reason } = waiting.call.payload;
  return { type: "user-approval", ...(typeof reason === "string" ? { reason } : {}) };
}
