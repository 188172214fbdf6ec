/**
 * Runs on the host. Converts what a program printed to output items for a model.
 *
 * - An item knows its size, and is printed for it once at most.
 * - A large JSON text is built in turns. It counts as it came until the item is about to be shown whole.
 */
import type { LogLine } from "../../contract/result.ts";
import type { Json } from "../../contract/value.ts";
import type { Steps } from "../../loop/turn.ts";
import type { LargeJson, RecordNames } from "../../value/json-text.ts";
import { buildSteps, isLargeText } from "../../value/parse-json.ts";
import { printWhole } from "../../value/print-json.ts";
import type { CodeModeOutput } from "../shown/code-mode-result.ts";

/** Bytes of an item beside its text or value. */
export const TEXT_ITEM_BYTES: number = jsonBytes({ type: "text", text: "" }) - 2;
export const JSON_ITEM_BYTES: number = jsonBytes({ type: "json", value: 0 }) - 1;

export class OutputItem {
  readonly output: CodeModeOutput;
  /** What the value was read from, if it is large. */
  readonly large: LargeJson | undefined;
  #bytes: number | undefined;
  #isPrinted: boolean;

  constructor(output: CodeModeOutput, large?: LargeJson) {
    this.output = output;
    this.large = large;
    this.#isPrinted = large === undefined;
  }

  /** Bytes of the item as JSON text. */
  get bytes(): number {
    this.#bytes ??=
      this.large === undefined
        ? jsonBytes(this.output)
        : JSON_ITEM_BYTES + Buffer.byteLength(this.large.json);
    return this.#bytes;
  }

  /** The item's text or value as JSON text. */
  get json(): string {
    if (this.large !== undefined) return this.large.json;
    return JSON.stringify(this.output.type === "text" ? this.output.text : this.output.value);
  }

  /** Counts the item as a model would read it: a worker that was taken over may print JSON in another way. */
  *print(): Steps<void> {
    if (this.#isPrinted) return;
    this.#isPrinted = true;
    this.#bytes = Buffer.byteLength((yield* printWhole(this.output)) ?? "");
  }
}

export function textItem(text: string): OutputItem {
  return new OutputItem({ type: "text", text });
}

export function* toItems(lines: readonly LogLine[]): Steps<OutputItem[]> {
  const items: OutputItem[] = [];
  for (const { level, text } of lines) {
    if (level === "json") yield;
    items.push(level === "json" ? yield* toJsonItem(text) : textItem(text));
  }
  return items;
}

function* toJsonItem(json: string): Steps<OutputItem> {
  const names: RecordNames = new Map();
  try {
    const value: Json = yield* buildSteps(json, undefined, names);
    return new OutputItem({ type: "json", value }, isLargeText(json) ? { json, names } : undefined);
  } catch {
    // A worker that was taken over can send anything.
    return textItem(json);
  }
}

function jsonBytes(output: CodeModeOutput): number {
  return Buffer.byteLength(JSON.stringify(output));
}
