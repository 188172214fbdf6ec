/**
 * Runs on the host. TraceRecorder tells hooks how an invocation's calls go, as it happens, and keeps the trace.
 *
 * - It derives everything from the events of the run, so it misses nothing that a program did: calls of tools that do
 *   not exist are recorded too. Times are those of the events: a slow hook does not make a call look slow.
 * - Two things are not events. A tool is not called before the hook that hears of its call has settled (`started`).
 *   Hooks get outputs and errors as tools gave and threw them (`CallEnds`).
 * - Inputs, outputs and errors of calls are kept until hooks have been told of the ends. Hooks may be slow: while the
 *   ends that wait to be told have too much of them (`MOST_UNTOLD`), no further call ends, so the run makes no more
 *   calls than may execute at the same time.
 * - A continued invocation first tells what it had done before, marked as replayed. It reads this from the ledger.
 */
import {
  type CallStartEvent,
  type LiveEvent,
  type OutcomeSummary,
  type RunEvent,
  summarizeOutcome,
} from "../../contract/events.ts";
import type { CallFailure } from "../../contract/failure.ts";
import { behindCall, type FeatureSettings, NO_FEATURES } from "../../contract/features.ts";
import type { Ledger } from "../../contract/ledger.ts";
import type { RunResult } from "../../contract/result.ts";
import type { RunHandle } from "../../run/host/host.ts";
import { buildJson, parseJson } from "../../value/parse-json.ts";
import { isTurnLong, nextTurn } from "../../loop/turn.ts";
import { utf8Bytes } from "../../value/json-text.ts";
import { printJson } from "../../value/print-json.ts";
import { isRecord } from "../../value/shape.ts";
import { indexOfToolCall, toolCallIdOf } from "./continuation.ts";
import type {
  CodeModeFetchRequestEvent,
  CodeModeNestedToolCallEvent,
  CodeModeTrace,
  CodeModeTraceEntry,
  CodeModeTraceError,
  Hooks,
} from "./events.ts";
import type { CodeModeInterrupt, CodeModePendingInterrupt } from "./interrupt.ts";
import type { InvocationCall } from "./nested-call.ts";
import { type Spans, withoutQuery } from "./telemetry.ts";
import { toTraceError } from "./to-error.ts";

type End =
  | { readonly status: "fulfilled"; readonly outputBytes: number; readonly output: unknown }
  | { readonly status: "rejected"; readonly error: unknown };

/** Outputs and errors of calls, as tools gave and threw them on this host. */
export interface CallEnds {
  readonly outputOf: (callId: string) => unknown;
  readonly errorOf: (callId: string) => unknown;
  /** Called when hooks were told of the call's end. */
  readonly forget: (callId: string) => void;
}

/** Characters of stacks and details of errors that a trace keeps. */
const MOST_OF_ERRORS = 4 * 1024 * 1024;
/** What details count for: as values they take several times as much as their text. */
const MOST_OF_DETAILS = 16_384;

/** Characters of inputs and outputs, as texts, of calls that have ended and that hooks are yet to be told of. */
const MOST_UNTOLD = 262_144;
/** What a call counts for in addition: errors of clients may hold a whole response. */
const UNTOLD_CALL = 512;

type CallEndEvent = Extract<RunEvent, { readonly type: "call-end" }>;

/** When a call began, and when it ended or asked, and how large its input is, as the events of the run say. */
interface CallNotes {
  readonly startedAtMs: number;
  readonly completedAtMs: number;
  readonly inputBytes: number;
  /** What the call counts for once it has ended, until hooks were told. */
  readonly untoldLength?: number;
}

interface HeldUp {
  /** What the call will count for. */
  readonly untoldLength: number;
  readonly goOn: () => void;
}

interface Started {
  readonly index: number;
  readonly kind: CodeModeTraceEntry["kind"];
  readonly tool: string;
  readonly input: unknown;
  readonly inputBytes: number;
  readonly startedAtMs: number;
  readonly replayed: boolean;
}

