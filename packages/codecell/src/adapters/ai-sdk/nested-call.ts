/**
 * Runs on the host. InvocationCall: one call of a program, from when the host hears of the call until hooks were told
 * of its end.
 */
import type { Json } from "../../contract/value.ts";
import { copyJson, isLargeJson } from "../../value/print-json.ts";
import { toJsonText } from "../../value/json-text.ts";
import type { CallState } from "../../contract/events.ts";
import { callIndexOf, toolCallIdOf } from "./continuation.ts";
import type { CodeModeInterruptExecutionContext } from "./interrupt.ts";

export class InvocationCall {
  readonly callId: string;
  readonly index: number;
  readonly toolName: string;
  readonly toolCallId: string;
  /** The input as the program gave it. */
  input: unknown;
  /** The state that the events of the run report. */
  state: CallState = "running";
  /** The input of a call that waited, once it was compared with the input that was shown meanwhile. */
  compared: unknown;
  interrupt: CodeModeInterruptExecutionContext | undefined;
  output: unknown;
  /** What was thrown on the host, until the call's end was told. */
  error: unknown;

  constructor(callId: string, toolName: string, input: unknown, outerToolCallId: string) {
    this.callId = callId;
    this.index = callIndexOf(callId);
    this.toolName = toolName;
    this.toolCallId = toolCallIdOf(outerToolCallId, this.index);
    this.input = input;
  }

  /** Called when the call's end was told: a program may make many calls, and their values are not kept. */
  forget(): void {
    this.input = undefined;
    this.compared = undefined;
    this.output = undefined;
    this.error = undefined;
  }
}

/**
 * A value as it survives being stored; null for a value that JSON cannot carry. Works at once: a large value that is
 * JSON is not copied, because copying takes several times as long as checking.
 */
export function toJson(value: unknown): Json {
  if (isLargeJson(value)) return value;
  const text = toJsonText(value);
  return text === undefined ? null : (JSON.parse(text) as Json);
}

/** An input as shown to whoever decides on the call. Spells out values that JSON would lose or could not print. */
export async function toShown(input: unknown): Promise<Json> {
  return (await copyJson(input, { spell: spelt })) ?? null;
}

function spelt(part: unknown): unknown {
  if (typeof part === "bigint") return String(part);
  return part instanceof Set || part instanceof Map ? [...part] : part;
}
