/**
 * StandIn: a nested tool as the AI SDK sees it, so that it asks for, checks and shows the approval of a program's call.
 *
 * - An approved call of a program is not executed here: the program gets a receipt, and makes its call.
 * - Without a program that waits for it, a call is executed only where the model may call the tool by itself.
 * - What was asked for inside a program is asked for here, whatever is said the second time, unless that is a no.
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
  /** Whether the model may call it by itself. */
  readonly isDirect: boolean;
  /** Code mode tools that programs call it from. */
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
    // Not async: a tool may answer with an iterable. Providers give no ids like those of a program's calls.
    execute: (input: unknown, options: CallOptions): unknown =>
      indexOfToolCall(options.toolCallId) < 0
        ? executeDirectly(input, options)
        : executeApproved(input, options),
    needsApproval: async (input: unknown, options: CallOptions): Promise<boolean> => {
      if ((await waitingFor(options)) !== undefined) return true;
      // Nobody is asked for a call that is going to be refused.
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

/** All of it but for what its outputs have to be: receipts are none. */
function directly(tool: SdkTool): object {
  const { outputSchema: _, ...rest } = tool;
  return rest;
}

/** What a user interface shows. A program's input was checked already, and is not to be changed by another check. */
function only(tool: SdkTool): object {
  const { type, title, metadata } = tool as { type?: unknown; title?: unknown; metadata?: unknown };
  return {
    inputSchema: jsonSchema({}),
    ...(type === "dynamic" ? { type } : {}),
    ...(title === undefined ? {} : { title }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}
