/**
 * Runs on the host. Invocation: one program, from its start or its interrupt until the host gets a result.
 *
 * - It settles once: with a value, an interrupt, or an error of code mode.
 * - Hooks hear of everything in the order in which it happened, and before the host gets the result.
 */
import type { ToolSet } from "ai";
import { callStateAfter, type LiveEvent } from "../../contract/events.ts";
import type { CallFailure } from "../../contract/failure.ts";
import { withCause } from "../../contract/host-error.ts";
import type { Limits } from "../../contract/limits.ts";
import type { LogLine, RunResult } from "../../contract/result.ts";
import type { Resolutions } from "../../contract/result.ts";
import type { Host, RunHandle } from "../../run/host/host.ts";
import { utf8Bytes } from "../../value/json-text.ts";
import { assertToolApproval } from "./approval-status.ts";
import { callIndexOf, digestOf, toInterrupt } from "./continuation.ts";
import { CodeModeProtocolError } from "./errors.ts";
import { Hooks } from "./events.ts";
import type { CodeModeInterrupt, CodeModeToolExecutionOptions } from "./interrupt.ts";
import { continuationTimeMs, takePlace, type UsedHost, useHost } from "./hosts.ts";
import { InvocationCall } from "./nested-call.ts";
import { type CallKeeper, createMiddleware, toRunTools } from "./nested-tools.ts";
import {
  assertHostChoice,
  assertOptionNames,
  checkTools,
  type CodeModeOptions,
  limitsFor,
} from "./options.ts";
import { Spans } from "./telemetry.ts";
import { inWordsOfCodeMode, toError, toFetchError } from "./to-error.ts";
import { TraceRecorder } from "./trace-recorder.ts";
import { within } from "../../loop/wait.ts";
import type { MapCallFailure } from "../../calls/call-failure.ts";
import { KeptCauses } from "../../calls/kept-causes.ts";

/** What an interrupted invocation needs to go on. */
export interface Continued {
  /** Digest of the program. Only the token holds the program itself. */
  readonly source: string;
  readonly token: string;
  readonly resolutions: Resolutions;
  /** Tools whose waiting calls were all denied. */
  readonly denied: ReadonlySet<string>;
  /** Resolutions as the host gave them, by call id. */
  readonly given: ReadonlyMap<string, unknown>;
}

export interface InvocationSetup {
  /** Empty if only the token holds the program. */
  readonly js: string;
  readonly tools: ToolSet;
  readonly options: CodeModeOptions;
  readonly execution: Partial<CodeModeToolExecutionOptions>;
  readonly outerToolCallId: string;
  readonly continued?: Continued | undefined;
  /** Called when a call has changed. */
  readonly onProgress?: (() => void) | undefined;
}

export class Invocation implements CallKeeper {
  readonly id: string;
  readonly tools: ToolSet;
  readonly approval: NonNullable<CodeModeOptions["approval"]>;
  readonly execution: Partial<CodeModeToolExecutionOptions>;
  readonly resolutions: ReadonlyMap<string, unknown>;
  readonly calls: Map<string, InvocationCall> = new Map();
  readonly #setup: InvocationSetup;
  readonly #hooks: Hooks;
  readonly #trace: TraceRecorder;
  /**
   * By call id: errors of fetches, and of calls whose end was told. Only the host sees them. Any of them may turn out to
   * be why the program failed, most likely one of the last.
   */
  readonly #errors = new KeptCauses<string>();
  /** The lengths of the inputs of calls whose end was not told yet. */
  readonly #inputLengths = new Map<string, number>();
  readonly #executing = new Set<Promise<unknown>>();
  logs: readonly LogLine[] = [];
  logsDropped = 0;
  /** Whether the invocation ended with an interrupt. A program may return a value that looks like an interrupt. */
  isInterrupted = false;

