/**
 * Runs on the host. ExecuteTool calls the tool of a call that was decided on, and drains an output that comes in parts.
 *
 * - Middleware may have waited meanwhile, or caught what `suspend` threw. If the tool asked, or the call's signal was
 *   aborted, the tool is not called (again).
 */
import type { AnyTool, CallContext } from "../contract/tool.ts";
import { CallRefusal } from "./call-failure.ts";
import { drain, isAsyncIterable } from "./drain.ts";
import type { ExecuteTool } from "./middleware.ts";
import type { Question } from "./question.ts";

interface Executing {
  readonly tool: AnyTool;
  readonly input: unknown;
  readonly context: Omit<CallContext, "suspend">;
  readonly question: Question;
  /** What the call is refused with if its signal was aborted. Without it the tool itself answers to that. */
  readonly abortedMessage: string | undefined;
  readonly onProgress?: ((part: unknown) => void) | undefined;
}

export function toExecuteTool(given: Executing): ExecuteTool {
  const { tool, input, context, question, abortedMessage, onProgress } = given;
  const { suspend } = question;
  return async ({ signal = context.signal, hasAsked, onPart = onProgress } = {}) => {
    question.assertOpen();
    if (context.signal.aborted && abortedMessage !== undefined)
      throw new CallRefusal("denied", abortedMessage);
    const output: unknown = await tool.execute(input, { ...context, signal, suspend });
    if (!isAsyncIterable(output)) return output;
    return drain(output, {
      hasAsked: () => question.isAsked || context.signal.aborted || hasAsked?.() === true,
      signal,
      onPart,
    });
  };
}