export class TraceRecorder {
  readonly #invocationId: string;
  readonly #outerToolCallId: string;
  readonly #hooks: Hooks;
  readonly #ends: CallEnds;
  readonly #startedAtMs = Date.now();
  readonly #entries: CodeModeTraceEntry[] = [];
  /** Calls that have not ended, by index. */
  readonly #open = new Map<number, Started>();
  /** Inputs of calls that have not ended, and were not decided on when their start was read, by index. */
  readonly #asked = new Map<number, unknown>();
  /** Notes of calls whose end was not told yet, by index. */
  readonly #notes = new Map<number, CallNotes>();
  /** Characters of all calls that have ended and that hooks are yet to be told of. */
  #untoldLength = 0;
  /** Calls that wait to end until hooks were told of others, by index, in their order. */
  readonly #heldUp = new Map<number, HeldUp>();
  /** How many characters of stacks and details of errors may still be kept. */
  #errorRoom = MOST_OF_ERRORS;
  /** What the program has beside its tools; known when the run has begun. */
  #features: FeatureSettings = NO_FEATURES;
  /** Only in a continued invocation, once it goes on: settles when everything from before has been told. */
  #retold: Promise<void> | undefined;
  readonly #isHooked: boolean;
  /** Set when the invocation starts. */
  spans: Spans | undefined;

