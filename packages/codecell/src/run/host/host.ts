/**
 * Host: owns the sandbox and starts runs in it.
 *
 * - Options and limits are resolved here, once; below this nothing is optional.
 * - Misuse by the host programmer throws; whatever the program does is a result.
 */
import { CodecellError, type Failure } from "../../contract/failure.ts";
import { tellError } from "../../contract/host-error.ts";
import type { Ledger } from "../../contract/ledger.ts";
import { type Limits, resolveLimits } from "../../contract/limits.ts";
import type { Resolutions, RunResult } from "../../contract/result.ts";
import type { ToolSet } from "../../contract/tool.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { LedgerRecorder, type LedgerHeader } from "../../ledger/ledger-recorder.ts";
import { platform } from "../../platform/host-platform.ts";
import type { Reference } from "../../durable/token.ts";
import { Vault } from "../../seal/vault.ts";
import {
  assertFits,
  assertFork,
  assertLedger,
  assertOptions,
  assertRun,
  assertEnded,
  assertStart,
  assertSuspended,
  assertTools,
} from "./assert-options.ts";
import { assertHost } from "./assert-host.ts";
import { EventStream } from "../event-stream.ts";
import { abortedFailure, sourceRefusal } from "../failures.ts";
import { type Forked, forkPast } from "./fork.ts";
import { hostToolsOf, isGiven, resolveServing, type Serving } from "./features.ts";
import { emptyHeader, toHeader } from "./header.ts";
import type {
  DiscardOptions,
  ForkOptions,
  Host,
  HostOptions,
  KeepEnded,
  ReadEndedOptions,
  ResumeOptions,
  RunHandle,
  RunOptions,
  StartOptions,
} from "./host-options.ts";
import type { EndedKeeping, EndedRecord } from "../../durable/ended-runs.ts";
import type { Journal } from "../../durable/journal.ts";
import { openSandbox } from "./open-sandbox.ts";
import { ProgramCheck } from "../check/program-check.ts";
import { missingTools } from "./missing-tools.ts";
import type { CheckRun, Recovered } from "../../durable/recovery.ts";
import { assertResolutions, resolve } from "./resolutions.ts";
import { NO_PAST, type RunPast } from "../run-setup.ts";
import { RunErrors } from "../run-errors.ts";
import { Run } from "../run.ts";
import type { OnFailed, TakenRun } from "../../durable/stored-runs.ts";
import { Suspender } from "../../durable/suspender.ts";

export type {
  DiscardOptions,
  ForkOptions,
  Host,
  HostOptions,
  KeepEnded,
  ReadEndedOptions,
  ResumeOptions,
  RunHandle,
  RunOptions,
  StartOptions,
} from "./host-options.ts";
export type { EndedRecord } from "../../durable/ended-runs.ts";

const LIVE_RUNS = 100_000;
const LEASE_MS = 30_000;
const ENDED_RUNS = 10_000;
const ENDED_BYTES = 268_435_456;

export function createHost(options: HostOptions = {}): Host {
  assertOptions(options, "create a host");
  assertHost(options);
  const vault = new Vault(options);
  if (options.store !== undefined) vault.warnIfLost(options.store);
  return new SandboxHost(options, options.sandbox ?? openSandbox(options), vault);
}

/** What a run begins with beside its ledger. */
interface Beginning {
  /** Undefined replays. */
  readonly tools?: ToolSet;
  readonly past?: RunPast;
  readonly journal?: Journal | undefined;
  readonly events?: EventStream;
  readonly refusal?: Failure | undefined;
  /** What the store threw, if that is why. */
  readonly thrown?: unknown;
  readonly check?: ProgramCheck | undefined;
  readonly serving?: Serving | undefined;
}

/** How a run is taken, where that takes more than a turn. */
interface Taking {
  readonly serving: Serving | undefined;
  readonly take: (onFailed: (error: unknown) => void) => Promise<(Recovered & Partial<TakenRun>) | Failure>;
  /** Its ledger before that, where it can be had. */
  readonly peek: () => Ledger | undefined;
}

class SandboxHost implements Host {
  readonly #options: HostOptions;
  readonly #sandbox: Sandbox;
  readonly #suspender: Suspender;
  readonly #limits: Limits;
  readonly #runs = new Set<Run>();
  /** Those that are being taken from a store or a large token, and those that were. */
  readonly #resumed = new Set<Promise<RunResult>>();
  #closed = false;

