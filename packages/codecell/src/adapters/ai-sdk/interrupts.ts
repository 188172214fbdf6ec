/**
 * Runs on the host. Interrupts: finds them in results of the AI SDK, continues them, and replaces them by their
 * outputs.
 *
 * - Functions that return no promise do only what can be done at once: see continuation.ts.
 */
import type { ModelMessage } from "ai";
import { atOnce, inTurns, type Steps } from "../../loop/turn.ts";
import type { Json } from "../../contract/value.ts";
import { isRecord } from "../../value/shape.ts";
import { looksLikeInterrupt, valueOf } from "./approval-flow/paused-program.ts";
import {
  type Extent,
  isCodeModeInterrupt,
  isLargeInterrupt,
  openInterrupt,
  type OpenedInterrupt,
  problemOf,
} from "./continuation.ts";
import { assertNames, type OptionNames } from "../../contract/assert-names.ts";
import { CodeModeProtocolError } from "./errors.ts";
import type {
  CodeModeInterrupt,
  CodeModeInterruptPayload,
  CodeModeToolExecutionOptions,
} from "./interrupt.ts";
import { Invocation } from "./invocation.ts";
import { asToolOutput } from "./model-output.ts";
import { toJson } from "./nested-call.ts";
import type { CodeModeOptions, CodeModeToolSet } from "./options.ts";
import { toContinuedSetup } from "./run-code-mode.ts";

export interface ContinueCommon {
  tools: CodeModeToolSet;
  options?: CodeModeOptions;
  toolExecutionOptions?: Partial<CodeModeToolExecutionOptions>;
}

export const CONTINUE = "continue code mode";
export const OF_CONTINUED: OptionNames<ContinueCommon & { interrupt: unknown }> = {
  tools: true,
  options: true,
  toolExecutionOptions: true,
  interrupt: true,
};

/** Continues the call that the interrupt describes. Other waiting calls go on waiting. */
// The contract's type parameters: callers may give them.
// oxlint-disable typescript/no-unnecessary-type-parameters
export async function continueCodeModeInterrupt<
  TPayload extends CodeModeInterruptPayload = CodeModeInterruptPayload,
  TResolution = unknown,
>(
  input: ContinueCommon & { interrupt: CodeModeInterrupt<TPayload>; resolution: TResolution },
): Promise<unknown> {
  assertNames(input, { ...OF_CONTINUED, resolution: true }, CONTINUE);
  const { resolution, ...rest } = input;
  const opened = await openInterrupt(input.interrupt);
  return goOn(opened, new Map([[opened.interrupt.interruptId, resolution]]), rest);
}

// oxlint-enable typescript/no-unnecessary-type-parameters

/** Continues any of the waiting calls, by their interrupt ids. The others go on waiting. */
export async function continueCodeModeInterrupts(
  input: ContinueCommon & {
    interrupt: CodeModeInterrupt;
    resolutions: Readonly<Record<string, unknown>>;
  },
): Promise<unknown> {
  assertNames(input, { ...OF_CONTINUED, resolutions: true }, CONTINUE);
  const { interrupt, resolutions, ...rest } = input;
  if (!isRecord(resolutions)) {
    throw new CodeModeProtocolError("Cannot continue: resolutions must be an object, by interrupt ids");
  }
  return goOn(await openInterrupt(interrupt), new Map(Object.entries(resolutions)), rest);
}

export async function goOn(
  { interrupt, opened }: OpenedInterrupt,
  resolutions: ReadonlyMap<string, unknown>,
  { tools, options = {}, toolExecutionOptions: execution = {} }: ContinueCommon,
): Promise<unknown> {
  const given = { tools, options, execution };
  return new Invocation(await toContinuedSetup(interrupt.continuation, opened, resolutions, given)).run();
}

/**
 * Looks in the value itself, in the value of a tool's output, and in the results of generateText and similar functions.
 */
export function getCodeModeInterrupt(result: unknown): CodeModeInterrupt | undefined {
  return atOnce(interruptIn(result, "at once"));
}

/** Like getCodeModeInterrupt, but compares the whole interrupt with its seal. */
export async function findInterrupt(result: unknown): Promise<CodeModeInterrupt | undefined> {
  return inTurns(interruptIn(result, "all"));
}

