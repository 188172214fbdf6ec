/**
 * Runs on the host. StandIn: a nested tool as the AI SDK sees it. With it the AI SDK asks for, checks and shows the
 * approval of a program's call.
 *
 * - A stand-in does not execute an approved call of a program: it gives the program a receipt, and the program makes
 *   the call.
 * - A call that no program waits for is executed only if the model may call the tool by itself.
 * - An approval that was needed inside a program is also needed here. A second opinion counts only if it is a no.
 */
import { jsonSchema, type ModelMessage } from "ai";
import { indexOfToolCall } from "../continuation.ts";
import { CodeModeToolError } from "../errors.ts";
import { drain, isAsyncIterable } from "../../../calls/drain.ts";
import { markedAs, type SdkTool } from "./flow.ts";
import type { Readings } from "./readings.ts";
import { isReceipt, issueReceipt, type WaitingCall } from "./receipt.ts";

interface CallOptions {
  readonly toolCallId: string;
  readonly messages: ModelMessage[];
}

type Execute = (input: unknown, options: CallOptions) => unknown;
type ToModelOutput = (given: { readonly output: unknown }) => unknown;

export interface Nested {
  readonly name: string;
  readonly tool: SdkTool;
  /** Whether the model may call the tool by itself. */
  readonly isDirect: boolean;
  /** Code mode tools whose programs call this tool. */
  readonly callers: readonly string[];
}

export function toStandIn(nested: Nested, readings: Readings): SdkTool {
  const { name, tool, isDirect, callers } = nested;
  const { execute, needsApproval, toModelOutput } = tool as unknown as {
    execute?: Execute;
    needsApproval?: unknown;
    toModelOutput?: ToModelOutput;
  };
  const waitingFor = async ({ messages, toolCallId }: CallOptions): Promise<WaitingCall | undefined> =>
    (await readings.of(messages)).approval(toolCallId);
  const executeDirectly = (input: unknown, options: CallOptions): unknown => {
    if (isDirect) return execute?.(input, options);
    throw new CodeModeToolError(
      `Cannot call "${name}" directly: only programs have it, call it from a program of ${callers.join(" or ")}`,
      { toolName: name },
    );
  };
  const executeApproved = async (input: unknown, options: CallOptions): Promise<unknown> => {
    const waiting = await waitingFor(options);
    if (waiting !== undefined) return issueReceipt(waiting, name, input);
    const output = executeDirectly(input, options);
    return isAsyncIterable(output) ? drain(output, { hasAsked: () => false }) : output;
  };
  const own = {
    // Not async: a tool may answer with an iterable. Providers give no ids that look like ids of a program's calls.
    execute: (input: unknown, options: CallOptions): unknown =>
      indexOfToolCall(options.toolCallId) < 0
        ? executeDirectly(input, options)
        : executeApproved(input, options),
    needsApproval: async (input: unknown, options: CallOptions): Promise<boolean> => {
      if ((await waitingFor(options)) !== undefined) return true;
      // Nobody is asked about a call that will be refused.
      if (!isDirect) return false;
      const asked =
        typeof needsApproval === "function" ? (needsApproval as Execute)(input, options) : needsApproval;
      return Boolean(await asked);
    },
    ...(toModelOutput === undefined
      ? {}
      : {
          toModelOutput: (given: { readonly output: unknown }) =>
            isReceipt(given.output) ? { type: "json", value: given.output } : toModelOutput(given),
        }),
  };
  return markedAs({ ...(isDirect ? directly(tool) : only(tool)), ...own }, tool);
}

/** The whole tool without its `outputSchema`: a receipt would not fit that schema. */
function directly(tool: SdkTool): object {
  const { outputSchema: _, ...rest } = tool;
  return rest;
}

/**
 * The fields that a user interface shows. The program's input was validated already, and a second validation must not
 * change it.
 */
function only(tool: SdkTool): object {
  const { type, title, metadata } = tool as { type?: unknown; title?: unknown; metadata?: unknown };
  return {
    inputSchema: jsonSchema({}),
    ...(type === "dynamic" ? { type } : {}),
    ...(title === undefined ? {} : { title }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}
