/**
 * Runs on the host. CallRunner executes the recorded calls of one run in the caller's context, and tells events of
 * them.
 *
 * - The caller's AsyncLocalStorage is intact in every tool, schema and policy.
 * - CallRunner takes calls up in the order they were made, also when they have to wait for a turn of the event loop.
 * - Waiting for the policy's decision does not use up the run's wall time.
 * - The host itself serves some features, for example fetches. Their calls have a policy of their own: middleware and
 *   `authorize` are for tools, and are not asked.
 */
import { CallRefusal, inWords, type MapCallFailure } from "./call-failure.ts";
import { type CallSetup, invoke } from "./invoke.ts";
import {
  type AdapterMiddleware,
  type Authorize,
  type CallMiddleware,
  ownMiddlewareOf,
  parseDecision,
} from "./middleware.ts";
import { type CallStep, type CallStepEvent, type RunEvent, summarizeOutcome } from "../contract/events.ts";
import type { HostError, HostErrorSource } from "../contract/host-error.ts";
import { behindCall, type FeatureSettings } from "../contract/features.ts";
import {
  type CallOutcome,
  type KeptResolution,
  type LedgerCall,
  type SettledOutcome,
  toCallId,
} from "../contract/ledger.ts";
import { toolOf } from "../contract/late-tools.ts";
import type { Limits } from "../contract/limits.ts";
import type { ToolSet } from "../contract/tool.ts";
import type { JudgeApart } from "../protocol/judges.ts";
import { isTurnLong, nextTurn } from "../loop/turn.ts";
import { platform } from "../platform/host-platform.ts";

type FailedOutcome = Extract<SettledOutcome, { kind: "failure" }>;

export interface CallRunnerSetup {
  readonly runId: string;
  readonly features: FeatureSettings;
  readonly tools: ToolSet;
  readonly limits: Limits;
  readonly context: unknown;
  readonly middleware: readonly AdapterMiddleware[];
  /** Decides after all middleware, so it sees what will be executed. */
  readonly authorize: Authorize | undefined;
  readonly mapCallFailure: MapCallFailure | undefined;
  /** The tools behind the features that the host itself serves. */
  readonly hostTools: ToolSet;
  readonly signal: AbortSignal;
  /** Judges values that may take long. */
  readonly judgeApart: JudgeApart;
  readonly deadline: CallSetup["deadline"];
  /** `inputText` is the text of the call's input, for the start and the end of a call. */
  readonly emit: (event: RunEvent, inputText?: string) => void;
  /** Tells the steps of calls; undefined if nobody listens. */
  readonly tellStep: ((event: CallStepEvent) => void) | undefined;
  readonly errors: { tell(report: Omit<HostError, "runId">, inputLength?: number): void };
}

export class CallRunner {
  readonly #setup: CallRunnerSetup;
  readonly #inCallerContext = platform.captureContext();
  readonly #middleware: readonly AdapterMiddleware[];
  /** Calls that wait for a turn, in their order. */
  readonly #line: (() => void)[] = [];
  /** For each call that is kept from ending: lets it end. */
  readonly #kept = new Set<() => void>();
  /** Whether nothing may keep a call from ending any more. */
  #isHurried = false;

  constructor(setup: CallRunnerSetup) {
    this.#setup = setup;
    const { middleware, authorize } = setup;
    const decide: CallMiddleware["decide"] = async (call) =>
      parseDecision(await authorize?.(call), "authorize");
    this.#middleware = [...middleware, ...(authorize === undefined ? [] : [{ decide }])];
  }