function* interruptIn(result: unknown, extent: Extent): Steps<CodeModeInterrupt | undefined> {
  for (const output of outputsIn(result)) {
    const value = valueOf(output);
    const isOne = looksLikeInterrupt(value) && (yield* problemOf(value, extent)) === undefined;
    if (isOne) return value as unknown as CodeModeInterrupt;
  }
  return undefined;
}

function outputsIn(result: unknown): unknown[] {
  const { toolResults, content }: Record<string, unknown> = isRecord(result) ? result : {};
  const parts = [
    ...(Array.isArray(toolResults) ? (toolResults as unknown[]) : []),
    ...(Array.isArray(content)
      ? (content as unknown[]).filter((part) => isRecord(part) && part["type"] === "tool-result")
      : []),
  ];
  return [result, ...parts.map((part) => (isRecord(part) ? part["output"] : undefined))];
}

function readInterrupt(output: unknown): CodeModeInterrupt | undefined {
  const value = valueOf(output);
  return isCodeModeInterrupt(value) ? value : undefined;
}

/** The call that continued the program and ended with this interrupt, if it is not the outer call. */
function resumptionHolding(messages: readonly ModelMessage[], interrupt: CodeModeInterrupt): unknown {
  for (const { content } of messages) {
    for (const part of Array.isArray(content) ? (content as unknown[]) : []) {
      if (!isRecord(part) || part["toolCallId"] === interrupt.outerToolCallId) continue;
      // Most outputs hold another token: the seal is only opened where the token matches.
      if (tokenIn(part["output"]) !== interrupt.continuation.token) continue;
      if (readInterrupt(part["output"]) !== undefined) return part["toolCallId"];
    }
  }
  return undefined;
}

/** The token that the output claims to hold, true or not. */
function tokenIn(output: unknown): unknown {
  const value = valueOf(output);
  const continuation = looksLikeInterrupt(value) ? value["continuation"] : undefined;
  return isRecord(continuation) ? continuation["token"] : undefined;
}

export type CodeModeUnwrappedResult =
  | { status: "completed"; output: unknown }
  | { status: "interrupted"; interrupt: CodeModeInterrupt };

export function unwrapCodeModeResult(result: unknown): CodeModeUnwrappedResult {
  const interrupt = getCodeModeInterrupt(result);
  return interrupt === undefined
    ? { status: "completed", output: result }
    : { status: "interrupted", interrupt };
}

/**
 * The messages, with the result of the outer call replaced, or the result of the call that continued its program.
 * Throws unless exactly one result holds the interrupt. A large output is shared with the messages if it is JSON, and
 * copied otherwise.
 */
export function replaceCodeModeInterruptResult(
  messages: ModelMessage[],
  interrupt: CodeModeInterrupt,
  finalOutput: unknown,
): ModelMessage[] {
  const { outerToolCallId, interruptId } = interrupt;
  const details = { outerToolCallId, interruptId };
  let replaced = 0;
  const resumeId = resumptionHolding(messages, interrupt);
  const replace = (part: unknown): unknown => {
    const isHolder = isRecord(part) && part["toolCallId"] === (resumeId ?? outerToolCallId);
    if (!isHolder || part["type"] !== "tool-result") return part;
    const held = readInterrupt(part["output"]);
    if (held === undefined || !held.continuation.pending.some((one) => one.interruptId === interruptId)) {
      throw new CodeModeProtocolError(
        `Cannot replace the result of "${outerToolCallId}": it does not hold the interrupt "${interruptId}"`,
        details,
      );
    }
    replaced++;
    return { ...part, output: asToolOutput(finalOutput, storable(finalOutput)) };
  };
  const next = messages.map((message) =>
    Array.isArray(message.content)
      ? ({ ...message, content: (message.content as unknown[]).map(replace) } as ModelMessage)
      : message,
  );
  if (replaced !== 1) {
    throw new CodeModeProtocolError(
      replaced === 0
        ? `Cannot replace the result of "${outerToolCallId}": the messages have no such result`
        : `Cannot replace the result of "${outerToolCallId}": the messages have ${replaced} such results`,
      details,
    );
  }
  return next;
}

/** The output may be the program's next interrupt, which holds all waiting inputs. Its seal proves that it is JSON. */
function storable(output: unknown): Json {
  if (typeof output === "string") return output;
  return isLargeInterrupt(output) ? (output as Json) : toJson(output);
}