  constructor(options: HostOptions, sandbox: Sandbox, vault: Vault) {
    this.#options = options;
    this.#limits = resolveLimits(options.limits);
    this.#sandbox = sandbox;
    const { store, leaseMs = LEASE_MS, listToolNames = false } = options;
    this.#suspender = new Suspender(vault, store, leaseMs, {
      namesTools: listToolNames,
      ended: options.keepEnded && resolveKeeping(options.keepEnded),
    });
  }

  get isDurable(): boolean {
    return this.#options.store !== undefined;
  }

  start(options: StartOptions): RunHandle {
    assertStart(options);
    const limits =
      options.limits === undefined ? this.#limits : resolveLimits({ ...this.#limits, ...options.limits });
    return this.#new(toHeader(options, limits), options, resolveServing(options));
  }

  /** Begins a run that did not exist before, and keeps it if there is where. */
  #new(header: LedgerHeader, options: RunOptions, serving: Serving, forked?: Forked): RunHandle {
    const { tools = {}, scope = "" } = options;
    const tooLarge = sourceRefusal(header);
    // What is too large is not kept either.
    const recorder =
      tooLarge === undefined
        ? new LedgerRecorder(header, forked)
        : new LedgerRecorder({ ...header, source: "" });
    const check = ProgramCheck.of(this.#options.check, header, tools, forked);
    const how = { tools, past: forked?.past ?? NO_PAST, check, serving };
    const refusal = tooLarge ?? this.#refusal(options);
    if (refusal !== undefined) return this.#begin(recorder, options, { ...how, refusal });
    const journal = this.#suspender.stored?.keep(recorder, scope);
    return this.#begin(recorder, options, journal === undefined ? how : { ...how, journal });
  }

  resume(options: ResumeOptions): RunHandle {
    assertRun(options, "resume");
    const { token, tools = {}, resolutions = {} } = options;
    assertSuspended(options, "resume");
    assertTools(tools, "resume");
    assertResolutions(resolutions);
    const serving = resolveServing(options);
    // Whatever would end the run at once must not use up its token.
    const refusal = this.#refusal(options);
    const { scope = "" } = options;
    const referred = this.#suspender.referred(options, scope);
    if (referred !== undefined && "id" in referred) {
      return this.#resumeStored(referred, options, resolutions, { serving, refusal });
    }
    const opened = refusal ?? referred ?? this.#suspender.openToken(token ?? "", scope);
    if ("code" in opened) return this.#refuse(opened, options);
    const check = checkFor(options, resolutions);
    if (opened.largeRunId !== undefined) {
      // What came up meanwhile must not use up the token either.
      const take = this.#suspender.taker(tools, (found) => this.#refusal(options) ?? check(found));
      return this.#resumeLater(opened.largeRunId, options, resolutions, {
        serving,
        take: () => opened.takeInTurns(take),
        peek: () => opened.peek()?.ledger,
      });
    }
    const taken = opened.take(this.#suspender.taker(tools, check));
    if ("code" in taken) return this.#refuse(taken, options);
    return this.#goOn(taken, options, resolutions, { serving });
  }

  #resumeStored(
    reference: Reference,
    options: ResumeOptions,
    resolutions: Resolutions,
    { serving, refusal }: Beginning,
  ): RunHandle {
    const { stored } = this.#suspender;
    if (stored === undefined) throw new TypeError("Cannot resume a run of a store: the host has none");
    const { scope = "", tools = {} } = options;
    const check = checkFor(options, resolutions);
    const take = async (onFailed: (error: unknown) => void): Promise<TakenRun | Failure> => {
      const found = refusal ?? (await stored.take(reference, scope, tools, check, onFailed));
      return "code" in found ? found : await this.#orLeave(found, options);
    };
    return this.#resumeLater(reference.id, options, resolutions, {
      serving,
      take,
      peek: () => undefined,
    });
  }

  /** Taking it takes a moment: the handle is there before the run is. */
  #resumeLater(
    id: string,
    options: ResumeOptions,
    resolutions: Resolutions,
    { serving, take, peek }: Taking,
  ): RunHandle {
    const events = this.#eventsOf(id, options);
    let handle: RunHandle | undefined;
    const begin = async (): Promise<RunResult> => {
      let thrown: unknown;
      const taken = await take((error) => void (thrown = error));
      handle =
        "code" in taken
          ? this.#refuse(taken, options, { events, thrown }, id)
          : this.#goOn(taken, options, resolutions, { events, journal: taken.journal, serving });
      return await handle.result;
    };
    const result = begin().catch((error: unknown) => {
      events.end();
      throw error;
    });
    const forget = (): boolean => this.#resumed.delete(result);
    this.#resumed.add(result);
    result.then(forget, forget);
    return {
      runId: id,
      events,
      result,
      ledger: () => {
        const ledger = handle === undefined ? peek() : handle.ledger();
        if (ledger === undefined) throw new Error(`Run "${id}" has not been taken from the store yet`);
        return ledger;
      },
    };
  }

  /** What came up since it was asked for must not end a run that was taken: others can go on with it. */
  async #orLeave(taken: TakenRun, options: RunOptions): Promise<TakenRun | Failure> {
    const refusal = this.#refusal(options);
    // One that cannot be given back is free when its lease has run out.
    if (refusal !== undefined) await taken.journal.release().catch(() => {});
    return refusal ?? taken;
  }

  #goOn(
    taken: Recovered,
    options: ResumeOptions,
    resolutions: Resolutions,
    how: Partial<Beginning> = {},
  ): RunHandle {
    const { ledger, seen } = taken.run;
    const { calls, deliveries } = ledger;
    return this.#begin(new LedgerRecorder(ledger, { calls, deliveries, seen }), options, {
      ...how,
      tools: options.tools ?? {},
      past: resolve(taken, resolutions),
    });
  }

  #refuse(
    refusal: Failure,
    options: RunOptions,
    how: Beginning = {},
    runId: string = platform.randomUUID(),
  ): RunHandle {
    const recorder = new LedgerRecorder({ ...emptyHeader(), runId });
    return this.#begin(recorder, options, { ...how, refusal });
  }

  async discard(options: DiscardOptions): Promise<boolean> {
    assertOptions(options, "discard a run");
    assertSuspended(options, "discard");
    try {
      return await this.#suspender.discard(options, options.scope ?? "");
    } catch (error) {
      const runId = this.#suspender.idOf(options, options.scope ?? "");
      tellError(this.#options.onError, { error, source: "store", runId });
      throw error;
    }
  }

  async readEnded(options: ReadEndedOptions): Promise<EndedRecord | undefined> {
    assertOptions(options, "read a run");
    assertEnded(options);
    const { stored } = this.#suspender;
    if (stored === undefined) throw new TypeError("Cannot read a run of a store: the host has none");
    const found = await stored.ended.read(options.id, options.scope ?? "");
    if (found !== undefined && "code" in found) throw new CodecellError(found);
    return found;
  }

  replay(ledger: Ledger): RunHandle {
    assertLedger(ledger, "replay");
    const recorder = new LedgerRecorder({ ...ledger, limits: resolveLimits(ledger.limits) }, ledger);
    recorder.stopped = ledger.stopped;
    const refusal = this.#admissionRefusal();
    return this.#begin(recorder, {}, refusal === undefined ? {} : { refusal });
  }

  fork(ledger: Ledger, options: ForkOptions): RunHandle {
    assertFork(ledger, options);
    const { atCall, outcome, source = ledger.source } = options;
    const { stopped: _stopped, ...rest } = ledger;
    const limits = resolveLimits(ledger.limits);
    const forked = forkPast({ ...rest, limits }, atCall, outcome);
    const header = { ...rest, runId: platform.randomUUID(), source, limits };
    return this.#new(header, options, resolveServing(options), forked);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const live = [...this.#runs];
    for (const each of live) each.leave();
    await Promise.allSettled([...live.map((each) => each.result), ...this.#resumed]);
    if (this.#options.sandbox === undefined) await this.#sandbox[Symbol.asyncDispose]();
  }

  #begin(recorder: LedgerRecorder, options: RunOptions, how: Beginning): RunHandle {
    const { runId, features, limits } = recorder.header;
    const errors = new RunErrors(runId, options.onError ?? this.#options.onError);
    const onFailed: OnFailed = (cause, source = "store") => errors.end({ source, cause });
    const { compactTokens = this.#options.compactTokens, encrypt } = options;
    const begun = new Run({
      sandbox: this.#sandbox,
      tools: how.tools,
      signal: options.signal,
      context: options.context,
      middleware: options.middleware ?? [],
      authorize: options.authorize,
      mapCallFailure: options.mapCallFailure,
      hostTools: hostToolsOf(features, how.serving ?? {}, limits),
      past: how.past ?? NO_PAST,
      events: how.events ?? this.#eventsOf(runId, options),
      errors,
      check: how.check,
      suspendsAtDeadline: options.atDeadline === "suspend",
      suspender: this.#suspender,
      kept: {
        recorder,
        scope: options.scope ?? "",
        journal: how.journal,
        token: { isCompact: compactTokens === true, isEncrypted: encrypt === true },
        onFailed,
      },
    });
    const refusal = how.refusal;
    if (refusal === undefined) {
      this.#runs.add(begun);
      void begun.result.then(() => this.#runs.delete(begun));
    }
    onFailed(how.thrown);
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

function resolveKeeping({ forMs, runs = ENDED_RUNS, bytes = ENDED_BYTES }: KeepEnded): EndedKeeping {
  return { forMs, runs, bytes };
}

/** What a run is resumed with has to fit what it is. */
function checkFor(options: ResumeOptions, resolutions: Resolutions): CheckRun {
  const { tools = {} } = options;
  return (found) => {
    assertFits(found.run, tools, resolutions);
    return missingTools(found, { tools, resolutions, serves: (feature) => isGiven(options, feature) });
  };
}

function abortRefusal(signal: AbortSignal | undefined): Failure | undefined {
  return signal?.aborted === true ? abortedFailure(signal.reason) : undefined;
}