  constructor(invocationId: string, outerToolCallId: string, hooks: Hooks, ends: CallEnds) {
    this.#invocationId = invocationId;
    this.#outerToolCallId = outerToolCallId;
    this.#hooks = hooks;
    this.#isHooked = hooks.has(
      "onNestedToolCall",
      "onNestedToolResult",
      "onFetchRequest",
      "onFetchResult",
      "onConsole",
      "onInterrupt",
      "onTrace",
    );
    this.#ends = ends;
  }

  /** Whether anybody listens. If nobody does, the recorder follows nothing, and need not hear of events. */
  get isWanted(): boolean {
    return this.#isHooked || this.spans !== undefined;
  }

  /** Hears every event as it happens. `follow` tells hooks later, when earlier hooks have settled. */
  hear(event: LiveEvent): void {
    const { type, at } = event;
    if (type === "call-start") {
      // The input itself may be large, and would have to be printed to be measured.
      const inputBytes = utf8Bytes(event.inputText);
      this.#notes.set(event.index, { startedAtMs: at, completedAtMs: at, inputBytes });
    }
    if (type !== "call-end" && type !== "call-ask") return;
    const noted = this.#notes.get(event.index) ?? {
      startedAtMs: type === "call-end" ? at - event.durationMs : at,
      completedAtMs: at,
      inputBytes: 0,
    };
    // Waiting for slow hooks does not make the call slow.
    if (noted.untoldLength === undefined) this.#notes.set(event.index, { ...noted, completedAtMs: at });
  }

  /** Called when a call has ended, before anybody is told. Its values have so many characters as texts. */
  ending(index: number, length: number): Promise<void> {
    // The call ended now, however long it is held up.
    this.#notes.set(index, { ...this.#notesOf(index), completedAtMs: Date.now(), untoldLength: 0 });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#heldUp.set(index, { untoldLength: UNTOLD_CALL + length, goOn: resolve });
    this.#letGo();
    return promise;
  }

  /** Lets calls end, the first to come first, until hooks are behind. */
  #letGo(): void {
    for (const [index, { untoldLength, goOn }] of this.#heldUp) {
      if (this.#untoldLength > MOST_UNTOLD) return;
      this.#heldUp.delete(index);
      this.#untoldLength += untoldLength;
      this.#notes.set(index, { ...this.#notesOf(index), untoldLength });
      goOn();
    }
  }

  /** A call that this invocation did not make gets the present time. */
  #notesOf(index: number): CallNotes {
    const now = Date.now();
    return this.#notes.get(index) ?? { startedAtMs: now, completedAtMs: now, inputBytes: 0 };
  }

  /** Called before a call is decided on, if a trace is wanted. The tool is not called before this promise settles. */
  async started(call: InvocationCall): Promise<void> {
    if (this.#retold !== undefined) await this.#retold;
    const { index, toolName: tool, input } = call;
    const { startedAtMs, inputBytes } = this.#notesOf(index);
    await this.#start({ index, kind: "tool", tool, input, inputBytes, startedAtMs, replayed: false });
  }

  async follow(handle: RunHandle, isContinued: boolean): Promise<void> {
    try {
      for await (const event of handle.events) {
        if (event.type === "run-start") {
          const ledger = handle.ledger();
          this.#features = ledger.features;
          if (isContinued) await (this.#retold = this.#retell(ledger));
        }
        await this.#tell(event);
      }
    } finally {
      // Nobody tells of ends any more, so no call may wait for that any longer.
      this.#told(Infinity);
    }
  }

  /** Hooks were told of the end of a call that counted for so much. */
  #told(untoldLength: number): void {
    this.#untoldLength -= untoldLength;
    this.#letGo();
  }

  async #tell(event: RunEvent): Promise<void> {
    if (event.type === "call-start") await this.#startFetch(event);
    else if (event.type === "call-end") await this.#endCall(event);
    else if (event.type === "log") {
      const { level, text } = event;
      await this.#hooks.call("onConsole", { ...this.#common(), level, text });
    }
  }

  /** A tool may have the name under which fetches are recorded, in a run without fetch. */
  #kindOf(tool: string): Started["kind"] {
    return behindCall(this.#features, tool)?.feature === "fetch" ? "fetch" : "tool";
  }

  async #startFetch({ index, tool, input }: CallStartEvent): Promise<void> {
    const kind = this.#kindOf(tool);
    if (kind === "tool") {
      // Whoever comes late reads a copy of the input, and the call has the input already.
      if (!this.#open.has(index)) this.#asked.set(index, input);
      return;
    }
    const { startedAtMs, inputBytes } = this.#notesOf(index);
    await this.#start({ index, kind, tool, input, inputBytes, startedAtMs, replayed: false });
  }

  async #endCall({ index, tool, outcome, callId }: CallEndEvent): Promise<void> {
    const input = this.#asked.get(index);
    this.#asked.delete(index);
    // The run did not wait for us: it is about to be suspended, or has ended.
    this.#heldUp.delete(index);
    const { startedAtMs, completedAtMs, inputBytes, untoldLength = 0 } = this.#notesOf(index);
    this.#notes.delete(index);
    // A call of a tool that does not exist was never decided on, so it was not started.
    if (!this.#open.has(index)) {
      const kind = this.#kindOf(tool);
      await this.#start({ index, kind, tool, input, inputBytes, startedAtMs, replayed: false });
    }
    const end = toEnd(outcome, this.#ends.outputOf(callId), this.#ends.errorOf(callId));
    await this.#end(index, end, completedAtMs);
    this.#ends.forget(callId);
    this.#told(untoldLength);
  }

  /** Tells what happened before the invocation went on. */
  async #retell({ calls, deliveries, hollow }: Ledger): Promise<void> {
    for (const { clock, items } of deliveries) {
      for (const item of items) {
        if (item.kind === "timer") continue;
        const made = calls[item.call];
        if (made === undefined) continue;
        while (isTurnLong()) await nextTurn();
        const parsed = await parseJson(made.input, Number.MAX_SAFE_INTEGER);
        await this.#start({
          index: item.call,
          kind: this.#kindOf(made.tool),
          tool: made.tool,
          input: parsed.ok ? parsed.value : undefined,
          inputBytes: utf8Bytes(made.input),
          startedAtMs: clock,
          replayed: true,
        });
        // The ledger of a program that goes on from its memory no longer holds the outputs that the program was given.
        const text = item.kind === "output" && hollow !== true ? item.output : undefined;
        const output = text === undefined ? undefined : await buildJson(text);
        const outcome = summarizeOutcome(item, text === undefined ? 0 : utf8Bytes(text));
        await this.#end(item.call, toEnd(outcome, output), clock);
      }
    }
  }

  async #start(started: Started): Promise<void> {
    const { index, kind, inputBytes, replayed } = started;
    this.#open.set(index, started);
    this.spans?.start({ index, kind, inputBytes, replayed, attributes: this.#attributesOf(started) });
    if (kind === "fetch") await this.#hooks.call("onFetchRequest", this.#fetchEvent(started));
    else await this.#hooks.call("onNestedToolCall", this.#toolEvent(started));
  }

  /** `told` is the error of the end as traces keep it, if that is known: making it may take as long as a turn. */
  async #end(
    index: number,
    end: End,
    completedAtMs: number = Date.now(),
    told?: CodeModeTraceError,
  ): Promise<void> {
    const started = this.#open.get(index);
    if (started === undefined) return;
    while (isTurnLong()) await nextTurn();
    this.#open.delete(index);
    const times = { completedAtMs, durationMs: Math.max(0, completedAtMs - started.startedAtMs) };
    const { kind, startedAtMs, replayed, inputBytes } = started;
    const facts = { bridgeIndex: index + 1, replayed, startedAtMs, ...times, inputBytes };
    const ended =
      end.status === "fulfilled"
        ? { status: end.status, outputBytes: end.outputBytes }
        : { status: end.status, error: this.#toKept(told ?? toTraceError(end.error)) };
    this.spans?.endCall(index, kind, ended);
    if (kind === "fetch") {
      const event = this.#fetchEvent(started);
      this.#entries.push({ kind, url: event.url, method: event.method, ...facts, ...ended });
      await this.#hooks.call("onFetchResult", { ...event, ...times, ...end });
    } else {
      const event = this.#toolEvent(started);
      const { toolName, toolCallId } = event;
      this.#entries.push({ kind, toolName, toolCallId, ...facts, ...ended });
      await this.#hooks.call("onNestedToolResult", { ...event, ...times, ...end });
    }
  }

  /** Of the errors of very many calls, only the first ones are kept with stacks and details. */
  #toKept(error: CodeModeTraceError): CodeModeTraceError {
    const { stack, details, ...rest } = error;
    const length = (stack?.length ?? 0) + (details === undefined ? 0 : MOST_OF_DETAILS);
    if (length > this.#errorRoom) return rest;
    this.#errorRoom -= length;
    return error;
  }

  async interrupted(interrupt: CodeModeInterrupt, result: RunResult): Promise<void> {
    if (!this.isWanted) return;
    const { continuation, outerToolCallId, type } = interrupt;
    for (const pending of continuation.pending) {
      while (isTurnLong()) await nextTurn();
      const started = await this.#waiting(pending);
      this.#open.delete(started.index);
      const { completedAtMs } = this.#notesOf(started.index);
      const times = { completedAtMs, durationMs: Math.max(0, completedAtMs - started.startedAtMs) };
      const event = this.#toolEvent(started);
      const { toolName, toolCallId, bridgeIndex, replayed, startedAtMs, inputBytes } = event;
      const facts = { bridgeIndex, replayed, startedAtMs, ...times, inputBytes };
      const status = "interrupted" as const;
      this.spans?.endCall(started.index, "tool", { status });
      this.#entries.push({ kind: "tool", toolName, toolCallId, ...facts, status, interruptType: type });
      const own = { ...pending, type, outerToolCallId, continuation };
      await this.#hooks.call("onNestedToolResult", { ...event, ...times, status, interrupt: own });
    }
    await this.#hooks.call("onInterrupt", { ...this.#common(), interrupt });
    await this.end("interrupted", result);
  }

  /** A call that waited before the invocation went on, and still waits, was not made now. */
  async #waiting({ toolCallId, toolName: tool, input }: CodeModePendingInterrupt): Promise<Started> {
    const index = indexOfToolCall(toolCallId);
    const open = this.#open.get(index);
    if (open !== undefined) return open;
    const inputBytes = utf8Bytes((await printJson(input)) ?? "");
    const times = { startedAtMs: Date.now(), replayed: true };
    const started: Started = { index, kind: "tool", tool, input, inputBytes, ...times };
    await this.#start(started);
    return started;
  }

  async end(status: CodeModeTrace["status"], result: RunResult, error?: unknown): Promise<void> {
    if (!this.isWanted) return;
    const told = error === undefined ? undefined : toTraceError(error);
    // Calls that were stopped with the program get an end too.
    for (const index of this.#open.keys()) {
      await this.#end(index, { status: "rejected", error }, undefined, told);
    }
    const completedAtMs = Date.now();
    this.spans?.end(
      {
        "code_mode.status": status,
        "code_mode.duration_ms": completedAtMs - this.#startedAtMs,
        "code_mode.bridge_requests.count": this.#entries.length,
        "code_mode.bridge_requests.replayed_count": this.#entries.filter(({ replayed }) => replayed).length,
        ...(status === "interrupted" ? { "code_mode.interrupt.type": "code-mode-interrupt" } : {}),
      },
      told,
    );
    await this.#hooks.call("onTrace", {
      ...this.#common(),
      status,
      startedAtMs: this.#startedAtMs,
      completedAtMs,
      durationMs: completedAtMs - this.#startedAtMs,
      bridgeRequests: this.#entries,
      consoleLines: result.logs.length + result.logsDropped,
      ...(status === "interrupted" ? { interruptedBy: "code-mode-interrupt" } : {}),
      ...(told === undefined ? {} : { error: told }),
    });
  }

  #attributesOf(started: Started): Record<string, string> {
    if (started.kind === "tool") {
      const { toolName, toolCallId } = this.#toolEvent(started);
      return { "code_mode.tool.name": toolName, "code_mode.tool_call.id": toolCallId };
    }
    const { url, method } = this.#fetchEvent(started);
    return { "code_mode.fetch.url": withoutQuery(url), "code_mode.fetch.method": method };
  }

  #common(): { invocationId: string; outerToolCallId: string } {
    return { invocationId: this.#invocationId, outerToolCallId: this.#outerToolCallId };
  }

  #toolEvent({
    index,
    tool,
    input,
    inputBytes,
    replayed,
    startedAtMs,
  }: Started): CodeModeNestedToolCallEvent {
    return {
      ...this.#common(),
      bridgeIndex: index + 1,
      toolName: tool,
      input,
      inputBytes,
      toolCallId: toolCallIdOf(this.#outerToolCallId, index),
      replayed,
      startedAtMs,
    };
  }

  #fetchEvent({ index, input, inputBytes, replayed, startedAtMs }: Started): CodeModeFetchRequestEvent {
    const { url, method }: Record<string, unknown> = isRecord(input) ? input : {};
    return {
      ...this.#common(),
      bridgeIndex: index + 1,
      url: typeof url === "string" ? url : "",
      method: typeof method === "string" ? method.toUpperCase() : "GET",
      inputBytes,
      replayed,
      startedAtMs,
    };
  }
}

/** The end that an event describes, with the output or error that the event does not carry. */
function toEnd(outcome: OutcomeSummary, output: unknown, error?: unknown): End {
  return outcome.status === "completed"
    ? { status: "fulfilled", outputBytes: outcome.outputBytes, output }
    : { status: "rejected", error: error ?? toHostError(outcome.failure) };
}

/** For a failed call without an error on this host. */
function toHostError({ name, message, shownCode, code }: CallFailure): Error {
  return Object.assign(new Error(message), { name, code: shownCode ?? code });
}
