/** InvocationCall: one call of a program, from when the host hears of it until its end is told. */
import type { Json } from "../../contract/value.ts";
import { copyJson, isLargeJson } from "../../value/print-json.ts";
import { toJsonText, utf8Bytes } from "../../value/json-text.ts";
import type { CallState } from "../../contract/events.ts";
import { callIndexOf, toolCallIdOf } from "./continuation.ts";
import type { CodeModeInterruptExecutionContext } from "./interrupt.ts";

export class InvocationCall {
  readonly callId: string;
  readonly index: number;
  readonly toolName: string;
  readonly toolCallId: string;
  /** As the program gave it. */
  input: unknown;
  readonly startedAtMs: number = Date.now();
  /** As the events of its run say. */
  state: CallState = "running";
  /** As its tool gets it; set once it may be executed. */
  validated: unknown;
  interrupt: CodeModeInterruptExecutionContext | undefined;
  output: unknown;
  /** What was thrown on the host. */
  error: unknown;
  #inputBytes: number | undefined;

  constructor(callId: string, toolName: string, input: unknown, outerToolCallId: string) {
    this.callId = callId;
    this.index = callIndexOf(callId);
    this.toolName = toolName;
    this.toolCallId = toolCallIdOf(outerToolCallId, this.index);
    this.input = input;
  }

  /** Its end was told: of a program of many calls no values are kept. */
  forget(): void {
    this.input = undefined;
    this.validated = undefined;
    this.output = undefined;
  }

  /** Counted when somebody asks. */
  get inputBytes(): number {
    return (this.#inputBytes ??= utf8Bytes(toJsonText(this.input) ?? ""));
  }
}

/**
 * A value as it survives being stored; null for what JSON cannot carry. At once: a large one that is JSON is not copied, which
 * would take several times as long as to see that it is.
 */
export function toJson(value: unknown): Json {
  if (isLargeJson(value)) return value;
  const text = toJsonText(value);
  return text === undefined ? null : (JSON.parse(text) as Json);
}

/** An input as whoever decides on its call sees it: what JSON alone would lose, or could not print, is spelt out. */
export async function toShown(input: unknown): Promise<Json> {
  return (await copyJson(input, { spell: spelt })) ?? null;
}

function spelt(part: unknown): unknown {
  if (typeof part === "bigint") return String(part);
  return part instanceof Set || part instanceof Map ? [...part] : part;
}
