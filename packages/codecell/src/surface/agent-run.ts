/**
 * Runs on the host. AgentRun runs the programs that the model of one agent run writes. An agent run is one task of an
 * agent: all its `exec`s and `wait`s over one catalog.
 *
 * - Whatever happens to a program becomes a result. Nothing is thrown through the agent's loop.
 * - A program that still waits when its time is up is suspended, and goes on with `wait`. It belongs to this run:
 *   nobody without the same scope can continue it.
 * - When the run ends, calls are aborted and suspended programs are dropped.
 */
import { inTurns } from "../loop/turn.ts";
import type { Failure } from "../contract/failure.ts";
import { type OnError, tellError } from "../contract/host-error.ts";
import type { Resolutions, RunResult } from "../contract/result.ts";
import type { Host, ResumeOptions, RunHandle, RunOptions } from "../run/host/host.ts";
import { assertResolutions } from "../run/host/resolutions.ts";
import { takeLargeResult } from "../value/large-results.ts";
import { toJsonText } from "../value/json-text.ts";
import { AgentProgram, type ProgramEnd, type ExchangeOptions } from "./agent-program.ts";
import type { AgentPrograms } from "./agent-programs.ts";
import type { CodeModeOutput, CodeModeResult } from "./shown/code-mode-result.ts";
import type { CodeModeSettings, NumberSetting } from "./config.ts";
import { type FailedProgram, toModelError, toErrorCode, toLine } from "./shown/failure-codes.ts";
import type { NestedTools } from "./calls/nested-tools.ts";
import { hasOpenCalls } from "./calls/open-calls.ts";
import { OutputBudget } from "./output/output-budget.ts";
import { toItems } from "./output/output-items.ts";
import type { SavedValues } from "./output/saved-values.ts";
import { INCOMPLETE, overOf, type Problem, REFUSED, unknownRun, UNTOUCHED } from "./shown/problems.ts";
import { fieldOf, readProgram } from "./read-program.ts";
import { snapshotMs, toLimits } from "./settings-limits.ts";
import type { SnapshotEvent, Telemetry } from "./record/telemetry.ts";
import type { Trajectory } from "./record/trajectory.ts";

export interface AgentRunSetup {
  /** Creates the host when called for the first time. */
  readonly host: () => Host;
  readonly agentPrograms: AgentPrograms;
  /** Undefined when the context lacks a part of the scope: then no program can be continued. */
  readonly scope: string | undefined;
  readonly settings: CodeModeSettings;
  /** The settings that the configuration sets; the others are defaults. */
  readonly given: ReadonlySet<NumberSetting>;
  /** What is wrong with the configuration. If set, nothing is executed. */
  readonly problem: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly onError: OnError | undefined;
  readonly nested: NestedTools;
  readonly telemetry: Telemetry;
  readonly trajectory: Trajectory;
  readonly saved: SavedValues;
  /** Called when the run begins to have something to end, and when it has nothing more to end. */
  readonly onBusy: (run: AgentRun, isBusy: boolean) => void;
}

export class AgentRun {
  readonly #setup: AgentRunSetup;
  readonly #ending = new AbortController();
  /** Exchanges under way, and programs that are being given up. */
  readonly #live = new Set<Promise<unknown>>();
  readonly #onAbort = (): void => this.#drop("aborted");
  #toolCalls = 0;

