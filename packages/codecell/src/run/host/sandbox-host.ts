/**
 * Runs anywhere. SandboxHost starts runs in one sandbox, and resumes the runs that its keeper keeps.
 *
 * - Misuse by a caller throws before a run begins. Whatever the program does is a result.
 * - A run that would be refused at once is not claimed, and its token is not used up.
 * - SandboxHost knows neither Node.js nor how runs are sealed: both are given to it.
 */
import { CodecellError, type Failure } from "../../contract/failure.ts";
import { tellError } from "../../contract/host-error.ts";
import type { Ledger } from "../../contract/ledger.ts";
import { type LimitName, type Limits, resolveLimits } from "../../contract/limits.ts";
import type { RunResult } from "../../contract/result.ts";
import type { ToolSet } from "../../contract/tool.ts";
import type { EndedRecord } from "../../durable/ended-runs.ts";
import type { KeepingTerms, OpenRun, RunKeeper, RunKeeping } from "../../durable/run-keeping.ts";
import { newPast, type RunPast, withResolutions } from "../../durable/run-past.ts";
import type { OpenToken, Reference } from "../../durable/token.ts";
import { LedgerRecorder } from "../../ledger/ledger-recorder.ts";
import { platform } from "../../platform/host-platform.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { ProgramCheck } from "../check/program-check.ts";
import { EventStream } from "../event-stream.ts";
import { abortedFailure, sourceRefusal } from "../failures.ts";
import { RunErrors } from "../run-errors.ts";
import { Run } from "../run.ts";
import {
  assertDiscard,
  assertEnded,
  assertFits,
  assertFork,
  assertLedger,
  assertRun,
  assertStart,
  assertSuspended,
  assertRunTools,
} from "./assert-options.ts";
import { hostToolsOf, isGiven, resolveServing, type Serving, toolsOfRun } from "./features.ts";
import { forkPast } from "./fork.ts";
import { emptyHeader, toHeader } from "./header.ts";
import type {
  DiscardOptions,
  ForkOptions,
  Host,
  HostOptions,
  ReadEndedOptions,
  ResumeOptions,
  RunHandle,
  RunOptions,
  StartOptions,
} from "./host-options.ts";
import { noteSandbox } from "./host-sandbox.ts";
import { missingTools } from "./missing-tools.ts";
import { assertResolutions } from "./resolutions.ts";

const LIVE_RUNS = 100_000;

/** What a run begins with beside its past. */
interface Beginning {
  readonly keeping: RunKeeping;
  readonly errors: RunErrors;
  /** Undefined in a replay. */
  readonly tools?: ToolSet;
  readonly events?: EventStream | undefined;
  readonly refusal?: Failure | undefined;
  readonly check?: ProgramCheck | undefined;
  readonly serving?: Serving | undefined;
}

export class SandboxHost implements Host {
  readonly #options: HostOptions;
  readonly #sandbox: Sandbox;
  readonly #keeper: RunKeeper;
  readonly #limits: Limits;
  readonly #resolved = new WeakMap<Partial<Limits>, Limits>();
  readonly #runs = new Set<Run>();
  /** The results of resumed runs, from before the runs are opened until the results settle. */
  readonly #resumed = new Set<Promise<RunResult>>();
  #closed = false;

  constructor(options: HostOptions, sandbox: Sandbox, keeper: RunKeeper) {
    this.#options = options;
    this.#limits = resolveLimits(options.limits);
    this.#sandbox = sandbox;
    noteSandbox(this, sandbox);
    this.#keeper = keeper;
  }

  get isDurable(): boolean {
    return this.#options.store !== undefined;
  }