  async execute(
    index: number,
    call: LedgerCall,
    resolution: KeptResolution | undefined,
  ): Promise<CallOutcome> {
    const { runId, emit, tellStep, signal } = this.#setup;
    const callId = toCallId(runId, index);
    const { tool } = call;
    const startedAt = performance.now();
    if (this.#line.length > 0 || isTurnLong()) await this.#inLine();
    let thrown: unknown;
    let cause: unknown;
    let outputBytes = 0;
    const onError = (error: unknown, source: HostErrorSource): void => {
      // Middleware only hears of the end: its error is not why the call failed.
      if (source === "middleware") return this.#setup.errors.tell({ error, source, callId, tool });
      if (source === "tool") thrown = error;
      cause = error instanceof CallRefusal ? error.cause : error;
      // A refusal in our own words is not a host error, unless an error caused it.
      if (cause === undefined && error !== undefined) return;
      const report = { error: cause, source: this.#sourceOf(tool, source), callId, tool };
      this.#setup.errors.tell(report, call.input.length);
    };
    const listener = { onError, onOutput: (bytes: number) => void (outputBytes = bytes) };
    const found = await this.#inCallerContext(() => this.#invoke(callId, index, call, resolution, listener));
    const outcome = found.kind === "failure" ? this.#mapped(found, { callId, tool, thrown }) : found;
    if (outcome.kind === "asked") {
      tellStep?.({ type: "call-ask", runId, callId, index, tool, payload: outcome.payload });
      return outcome;
    }
    const isAborted = outcome.kind === "failure" && signal.aborted;
    const summary = summarizeOutcome(outcome, outputBytes, isAborted, cause);
    const durationMs = performance.now() - startedAt;
    emit({ type: "call-end", runId, callId, index, tool, durationMs, outcome: summary }, call.input);
    return outcome;
  }

  /** For a run that is about to be suspended, or has ended: a call that has ended must not be given away as executing. */
  hurry(): void {
    this.#isHurried = true;
    for (const letEnd of this.#kept) letEnd();
  }

  #inLine(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#line.push(resolve) === 1) void this.#advance();
    });
  }

  /** In one turn, lets as many calls go on as there is time for. */
  async #advance(): Promise<void> {
    for (let [next] = this.#line; next !== undefined; [next] = this.#line) {
      while (isTurnLong()) await nextTurn();
      next();
      // The call goes on before this loop does. Until then it stays in the line, so no call overtakes it.
      await Promise.resolve();
      this.#line.shift();
    }
  }

  #invoke(
    callId: string,
    index: number,
    { tool, input }: LedgerCall,
    kept: KeptResolution | undefined,
    listener: Pick<CallSetup, "onError" | "onOutput">,
  ): Promise<CallOutcome> {
    const { runId, features, limits, context, signal, judgeApart, emit, tellStep, hostTools, deadline } =
      this.#setup;
    const isOfHost = Object.hasOwn(hostTools, tool);
    const denial = kept !== undefined && "deny" in kept ? (kept.deny ?? "it was denied") : undefined;
    const resolution = kept !== undefined && "resolution" in kept ? kept.resolution : undefined;
    return invoke({
      features,
      tools: isOfHost ? hostTools : this.#setup.tools,
      index,
      tool,
      input,
      limits,
      context: { runId, callId, idempotencyKey: callId, signal, context, resolution },
      middleware: isOfHost ? [] : this.#middlewareFor(tool),
      denial,
      before: kept?.before,
      judgeApart,
      deadline,
      unlessHurried: this.#unlessHurried,
      onStart: (value) => emit({ type: "call-start", runId, callId, index, tool, input: value }, input),
      onProgress: (output) => emit({ type: "call-progress", runId, callId, index, tool, output }),
      onStep: tellStep && ((step: CallStep) => tellStep({ runId, callId, index, tool, ...step })),
      onOutput: listener.onOutput,
      onError: listener.onError,
    });
  }

  /** Errors in serving a feature are told as the feature's. */
  #sourceOf(tool: string, source: HostErrorSource): HostErrorSource {
    const call = behindCall(this.#setup.features, tool);
    return call?.endedBy === "host" ? call.feature : source;
  }

  #middlewareFor(name: string): readonly AdapterMiddleware[] {
    const { tools } = this.#setup;
    const own = ownMiddlewareOf(toolOf(tools, name));
    return own === undefined ? this.#middleware : [...this.#middleware, own];
  }

  /** If `mapCallFailure` throws, the failure stays as it was. */
  #mapped(outcome: FailedOutcome, call: Parameters<MapCallFailure>[1]): SettledOutcome {
    const { mapCallFailure } = this.#setup;
    if (mapCallFailure === undefined) return outcome;
    const { failure } = outcome;
    try {
      return { ...outcome, failure: inWords(failure, mapCallFailure(failure, call)) };
    } catch (error) {
      const { callId, tool } = call;
      this.#setup.errors.tell({ error, source: "mapCallFailure", callId, tool });
      return outcome;
    }
  }

  /** A promise for all calls would keep something of each call as long as the run. */
  readonly #unlessHurried = async (waiting: Promise<void>): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.#isHurried) resolve();
    this.#kept.add(resolve);
    try {
      await Promise.race([waiting, promise]);
    } finally {
      this.#kept.delete(resolve);
    }
  };
}