  constructor(setup: InvocationSetup) {
    const { tools, options, execution, outerToolCallId, continued } = setup;
    checkTools(tools);
    assertOptionNames(options);
    assertToolApproval(options.approval?.toolApproval);
    assertHostChoice(options);
    this.#setup = setup;
    this.tools = tools;
    this.approval = options.approval ?? {};
    this.execution = execution;
    this.resolutions = continued?.given ?? new Map();
    this.id = `code-mode-${++count}`;
    this.#hooks = new Hooks(options.lifecycle);
    this.#trace = new TraceRecorder(this.id, outerToolCallId, this.#hooks, {
      outputOf: (callId) => this.calls.get(callId)?.output,
      forget: (callId) => this.#forget(callId),
      errorOf: (callId) => this.#errorOf(callId),
    });
  }

  /** Gives the program's value, or an interrupt. */
  async run(): Promise<unknown> {
    const { options } = this.#setup;
    const limits = limitsFor(options);
    const leave = takePlace();
    let used: UsedHost | undefined;
    try {
      used = useHost(options);
      this.#trace.spans = await this.#openSpans();
      const suspensionTimeMs = continuationTimeMs();
      const handle = this.#begin(
        used.host,
        suspensionTimeMs === undefined ? limits : { ...limits, suspensionTimeMs },
      );
      const followed = this.#trace.isWanted
        ? this.#trace.follow(handle, this.#setup.continued !== undefined)
        : undefined;
      // A failure is reported below, where this promise is awaited.
      followed?.catch(() => {});
      const result = await handle.result.catch((cause: unknown) => {
        throw toMisfit(cause);
      });
      await followed;
      this.logs = result.logs;
      this.logsDropped = result.logsDropped;
      return await this.#conclude(result, handle);
    } finally {
      this.#trace.spans?.end({ "code_mode.status": "failed" }, undefined);
      used?.release();
      // The place stays taken while tools still execute, but only for a while: tools may ignore being aborted.
      if (this.#executing.size === 0) leave();
      else void within(STOP_GRACE_MS, Promise.allSettled(this.#executing)).then(leave);
    }
  }

  async #openSpans(): Promise<Spans | undefined> {
    const { options, outerToolCallId, continued, js } = this.#setup;
    // Without telemetry the start must not wait a turn.
    if (options.telemetry?.isEnabled !== true) return undefined;
    const ids = { invocationId: this.id, outerToolCallId };
    return Spans.open(options.telemetry, ids, {
      sourceBytes: utf8Bytes(js),
      "code_mode.continuation": continued !== undefined,
      "code_mode.fetch.enabled": typeof options.fetchPolicy === "object",
    });
  }

  #begin(host: Host, limits: Partial<Limits>): RunHandle {
    const { js, tools, options, execution, continued } = this.#setup;
    const { scope } = options.continuation ?? {};
    const { fetchPolicy, onError } = options;
    const common = {
      // A denied call no longer needs its tool, which may be missing now.
      tools: toRunTools([...Object.keys(tools), ...(continued?.denied ?? [])], this),
      middleware: [createMiddleware(this)],
      onEvent: (event: LiveEvent) => this.#hear(event),
      // Clients see the token and pass it on.
      encrypt: true,
      compactTokens: true,
      mapCallFailure: (...given: Parameters<MapCallFailure>) => this.#mapCallFailure(...given),
      ...(execution.abortSignal === undefined ? {} : { signal: execution.abortSignal }),
      ...(scope === undefined ? {} : { scope }),
      ...(typeof fetchPolicy === "object" ? { fetchPolicy } : {}),
      ...(onError === undefined ? {} : { onError }),
    };
    if (continued === undefined) return host.start({ ...common, source: js, limits, detachedCalls: "fail" });
    const { token, resolutions } = continued;
    try {
      return host.resume({ ...common, token, resolutions });
    } catch (cause) {
      throw toMisfit(cause);
    }
  }

  #mapCallFailure(
    failure: CallFailure,
    { callId, thrown }: Parameters<MapCallFailure>[1],
  ): Omit<CallFailure, "code"> {
    const call = this.calls.get(callId);
    if (failure.code === "fetch_failed") this.#keepError(callId, toFetchError(failure, thrown));
    return inWordsOfCodeMode(failure, call?.error);
  }

  #errorOf(callId: string): unknown {
    return this.calls.get(callId)?.error ?? this.#errors.get(callId);
  }

  #keepError(callId: string, error: unknown): void {
    this.#errors.add(callId, error, this.#inputLengths.get(callId) ?? 0);
  }

  /** Called when the call's end was told. */
  #forget(callId: string): void {
    const call = this.calls.get(callId);
    if (call?.error !== undefined) this.#keepError(callId, call.error);
    call?.forget();
    this.#inputLengths.delete(callId);
  }

  async #conclude(result: RunResult, handle: RunHandle): Promise<unknown> {
    const { js, outerToolCallId, continued } = this.#setup;
    switch (result.status) {
      case "completed":
        await this.#trace.end("completed", result);
        return result.value;
      case "suspended": {
        const source = continued?.source ?? digestOf(js);
        const interrupt: CodeModeInterrupt = await toInterrupt({ ...result, outerToolCallId, source });
        this.isInterrupted = true;
        await this.#trace.interrupted(interrupt, result);
        return interrupt;
      }
      case "failed": {
        const error = toError(result.failure, {
          js,
          limits: handle.ledger().limits,
          errorOf: (callId) => this.#errorOf(callId),
        });
        if (error.cause === undefined) withCause(error, result.cause);
        await this.#trace.end("failed", result, error);
        throw error;
      }
      default:
        return result satisfies never;
    }
  }

  begin(callId: string, toolName: string, input: unknown): InvocationCall | Promise<InvocationCall> {
    const call = new InvocationCall(callId, toolName, input, this.#setup.outerToolCallId);
    this.calls.set(callId, call);
    this.#setup.onProgress?.();
    return this.#trace.isWanted ? this.#trace.started(call).then(() => call) : call;
  }

  callOf(callId: string): InvocationCall | undefined {
    return this.calls.get(callId);
  }

  async track<T>(call: InvocationCall, execute: () => Promise<T>): Promise<T> {
    const { spans } = this.#trace;
    const execution = spans === undefined ? execute() : spans.inside(call.index, execute);
    this.#executing.add(execution);
    try {
      return await execution;
    } finally {
      this.#executing.delete(execution);
    }
  }

  complete(call: InvocationCall, output: unknown): void {
    if (this.#trace.isWanted) call.output = output;
  }

  get ending(): CallKeeper["ending"] {
    if (!this.#trace.isWanted) return undefined;
    return (callId, outcome) => {
      const inputLength = this.#inputLengths.get(callId) ?? 0;
      const outputLength = outcome.kind === "output" ? outcome.output.length : 0;
      return this.#trace.ending(callIndexOf(callId), inputLength + outputLength);
    };
  }

  /** Only calls that were decided on are in `calls`. */
  #hear(event: LiveEvent): void {
    if (this.#trace.isWanted) this.#trace.hear(event);
    if (event.type === "call-start") this.#inputLengths.set(event.callId, event.inputText.length);
    if (event.type === "call-end" && !this.#trace.isWanted) this.#forget(event.callId);
    const state = callStateAfter(event);
    if (state === undefined || !("callId" in event)) return;
    const call = this.calls.get(event.callId);
    if (call === undefined || call.state === state) return;
    call.state = state;
    // The interrupt itself tells of a waiting call, so `onProgress` is not called for it.
    if (state !== "waiting") this.#setup.onProgress?.();
  }
}

/** A host or options that do not fit the run cannot continue it. */
function toMisfit(cause: unknown): CodeModeProtocolError {
  const why = cause instanceof Error ? cause.message : String(cause);
  const hint = "continue with the options it was interrupted with, host and continuation.store among them";
  return withCause(new CodeModeProtocolError(`${why}; ${hint}`, { failure: "store_failed" }), cause);
}

const STOP_GRACE_MS = 5000;

let count = 0;
