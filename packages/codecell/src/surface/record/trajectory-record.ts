/**
 * Runs on the host. A TrajectoryRecord is one exec or wait, or one nested call, as the trajectory keeps and exports it.
 *
 * - A record ends once. Its `bytes` are never less than the bytes of its export as JSON text, and bound the memory that
 *   its export takes.
 * - Values of calls are JSON of a bounded size. Texts of entries are exact or left out.
 * - Values of calls are kept as texts. Who exports a call builds its values, because that can take long.
 */
import type { Json } from "../../contract/value.ts";
import { KeptValue } from "../output/kept-value.ts";
import { shortenJson } from "../output/shorten-json.ts";
import { jsonTextBytes } from "../output/shorten-text.ts";

export type TrajectoryRecord = EntryRecord | CallRecord;

interface RecordCommon {
  /** Counts the records of this type, in the order they started. */
  readonly index: number;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly endedAt?: string;
  /** The host's `redact` changed the values. */
  readonly redacted?: true;
  /** The host's `redact` failed, so the values are left out. */
  readonly withheld?: true;
}

/** One exec or wait of the model. */
export interface EntryRecord extends RecordCommon {
  readonly type: "entry";
  readonly toolCallId: string;
  readonly name: "exec" | "wait";
  readonly status: "running" | "completed" | "waiting" | "failed";
  /** The arguments as text, and the result as the model was given it: byte for byte. */
  readonly input?: string;
  readonly result?: string;
  /** Bytes of the texts that had to make room. */
  readonly omittedBytes?: number;
}

/** One nested call. */
export interface CallRecord extends RecordCommon {
  readonly type: "call";
  /** The id of the exec that started the program, also when the call began or ended in a wait. */
  readonly parentToolCallId: string;
  readonly callId: string;
  /** The tool's id in the catalog. */
  readonly tool: string;
  /** A `waiting` call waits for a decision. */
  readonly status: "running" | "waiting" | "completed" | "failed" | "aborted";
  /** The whole input, or a cut value. */
  readonly input?: Json;
  readonly result?: Json;
  readonly error?: Json;
}

/** A call as it was at one moment, before its values are built. */
export interface UnbuiltCall {
  readonly facts: Omit<CallRecord, "input" | "result" | "error">;
  /** The values as JSON texts. */
  readonly texts: {
    readonly input: string;
    readonly result: string | undefined;
    readonly error: string | undefined;
  };
}

export interface CallStart {
  /** The id of the exec that started the program. */
  readonly parentToolCallId: string;
  readonly callId: string;
  /** The tool's id in the catalog. */
  readonly tool: string;
  readonly input: Json;
  /** Bytes of the input as JSON text, where they are known. */
  readonly inputBytes?: number | undefined;
}

export type CallEnd =
  | {
      readonly status: "completed";
      readonly result: Json;
      /** Bytes of the result as JSON text, where they are known. */
      readonly resultBytes?: number;
    }
  | { readonly status: "failed"; readonly error: Json }
  | { readonly status: "aborted" };

/** A value that had to make room is shortened to this. */
export const SHORT_BYTES = 256;
const ERROR_BYTES = 2048;
/** More than a record has beside its values and ids. */
const FIXED_BYTES = 320;

export class KeptEntry {
  readonly #head: Pick<EntryRecord, "toolCallId" | "name" | "index" | "startedAt">;
  #status: EntryRecord["status"] = "running";
  #endedAt: string | undefined;
  #input: string | undefined;
  #result: string | undefined;
  #omittedBytes = 0;

  constructor(head: Pick<EntryRecord, "toolCallId" | "name" | "index" | "startedAt">, input: string) {
    this.#head = head;
    this.#input = input;
  }

  get isOpen(): boolean {
    return this.#status === "running";
  }