  get limits(): Readonly<Partial<Limits>> {
    const { limits = {} } = this.#options;
    const given = (Object.keys(limits) as LimitName[]).filter((name) => limits[name] !== undefined);
    return Object.fromEntries(given.map((name) => [name, this.#limits[name]]));
  }

  start(options: StartOptions): RunHandle {
    assertStart(options);
    const header = toHeader(options, this.#limitsOf(options));
    return this.#new(newPast(new LedgerRecorder(header)), options, resolveServing(options));
  }

  /** Limits that cannot change any more are resolved once. */
  #limitsOf({ limits: given }: StartOptions): Limits {
    if (given === undefined) return this.#limits;
    const known = this.#resolved.get(given);
    if (known !== undefined) return known;
    const limits = resolveLimits({ ...this.#limits, ...given });
    if (isConstant(given)) this.#resolved.set(given, limits);
    return limits;
  }

  fork(ledger: Ledger, options: ForkOptions): RunHandle {
    assertFork(ledger, options);
    const { atCall, outcome, source = ledger.source } = options;
    const { stopped: _stopped, ...rest } = ledger;
    const limits = resolveLimits(ledger.limits);
    const header = { ...rest, runId: platform.randomUUID(), source, limits };
    const past = forkPast({ ...rest, limits }, header, atCall, outcome);
    const { calls } = past.recorder;
    return this.#new(past, options, resolveServing(options), { source: ledger.source, calls });
  }

  /** Begins a run that did not exist before. `forked` is the ledger that its past comes from. */
  #new(
    past: RunPast,
    options: RunOptions,
    serving: Serving,
    forked?: Pick<Ledger, "source" | "calls">,
  ): RunHandle {
    const { tools: given = {} } = options;
    const tools = toolsOfRun(options);
    const { header } = past.recorder;
    const errors = this.#errors(header.runId, options);
    const terms = this.#terms(options, errors);
    const check = ProgramCheck.of(this.#options.check, header, given, forked);
    const tooLarge = sourceRefusal(header);
    const refusal = tooLarge ?? this.#refusal(options);
    if (refusal !== undefined) {
      // A source that is too large is not kept either.
      const recorder = tooLarge === undefined ? past.recorder : new LedgerRecorder({ ...header, source: "" });
      const keeping = this.#keeper.keepNothing(recorder, terms);
      return this.#begin({ ...past, recorder }, options, { tools, check, serving, errors, keeping, refusal });
    }
    const keeping = this.#keeper.keep(past.recorder, terms);
    return this.#begin(past, options, { tools, check, serving, errors, keeping });
  }

  resume(options: ResumeOptions): RunHandle {
    assertRun(options, "resume");
    const { token = "", tools: given = {}, resolutions = {}, scope = "" } = options;
    assertSuspended(options, "resume");
    assertRunTools(given, "resume");
    const tools = toolsOfRun(options);
    assertResolutions(resolutions);
    const serving = resolveServing(options);
    const refusal = this.#refusal(options);
    const referred = this.#keeper.referred(options, scope);
    if (referred !== undefined && "id" in referred) {
      if (!this.isDurable) throw new TypeError("Cannot resume a stored run: the host has no store");
      return this.#resumeLater(referred, referred.id, options, serving, refusal);
    }
    // A host that refuses does not verify the token's seal: the token may be large.
    const found = refusal ?? referred ?? this.#keeper.openToken(token, scope);
    if ("code" in found) return this.#refuse(found, options);
    if (found.largeRunId !== undefined) return this.#resumeLater(found, found.largeRunId, options, serving);
    const opened = this.#keeper.openNow(found, tools);
    if ("code" in opened) return this.#refuse(opened, options);
    const misfit = misfitOf(opened.past, options);
    return misfit === undefined ? this.#goOn(opened, options, serving) : this.#refuse(misfit, options);
  }

  /** Opening the run takes a moment: the handle exists before the run does. */
  #resumeLater(
    found: Reference | OpenToken,
    runId: string,
    options: ResumeOptions,
    serving: Serving,
    refusal?: Failure,
  ): RunHandle {
    const events = this.#eventsOf(runId, options);
    const errors = this.#errors(runId, options);
    let handle: RunHandle | undefined;
    // This function lets go of the opened run, which may be large: nothing here holds it while the run goes on.
    const takeUp = async (): Promise<RunHandle> => {
      const opened = refusal ?? (await this.#open(found, options, errors));
      return "code" in opened
        ? this.#refuse(opened, options, { errors, events }, runId)
        : this.#goOn(opened, options, serving, { errors, events });
    };
    const begin = async (): Promise<RunResult> => {
      handle = await takeUp();
      return await handle.result;
    };
    const result = begin().catch(async (error: unknown) => {
      errors.end({ source: "internal", cause: error });
      const failure = {
        code: "internal",
        message: "Cannot resume the run: an internal error occurred",
      } as const;
      return this.#refuse(failure, options, { errors, events }, runId).result;
    });
    this.#resumed.add(result);
    void result.then(() => this.#resumed.delete(result));
    return {
      runId,
      events,
      result,
      ledger: () => {
        const ledger = handle?.ledger() ?? ("id" in found ? undefined : found.peek()?.ledger);
        if (ledger === undefined) throw new Error(`Run "${runId}" has not been taken from the store yet`);
        return ledger;
      },
    };
  }

  /** A run that cannot go on here stays in its store or token, or is given back, so that others can go on with it. */
  async #open(
    found: Reference | OpenToken,
    options: ResumeOptions,
    errors: RunErrors,
  ): Promise<OpenRun | Failure> {
    const { scope = "" } = options;
    const opened = await this.#keeper.open(found, scope, toolsOfRun(options), errors);
    if ("code" in opened) return opened;
    const refusal = this.#refusal(options) ?? misfitOf(opened.past, options);
    if (refusal !== undefined) await opened.giveBack();
    return refusal ?? opened;
  }

  #goOn(
    opened: OpenRun,
    options: ResumeOptions,
    serving: Serving,
    how?: Pick<Beginning, "errors" | "events">,
  ): RunHandle {
    const { resolutions = {} } = options;
    const tools = toolsOfRun(options);
    const errors = how?.errors ?? this.#errors(opened.past.recorder.header.runId, options);
    const past = withResolutions(opened.past, resolutions);
    const keeping = opened.take(this.#terms(options, errors));
    return this.#begin(past, options, { ...how, tools, serving, errors, keeping });
  }

  #refuse(
    refusal: Failure,
    options: RunOptions,
    how?: Pick<Beginning, "errors" | "events">,
    runId: string = platform.randomUUID(),
  ): RunHandle {
    return this.#beginIdle(new LedgerRecorder({ ...emptyHeader(), runId }), options, { ...how, refusal });
  }

  replay(ledger: Ledger): RunHandle {
    assertLedger(ledger, "replay");
    const recorder = new LedgerRecorder({ ...ledger, limits: resolveLimits(ledger.limits) }, ledger);
    recorder.stopped = ledger.stopped;
    return this.#beginIdle(recorder, {}, { refusal: this.#admissionRefusal() });
  }

  /** Begins a run that makes no calls. */
  #beginIdle(recorder: LedgerRecorder, options: RunOptions, how: Partial<Beginning>): RunHandle {
    const errors = how.errors ?? this.#errors(recorder.header.runId, options);
    const keeping = this.#keeper.keepNothing(recorder, this.#terms(options, errors));
    return this.#begin(newPast(recorder), options, { ...how, errors, keeping });
  }

  async discard(options: DiscardOptions): Promise<boolean> {
    assertDiscard(options);
    const { scope = "" } = options;
    try {
      return await this.#keeper.discard(options, scope);
    } catch (error) {
      const runId = this.#keeper.idOf(options, scope);
      tellError(this.#options.onError, { error, source: "store", runId });
      throw error;
    }
  }

  async readEnded(options: ReadEndedOptions): Promise<EndedRecord | undefined> {
    assertEnded(options, "read");
    const { ended } = this.#keeper;
    if (ended === undefined) throw new TypeError("Cannot read a stored run: the host has no store");
    const found = await ended.read(options.id, options.scope ?? "");
    if (found !== undefined && "code" in found) throw new CodecellError(found);
    return found;
  }

  async deleteEnded(options: ReadEndedOptions): Promise<boolean> {
    assertEnded(options, "delete");
    const { ended } = this.#keeper;
    if (ended === undefined) throw new TypeError("Cannot delete a stored run: the host has no store");
    return ended.delete(options.id, options.scope ?? "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const live = [...this.#runs];
    for (const each of live) each.leave();
    await Promise.allSettled([...live.map((each) => each.result), ...this.#resumed]);
    this.#keeper.close();
    if (this.#options.sandbox === undefined) await this.#sandbox[Symbol.asyncDispose]();
  }

  #begin(past: RunPast, options: RunOptions, how: Beginning): RunHandle {
    const { runId, features, limits } = past.recorder.header;
    const { refusal, errors, keeping } = how;
    const begun = new Run({
      sandbox: this.#sandbox,
      tools: how.tools,
      signal: options.signal,
      context: options.context,
      middleware: options.middleware ?? [],
      authorize: options.authorize,
      mapCallFailure: options.mapCallFailure,
      hostTools: hostToolsOf(features, how.serving ?? {}, limits),
      past,
      keeping,
      events: how.events ?? this.#eventsOf(runId, options),
      errors,
      check: how.check,
      suspendsAtDeadline: options.atDeadline === "suspend",
      compression: this.#options.compression,
    });
    if (refusal === undefined) {
      this.#runs.add(begun);
      void begun.result.then(() => this.#runs.delete(begun));
    }
    begun.start(refusal);
    return { runId, events: begun.events, result: begun.result, ledger: () => begun.ledger() };
  }

  #eventsOf(runId: string, { onEvent, onError = this.#options.onError }: RunOptions): EventStream {
    if (onEvent === undefined) return new EventStream();
    const fail = (error: unknown): void => tellError(onError, { error, source: "onEvent", runId });
    return new EventStream((event) => {
      try {
        const told: unknown = onEvent(event);
        // An asynchronous listener must not take the process down when it fails.
        if (told instanceof Promise) told.catch(fail);
      } catch (error) {
        fail(error);
      }
    });
  }

  #errors(runId: string, options: RunOptions): RunErrors {
    return new RunErrors(runId, options.onError ?? this.#options.onError);
  }

  #terms(options: RunOptions, errors: RunErrors): KeepingTerms {
    const { scope = "", compactTokens = this.#options.compactTokens, encrypt } = options;
    return { scope, token: { isCompact: compactTokens === true, isEncrypted: encrypt === true }, errors };
  }

  #refusal({ signal }: RunOptions): Failure | undefined {
    return this.#admissionRefusal() ?? abortRefusal(signal);
  }

  #admissionRefusal(): Failure | undefined {
    if (this.#closed) return { code: "aborted", message: "Cannot start a run: the host is closed" };
    const liveRuns = this.#options.liveRuns ?? LIVE_RUNS;
    if (this.#runs.size < liveRuns) return undefined;
    return {
      code: "too_many_runs",
      message: `Cannot start a run: ${liveRuns} are live already, try again later`,
    };
  }
}

/**
 * Why a past cannot go on with these options. This is never thrown: resolutions often come from a client, and whether
 * a run is opened at once depends on its size.
 */
function misfitOf(past: RunPast, options: ResumeOptions): Failure | undefined {
  const { tools = {}, resolutions = {} } = options;
  try {
    assertFits(past, tools, resolutions);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { code: "resume_invalid", message: error.message };
  }
  return missingTools(past, {
    tools: toolsOfRun(options),
    resolutions,
    serves: (feature) => isGiven(options, feature),
  });
}

function abortRefusal(signal: AbortSignal | undefined): Failure | undefined {
  return signal?.aborted === true ? abortedFailure(signal.reason) : undefined;
}

/** Whether no limit can change: a getter of a frozen object may give another value each time. */
function isConstant(limits: Partial<Limits>): boolean {
  if (!Object.isFrozen(limits)) return false;
  return Object.values(Object.getOwnPropertyDescriptors(limits)).every((one) => "value" in one);
}