  constructor(setup: AgentRunSetup) {
    this.#setup = setup;
    setup.signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  exec(input: unknown, options: ExchangeOptions = {}): Promise<CodeModeResult> {
    this.#setup.telemetry.exec();
    return this.#exchange("exec", input, options, (toolCallId) => this.#exec(input, toolCallId, options));
  }

  wait(input: unknown, options: ExchangeOptions = {}): Promise<CodeModeResult> {
    this.#setup.telemetry.wait();
    return this.#exchange("wait", input, options, (toolCallId) => this.#wait(input, toolCallId, options));
  }

  /**
   * Resolves calls that asked for a decision; takes effect with the next `wait`. If it throws, it has resolved nothing.
   */
  resolve(resolutions: Resolutions): void {
    assertResolutions(resolutions);
    const { agentPrograms, scope } = this.#setup;
    const suspended = scope === undefined ? [] : agentPrograms.of(scope);
    // Thousands of calls may wait, so each is looked up once.
    const byCallId = new Map(suspended.flatMap((one) => one.asking.map((callId) => [callId, one] as const)));
    const found = Map.groupBy(Object.entries(resolutions), ([callId]) => {
      const agentProgram = byCallId.get(callId);
      if (agentProgram === undefined)
        throw new RangeError(`Cannot resolve call "${callId}": it waits for no decision`);
      return agentProgram;
    });
    for (const [agentProgram, given] of found) {
      agentProgram.resolutions = { ...agentProgram.resolutions, ...Object.fromEntries(given) };
    }
  }

  /**
   * Ends the run. Programs that execute are aborted. Suspended programs are dropped, unless `isKept` leaves them to a
   * store.
   */
  async end({ isKept = false }: { readonly isKept?: boolean } = {}): Promise<void> {
    this.#setup.signal?.removeEventListener("abort", this.#onAbort);
    this.#ending.abort(new DOMException("The agent run ended", "AbortError"));
    await Promise.allSettled(this.#live);
    this.#drop("aborted", isKept);
    await Promise.allSettled(this.#live);
    this.#setup.saved.clear();
  }

  async #exchange(
    name: "exec" | "wait",
    input: unknown,
    { toolCallId = `${name}_${++this.#toolCalls}` }: ExchangeOptions,
    work: (toolCallId: string) => Promise<CodeModeResult>,
  ): Promise<CodeModeResult> {
    const { trajectory } = this.#setup;
    const entry = trajectory.begin(name, toolCallId, toJsonText(input) ?? "null");
    // Only a bug of ours can throw here. It must neither end the agent's loop nor reveal anything about the host.
    const exchange = work(toolCallId).catch((error: unknown) => {
      tellError(this.#setup.onError, { error, source: "internal", runId: toolCallId });
      return this.#failed(["internal_error", `${name} failed inside Codecell`]);
    });
    const result = await this.#track(exchange);
    trajectory.end(entry, result.status, JSON.stringify(result));
    return result;
  }

  async #track<T>(work: Promise<T>): Promise<T> {
    this.#live.add(work);
    this.#tellBusy();
    try {
      return await work;
    } finally {
      this.#live.delete(work);
      this.#tellBusy();
    }
  }

  async #exec(input: unknown, toolCallId: string, options: ExchangeOptions): Promise<CodeModeResult> {
    const { problem } = this.#setup;
    if (problem !== undefined) return this.#failed(["invalid_config", problem]);
    const program = readProgram(input, this.#setup.settings);
    if ("problem" in program) return this.#failed(program.problem);
    const { settings, given, nested } = this.#setup;
    const host = this.#setup.host();
    const agentProgram = new AgentProgram(toolCallId, program);
    const { source, language } = program;
    return this.#run(agentProgram, options, (common) =>
      host.start({
        ...common,
        source,
        language,
        catalog: nested.guest,
        mayYield: true,
        limits: toLimits(settings, given, host.limits),
      }),
    );
  }

  async #wait(input: unknown, toolCallId: string, options: ExchangeOptions): Promise<CodeModeResult> {
    const { agentPrograms, scope, problem } = this.#setup;
    if (problem !== undefined) return this.#failed(["invalid_config", problem]);
    const runId = fieldOf(input, "runId");
    if (typeof runId !== "string" || runId === "") {
      return this.#failed([
        "invalid_input",
        "wait needs { runId }: the one that a waiting result of exec gave",
      ]);
    }
    if (scope === undefined) return this.#failed(INCOMPLETE);
    // Look before the program is taken, so that another wait can still go on with it.
    if (options.abortSignal?.aborted === true) return this.#failed(["aborted", "The wait was aborted"]);
    const taken = agentPrograms.take(runId, scope);
    switch (taken.status) {
      case "taken":
        return this.#resume(taken.agentProgram, options, { token: taken.agentProgram.token });
      case "busy":
        return this.#failed(["invalid_input", `Another wait for "${runId}" is under way: use its result`]);
      case "over":
        return this.#failed(overOf(taken.how, runId));
      case "unknown":
        if (!this.#setup.host().isDurable) return this.#failed(unknownRun(runId));
        // Perhaps a process that is gone began the program. The store knows its scope.
        return this.#resume(new AgentProgram(toolCallId, undefined, runId), options, { id: runId });
      default:
        return taken satisfies never;
    }
  }

  async #resume(
    agentProgram: AgentProgram,
    options: ExchangeOptions,
    name: Pick<ResumeOptions, "token" | "id">,
  ): Promise<CodeModeResult> {
    const resolutions = agentProgram.goOn();
    try {
      return await this.#run(agentProgram, options, (common) =>
        this.#setup.host().resume({ ...common, ...name, resolutions }),
      );
    } catch (error) {
      // The resume was refused before it began: decisions or tools do not fit. The program can go on with others.
      if (agentProgram.token !== undefined) this.#stay(agentProgram);
      throw error;
    }
  }

  #stay(agentProgram: AgentProgram): void {
    agentProgram.stay();
    this.#hold(agentProgram);
  }

  async #run(
    agentProgram: AgentProgram,
    { abortSignal, onUpdate }: ExchangeOptions,
    begin: (common: RunOptions) => RunHandle,
  ): Promise<CodeModeResult> {
    const { nested, signal, onError, scope = "" } = this.#setup;
    const signals = [this.#ending.signal, agentProgram.signal, signal, abortSignal].filter(
      (one) => one !== undefined,
    );
    const isResumed = agentProgram.runId !== "";
    agentProgram.isExecuting = true;
    agentProgram.onUpdate = onUpdate;
    const handle = begin({
      tools: nested.set,
      ...(nested.connectors === undefined ? {} : { connectors: nested.connectors }),
      ...nested.watch(agentProgram, this.#setup.host().isDurable),
      context: nested.context,
      scope,
      atDeadline: "suspend",
      signal: AbortSignal.any(signals),
      ...(onError === undefined ? {} : { onError }),
    });
    // The handle of a refused resume has the id of another run.
    if (!isResumed) agentProgram.runId = handle.runId;
    const result = await handle.result;
    agentProgram.onUpdate = undefined;
    const failure = result.status === "failed" ? result.failure : undefined;
    if (failure !== undefined && UNTOUCHED.has(failure.code) && isResumed) {
      // A program that another process began is not held here.
      if (agentProgram.token !== undefined) this.#stay(agentProgram);
      return this.#failed([toErrorCode(failure.code, "javascript"), `${failure.message}; wait for it again`]);
    }
    if (failure?.code === "run_unknown") {
      // Another process took the program that was held here.
      if (agentProgram.token !== undefined) this.#setup.telemetry.snapshot("dropped");
      this.#over(agentProgram, "ended");
      return this.#failed(unknownRun(agentProgram.runId));
    }
    if (isResumed) this.#setup.telemetry.snapshot(snapshotEventOf(failure));
    return this.#settle(agentProgram, result, () => hasOpenCalls(handle.ledger()), abortSignal);
  }

  async #settle(
    agentProgram: AgentProgram,
    result: RunResult,
    isPending: () => boolean,
    abortSignal: AbortSignal | undefined,
  ): Promise<CodeModeResult> {
    const { settings, saved, telemetry } = this.#setup;
    const budget = (agentProgram.budget ??= new OutputBudget(settings.maxOutputBytes, saved));
    // Another preparation of this agent run may have begun the program. A ref has to be found where the model is told
    // of it.
    budget.saved = saved;
    const items = await inTurns(toItems(result.logs));
    switch (result.status) {
      case "completed": {
        this.#over(agentProgram, "ended");
        const last = budget.finish(items, result.logsDropped, result.value, takeLargeResult(result.value));
        const { output, value } = await inTurns(last);
        return { status: "completed", value, ...listed(output), telemetry: telemetry.read() };
      }
      case "failed": {
        const { code, error } = toModelError(result.failure, this.#toFailed(agentProgram, result.failure));
        this.#over(agentProgram, code === "aborted" ? "aborted" : "ended");
        const { output } = await inTurns(budget.finish(items, result.logsDropped));
        return this.#failed([code, error], output);
      }
      case "suspended": {
        const { suspension } = result;
        const { token, pending } = suspension;
        agentProgram.token = token;
        for (const { callId, tool, input, payload } of pending) {
          await inTurns(agentProgram.ask(callId, this.#setup.nested.idOf(tool), input, payload));
        }
        // A program that waits only for its own timers counts as a yield.
        const reason = isPending() ? "pending_tools" : "yield";
        // Before it is held: from then on somebody else may wait for it, and use its budget.
        const output = await inTurns(budget.take(items, result.logsDropped));
        const problem = this.#hold(agentProgram, abortSignal);
        if (problem !== undefined) return this.#failed(problem, output);
        telemetry.snapshot("created");
        const calls = agentProgram.pending;
        return {
          status: "waiting",
          runId: agentProgram.runId,
          reason,
          ...(calls.length > 0 ? { pendingToolCalls: calls } : {}),
          ...listed(output),
          telemetry: telemetry.read(),
        };
      }
      default:
        return result satisfies never;
    }
  }

  /** Keeps a suspended program until it is waited for. Otherwise says why not, and the program is gone. */
  #hold(agentProgram: AgentProgram, abortSignal?: AbortSignal): Problem | undefined {
    const { agentPrograms, scope, settings, given, telemetry, signal } = this.#setup;
    agentProgram.isExecuting = false;
    const isAborted = [this.#ending.signal, agentProgram.signal, signal, abortSignal].some(
      (one) => one?.aborted,
    );
    const ms = snapshotMs(settings, given, this.#setup.host().limits);
    const onExpired = (): void => {
      telemetry.snapshot("expired");
      this.#giveUp(agentProgram, "The program was not waited for in time");
      this.#tellBusy();
    };
    const problem: Problem | undefined = isAborted
      ? ["aborted", "The agent run was aborted while the program was being suspended"]
      : scope === undefined
        ? INCOMPLETE
        : agentPrograms.hold(agentProgram, scope, ms, onExpired)
          ? undefined
          : [
              "invalid_input",
              "Too many programs are suspended at once: wait for some of them before you start others that take long",
            ];
    if (problem !== undefined) {
      agentPrograms.remove(agentProgram, problem[0] === "aborted" ? "aborted" : "ended");
      this.#giveUp(agentProgram, problem[1]);
    }
    return problem;
  }

  #drop(how: ProgramEnd, isKept = false): void {
    const { agentPrograms, scope, telemetry } = this.#setup;
    const dropped = scope === undefined ? [] : agentPrograms.of(scope);
    for (const agentProgram of dropped) {
      agentPrograms.remove(agentProgram, how);
      // A program that executes has no snapshot any more.
      if (!agentProgram.isExecuting) telemetry.snapshot("dropped");
    }
    // Calls of programs that are kept go on: an abort would become their outcome for whoever continues the program.
    if (!isKept) for (const agentProgram of dropped) this.#giveUp(agentProgram, "The agent run ended");
  }

  #giveUp(agentProgram: AgentProgram, reason: string): void {
    const { scope = "", trajectory } = this.#setup;
    const { token } = agentProgram;
    agentProgram.abort(reason);
    trajectory.abortCalls(agentProgram.callIds);
    if (token === undefined) return;
    // If the store cannot be reached, it forgets the run when the run expires.
    const discarded = this.#setup.host().discard({ token, scope });
    void this.#track(discarded.catch(() => false));
  }

  #tellBusy(): void {
    const { agentPrograms, scope, onBusy } = this.#setup;
    onBusy(this, this.#live.size > 0 || (scope !== undefined && agentPrograms.of(scope).length > 0));
  }

  #over(agentProgram: AgentProgram, how: ProgramEnd): void {
    const { agentPrograms, trajectory } = this.#setup;
    agentProgram.isExecuting = false;
    agentPrograms.remove(agentProgram, how);
    agentProgram.abort("The program ended");
    trajectory.abortCalls(agentProgram.callIds);
  }

  #toFailed({ program, calls }: AgentProgram, { details }: Failure): FailedProgram {
    const { source = "", language = "javascript" } = program ?? {};
    const tool = details?.["tool"];
    return {
      source,
      language,
      calls,
      toolId: typeof tool === "string" ? this.#setup.nested.idOf(tool) : undefined,
    };
  }

  #failed([code, error]: Problem, output: readonly CodeModeOutput[] = []): CodeModeResult {
    const { telemetry } = this.#setup;
    telemetry.failure(code);
    return { status: "failed", error: toLine(error), code, ...listed(output), telemetry: telemetry.read() };
  }
}

/** What happened to the snapshot from which a wait was to go on. */
function snapshotEventOf(failure: Failure | undefined): SnapshotEvent {
  if (failure === undefined || !REFUSED.has(failure.code)) return "restored";
  return failure.code === "token_expired" ? "expired" : "dropped";
}

/** Leaves `output` out of a result if it is empty. */
function listed(output: readonly CodeModeOutput[]): { readonly output?: readonly CodeModeOutput[] } {
  return output.length === 0 ? {} : { output };
}