  get bytes(): number {
    const texts = [this.#head.toolCallId, this.#input ?? "", this.#result ?? ""];
    return texts.reduce((bytes, text) => bytes + jsonTextBytes(text), FIXED_BYTES);
  }

  end(status: EntryRecord["status"], endedAt: string, result: string): void {
    this.#status = status;
    this.#endedAt = endedAt;
    this.#result = result;
  }

  omitTexts(): void {
    this.#omittedBytes += Buffer.byteLength(this.#input ?? "") + Buffer.byteLength(this.#result ?? "");
    this.#input = undefined;
    this.#result = undefined;
  }

  toRecord(): EntryRecord {
    return {
      type: "entry",
      ...this.#head,
      ...(this.#endedAt === undefined ? {} : { endedAt: this.#endedAt }),
      status: this.#status,
      ...(this.#input === undefined ? {} : { input: this.#input }),
      ...(this.#result === undefined ? {} : { result: this.#result }),
      ...(this.#omittedBytes === 0 ? {} : { omittedBytes: this.#omittedBytes }),
    };
  }
}

export class KeptCall {
  readonly #head: Pick<CallRecord, "parentToolCallId" | "callId" | "tool" | "index" | "startedAt">;
  #status: CallRecord["status"] = "running";
  #endedAt: string | undefined;
  #input: KeptValue;
  #result: KeptValue | undefined;
  #error: KeptValue | undefined;

  constructor(
    { parentToolCallId, callId, tool, input, inputBytes }: CallStart,
    started: Pick<CallRecord, "index" | "startedAt">,
    maxValueBytes: number,
  ) {
    this.#head = { parentToolCallId, callId, tool, ...started };
    this.#input = new KeptValue(input, maxValueBytes, inputBytes);
  }

  get callId(): string {
    return this.#head.callId;
  }

  get index(): number {
    return this.#head.index;
  }

  get isOpen(): boolean {
    return this.#status === "running" || this.#status === "waiting";
  }

  get bytes(): number {
    const { parentToolCallId, callId, tool } = this.#head;
    const ids = jsonTextBytes(parentToolCallId) + jsonTextBytes(callId) + jsonTextBytes(tool);
    return FIXED_BYTES + ids + this.#input.weight + (this.#result?.weight ?? 0) + (this.#error?.weight ?? 0);
  }

  hold(): void {
    this.#status = "waiting";
  }

  execute(): void {
    this.#status = "running";
  }

  rewrite(input: Json, maxValueBytes: number, inputBytes?: number): void {
    this.#input = new KeptValue(input, maxValueBytes, inputBytes);
  }

  end(end: CallEnd, endedAt: string, maxValueBytes: number): void {
    this.#status = end.status;
    this.#endedAt = endedAt;
    if (end.status === "completed") this.#result = new KeptValue(end.result, maxValueBytes, end.resultBytes);
    if (end.status === "failed") this.#error = new KeptValue(toShortError(end.error), Infinity);
  }

  shortenResult(): void {
    this.#result?.shorten(SHORT_BYTES);
  }

  shortenInput(): void {
    this.#input.shorten(SHORT_BYTES);
  }

  toUnbuilt(): UnbuiltCall {
    return {
      facts: {
        type: "call",
        ...this.#head,
        ...(this.#endedAt === undefined ? {} : { endedAt: this.#endedAt }),
        status: this.#status,
      },
      texts: { input: this.#input.text, result: this.#result?.text, error: this.#error?.text },
    };
  }
}

/** An error may become JSON only when it is printed. */
function toShortError(error: Json): Json {
  return shortenJson(JSON.parse(new KeptValue(error, Infinity).text) as Json, ERROR_BYTES);
}

/** The values of a call as one JSON text, as `JSON.stringify` would print them. */
export function valuesText({ input, result, error }: UnbuiltCall["texts"]): string {
  const resultPart = result === undefined ? "" : `,"result":${result}`;
  const errorPart = error === undefined ? "" : `,"error":${error}`;
  return `{"input":${input}${resultPart}${errorPart}}`;
}
