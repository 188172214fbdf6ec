/**
 * Runs on the host. Run drives one run from its ledger to its result.
 *
 * - Every delivery is recorded before the guest sees it, every call before it is dispatched.
 * - With a journal both are durable before they happen. Without a journal nothing here waits for a store.
 * - A run settles exactly once. Whatever the cell or a tool does after that is ignored.
 * - `#enter` is the only way from one phase to the next.
 */
import type { Report } from "../protocol/messages.ts";
import type { Failure } from "../contract/failure.ts";
import type { Asked, CallOutcome, Ledger } from "../contract/ledger.ts";
import type { LogLine, RunResult, Suspension } from "../contract/result.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import type { Loss } from "../sandbox/sandbox.ts";
import type { RecordNames } from "../value/json-text.ts";
import { noteLargeResult } from "../value/large-results.ts";
import { isLargeText, parseJson } from "../value/parse-json.ts";
import { isTurnLong, nextTurn } from "../loop/turn.ts";
import { CallQueue } from "../calls/call-queue.ts";
import { CallRunner } from "../calls/call-runner.ts";
import { Deadline } from "./deadline.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { EventStream } from "./event-stream.ts";
import {
  abortedFailure,
  batchFailure,
  deadlockFailure,
  divergedFailure,
  explain,
  ledgerEndedFailure,
  ledgerFailure,
  lostFailure,
  timeoutFailure,
  unhandledFailure,
} from "./failures.ts";
import { Inbox } from "./inbox.ts";
import { platform } from "../platform/host-platform.ts";
import type { Journal } from "../durable/journal.ts";
import { stopCalls } from "../durable/late-outcomes.ts";
import { resolutionsLeft } from "../durable/run-past.ts";
import { toStoreFailure } from "../durable/store-failure.ts";
import { type AfterEnd, isMoving, NEXT_PHASES, type Phase } from "./phase.ts";
import { PlacedCell } from "./placed-cell.ts";
import { type Ending, inputLengthsOf, type RunSetup } from "./run-setup.ts";
import { RunTimers } from "./timers.ts";
import type { Thrown } from "../contract/host-error.ts";
import { LONGEST_MS, within } from "../loop/wait.ts";

/** How long a run that is to be suspended, for a decision or a yield, waits for its other calls. */
const SUSPEND_GRACE_MS = 1000;
/**
 * A replay to the program's own end waits for no tool and no timer: however short the time of its run was, a busy machine
 * may take longer.
 */
const REPLAY_MS = 30_000;
/** How long a run whose time is up may take to come to rest, in addition to its processor time. */
const REST_MS = 10_000;
/** How long a failed run waits for tools that ignore its abort. Whoever waits for the run waits that long too. */
const STOP_GRACE_MS = 1000;

export class Run {
  readonly events: EventStream;
  readonly result: Promise<RunResult>;
  readonly #setup: RunSetup;
  readonly #recorder: LedgerRecorder;
  readonly #journal: Journal | undefined;
  readonly #settle: (result: RunResult) => void;
  readonly #startedAt = performance.now();
  readonly #abort = new AbortController();
  readonly #queue: CallQueue;
  /** Undefined in a replay. */
  readonly #dispatcher: Dispatcher | undefined;
  readonly #timers: RunTimers;
  readonly #deadline: Deadline;
  readonly #onAbort = (): void => this.#stop(abortedFailure(this.#setup.signal?.reason));
  /** Calls whose tools suspended the run, with what they asked for. */
  readonly #suspended = new Map<number, Asked>();
  readonly #placedCell: PlacedCell;
  readonly #inbox: Inbox;
  #grace: ReturnType<typeof setTimeout> | undefined;
  #logs: LogLine[] = [];
  #logsDropped = 0;
  #lastReport: Report | undefined;
  #phase: Phase = { name: "starting" };

  constructor(setup: RunSetup) {
    this.#setup = setup;
    const { past, keeping } = setup;
    const { recorder } = past;
    const { journal } = keeping;
    this.#recorder = recorder;
    this.#journal = journal;
    this.events = setup.events;
    const { promise, resolve } = Promise.withResolvers<RunResult>();
    this.result = promise;
    this.#settle = resolve;
    const { limits, features } = this.#recorder.header;
    this.#queue = new CallQueue(limits, inputLengthsOf(past), (index) => this.#execute(index));
    this.#timers = new RunTimers((timer) => this.#inbox.add({ kind: "timer", timer }));
    this.#inbox = new Inbox(
      journal,
      (delivery) => {
        if (!isMoving(this.#phase)) return;
        this.#recorder.addDelivery(delivery);
        this.#placedCell.deliver(delivery);
      },
      () => this.#advance(),
    );
    const mayTakeLonger = setup.tools === undefined && recorder.stopped === undefined;
    const wallTimeMs = mayTakeLonger ? Math.max(limits.wallTimeMs, REPLAY_MS) : limits.wallTimeMs;
    this.#deadline = new Deadline(wallTimeMs, () => this.#onDeadline());
    const listener = {
      onReport: (report: Report) => this.#onReport(report),
      onLost: (loss: Loss, cause?: unknown) =>
        this.#stop(lostFailure(loss, limits, cause), { source: "sandbox", cause }),
    };
    const { sandbox, compression } = setup;
    this.#placedCell = new PlacedCell(recorder, sandbox, listener, past.snapshot, journal, compression);
    if (journal !== undefined) {
      journal.onBroken = (failure, cause) => this.#leave(failure, { source: "store", cause });
    }
    if (setup.tools !== undefined) {
      const { tools, context, middleware, authorize, mapCallFailure, hostTools, errors } = setup;
      const around = { middleware, authorize, mapCallFailure };
      const caller = { runId: this.runId, tools, context, ...around, hostTools, errors };
      const runner = new CallRunner({
        ...caller,
        features,
        limits,
        signal: this.#abort.signal,
        judgeApart: setup.sandbox.judgeFor(this.runId, this.#abort.signal),
        deadline: this.#deadline,
        emit: (event, inputText) => {
          if (this.#phase.name === "ended") this.events.tell(event, inputText);
          else this.events.emit(event, inputText);
        },
        tellStep: this.events.isHeard ? (step) => this.events.tell(step) : undefined,
      });
      const isStopping = (): boolean => !isMoving(this.#phase);
      this.#dispatcher = new Dispatcher({ tools, runner, keeping, past, isStopping });
    }
  }

  get runId(): string {
    return this.#recorder.header.runId;
  }

  ledger(): Ledger {
    return this.#recorder.toLedger();
  }

  /** False if the table has no way to that phase: the caller has come too late. */
  #enter(next: Phase): boolean {
    if (!NEXT_PHASES[this.#phase.name].includes(next.name)) return false;
    this.#phase = next;
    return true;
  }

  /** Begins the run. A refusal ends it before its cell is placed. */
  start(refusal: Failure | undefined): void {
    const { clock } = this.#recorder.header;
    this.events.emit({ type: "run-start", runId: this.runId, clock });
    if (refusal !== undefined) {
      this.#stop(refusal);
      return;
    }
    const { signal, check } = this.#setup;
    if (signal?.aborted === true) {
      this.#onAbort();
      return;
    }
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    if (check === undefined) this.#place();
    else void check.before(this.#deadline, signal).then((found) => this.#place(found));
  }

  #place(refusal?: Failure): void {
    if (this.#phase.name === "ended") return;
    if (refusal !== undefined) {
      this.#stop(refusal);
      return;
    }
    this.#enter({ name: "running" });
    const { pending, items, timers } = this.#setup.past;
    for (const [index, asked] of pending) this.#suspended.set(index, asked);
    this.#placedCell.place();
    this.#timers.apply(timers);
    for (const item of items) this.#inbox.add(item);
  }

  /** Called when the host closes. The run ends here; with a journal it can go on elsewhere. */
  leave(): void {
    this.#leave(abortedFailure("the host was closed"));
  }

  #onReport(report: Report): void {
    if (!isMoving(this.#phase)) return;
    const isFirst = this.#lastReport === undefined;
    this.#lastReport = report;
    // Nothing can be delivered after the program's end.
    if (report.isOver) this.#inbox.end();
    this.#logsDropped = this.#recorder.newlyDropped(report);
    const news = this.#recorder.read(report);
    if (news === undefined) {
      // Another version of Codecell may agree with the ledger, so a stored run stays in its store.
      this.#leave(divergedFailure("made other calls than its ledger recorded"));
      return;
    }
    for (const line of news.logs) {
      this.#logs.push(line);
      this.events.emit({ type: "log", runId: this.runId, ...line });
    }
    if (report.end?.status === "failed") {
      void this.#fail(explain(this.#recorder, report.end.failure));
      return;
    }
    if (this.#recorder.size > this.#recorder.header.limits.ledgerSize) {
      void this.#fail(ledgerFailure(this.#recorder.header.limits));
      return;
    }
    if (this.#setup.tools === undefined) this.#replayOnly(news.calls.length);
    else {
      // Not awaited: a call is dispatched only when its own entry, which comes after this one, is durable.
      if (news.calls.length > 0 || news.timers.length > 0) {
        const { calls, timers } = news;
        void this.#journal?.write({
          kind: "report",
          at: Date.now(),
          calls,
          timers,
          seen: this.#recorder.seen,
        });
      }
      if (report.end === null) this.#timers.apply(news.timers);
      else this.#timers.clear();
      // Only after the program has repeated its ledger.
      const { open, elsewhere } = this.#setup.past;
      if (isFirst) this.#queue.take([...open.keys(), ...elsewhere.keys()]);
      // No tool serves a yield: it waits for a resume.
      const made = news.calls.map((_, index) => news.firstCall + index);
      if (!this.#queue.admit(made.filter((index) => !this.#recorder.openYields.has(index)))) {
        void this.#fail(batchFailure(this.#recorder.header.limits, news.calls.length));
        return;
      }
    }
    this.#advance();
  }

  /** A replay has no tools: a call that is not in the ledger ends it. */
  #replayOnly(newCalls: number): void {
    if (newCalls === 0) return;
    // A run that was stopped may have made more calls than its ledger holds. Then the replay ends as the run did.
    this.#stop(this.#recorder.stopped ?? divergedFailure("made calls that its ledger does not hold"));
  }

  async #execute(index: number): Promise<void> {
    const call = this.#recorder.calls[index];
    if (call === undefined || this.#dispatcher === undefined) return;
    let outcome: CallOutcome | undefined;
    try {
      outcome = await this.#dispatcher.outcomeOf(index, call);
    } catch (error) {
      // The store failed, so the outcome will not be known here. The run can go on elsewhere.
      this.#leave(toStoreFailure(error), { source: "store", cause: error });
    }
    if (outcome === undefined) return;
    // While the run is being suspended, its outcome has to wait: the keeping does not expect it yet, and the call's
    // earlier question may still stand in its place in the store.
    // An ordinary outcome awaits nothing here.
    if (this.#phase.name === "suspending") await this.#phase.suspension;
    if (this.#phase.name === "ended") {
      this.#takeLate(outcome, this.#phase.run);
      return;
    }
    if (outcome.kind === "asked") {
      // Set first, so that a suspension that begins meanwhile includes the question.
      this.#suspended.set(index, outcome);
      await this.#journal?.write(outcome);
    } else this.#inbox.add(outcome);
    // After the queue has let go of this call.
    platform.afterThis(() => this.#advance());
  }

  /** Takes an outcome that came after the run had ended here. */
  #takeLate(outcome: CallOutcome, run: AfterEnd): void {
    switch (run) {
      case "given away":
        this.#setup.keeping.takeLate(outcome);
        break;
      case "left":
        // Whoever takes the run up finds the output.
        if (this.#journal !== undefined && outcome.kind === "output") this.#setup.keeping.takeLate(outcome);
        break;
      case "over":
        // Nobody needs the outcome, and the run's claim is gone.
        break;
      default:
        run satisfies never;
    }
  }

  /** Ends or suspends the run if nothing can move it any more. */
  #advance(): void {
    const { name } = this.#phase;
    if (name !== "running" && name !== "due") return;
    if (!this.#placedCell.isSettled || !this.#inbox.isEmpty) return;
    const end = this.#lastReport?.end ?? null;
    const isWaiting = this.#queue.size > 0 || (end === null && this.#timers.size > 0);
    if (name === "due" && isWaiting) {
      void this.#suspend();
      return;
    }
    const { stopped, openYields } = this.#recorder;
    const mustSuspend = this.#suspended.size > 0 || (this.#dispatcher !== undefined && openYields.size > 0);
    // A program that is over has given up its calls that still execute: they are aborted when the run ends.
    if (this.#queue.size > 0 && this.#lastReport?.isOver !== true) {
      if (mustSuspend) this.#suspendSoon();
      return;
    }
    if (this.#setup.tools === undefined && stopped !== undefined) this.#stop(stopped);
    else if (mustSuspend) void this.#suspend();
    else if (end === null && this.#timers.size > 0) return;
    else if (end?.status === "returned") void this.#return(end.result);
    else if (this.#setup.tools === undefined) this.#stop(ledgerEndedFailure());
    else this.#stop(unhandledFailure(this.#recorder, this.#lastReport) ?? deadlockFailure());
  }

  #onDeadline(): void {
    const { name } = this.#phase;
    const { stopped } = this.#recorder;
    // A replay of a run that was stopped ends as the run did, however far it has come by then.
    if (this.#setup.tools === undefined && stopped !== undefined) this.#stop(stopped);
    else if (this.#setup.suspendsAtDeadline && (name === "running" || name === "due")) {
      clearTimeout(this.#grace);
      // A program that computes may still use its processor time. The timer also keeps the process alive until then.
      const { cpuTimeMs } = this.#recorder.header.limits;
      this.#grace = setTimeout(() => this.#timeOut(), Math.min(cpuTimeMs + REST_MS, LONGEST_MS));
      this.#becomeDue();
    } else if (name === "due") {
      // If others held the thread, the run became due in this turn, and is yet to be suspended.
      platform.afterTimers(() => {
        if (this.#phase.name === "due") this.#timeOut();
      });
    } else this.#timeOut();
  }

  #timeOut(): void {
    const failure = timeoutFailure(this.#recorder, this.#queue.inFlight, this.#placedCell);
    // A run whose cell never reported has used up nothing: with a store it can be resumed again.
    if (this.#lastReport === undefined) this.#leave(failure);
    else this.#stop(failure);
  }

  /** Waits a moment, because other calls may be about to ask too: one suspension should hold all questions. */
  #suspendSoon(): void {
    this.#grace ??= setTimeout(() => this.#becomeDue(), SUSPEND_GRACE_MS);
  }

  /** From here on the run is suspended as soon as nothing but calls and timers can move it. */
  #becomeDue(): void {
    this.#enter({ name: "due" });
    this.#dispatcher?.hurry();
    // The calls that end now have got their outcomes by then.
    platform.afterTimers(() => this.#advance());
  }

  async #suspend(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<Suspension | Failure>();
    // The calls go on, but their outcomes no longer go to this run's program.
    this.#enter({ name: "suspending", suspension: promise });
    this.#queue.close();
    resolve(this.#giveAway());
    const suspension = await promise;
    if (!("code" in suspension)) {
      this.#finish({ status: "suspended", suspension }, "given away");
      return;
    }
    // A store that could not take the run has it as it was: the run can go on from there.
    const isLeft = suspension.code === "store_failed" || suspension.code === "internal";
    this.#finish({ status: "failed", failure: suspension }, isLeft ? "left" : "over");
  }

  async #giveAway(): Promise<Suspension | Failure> {
    const { keeping, past, errors } = this.#setup;
    try {
      return await keeping.suspend({
        // By call, whichever asked first: the same program gives the same list each time.
        pending: new Map([...this.#suspended].toSorted(([one], [other]) => one - other)),
        // Stopped, because a timer that fired later would be written to a journal that is being closed.
        timers: this.#timers.stop(),
        executing: this.#dispatcher?.executing ?? new Map(),
        abort: this.#abort,
        resolutions: resolutionsLeft(past, this.#suspended),
        snapshot: await this.#placedCell.snapshotThatPays(),
      });
    } catch (error) {
      // Nobody else handles this error: the run has to end, and the process has to go on.
      errors.end({ source: "internal", cause: error });
      return { code: "internal", message: "Cannot suspend the run: an internal error occurred" };
    }
  }

  async #return(result: string): Promise<void> {
    this.#enter({ name: "returning" });
    const unhandled = unhandledFailure(this.#recorder, this.#lastReport);
    if (unhandled !== undefined) return this.#stop(unhandled);
    while (isTurnLong()) await nextTurn();
    const names: RecordNames = new Map();
    const { resultBytes } = this.#recorder.header.limits;
    const parsed = await parseJson(result, resultBytes, undefined, names);
    if (parsed.ok && isLargeText(result)) noteLargeResult(parsed.value, { json: result, names });
    if (parsed.ok) this.#finish({ status: "completed", value: parsed.value }, "over");
    else this.#stop({ code: "result_limit", message: `Cannot use the result: ${parsed.problem}` });
  }

  /** For a program that failed: its calls are told to stop, and get a moment to do so. */
  async #fail(failure: Failure): Promise<void> {
    if (!this.#enter({ name: "failing" })) return;
    this.#deadline[Symbol.dispose]();
    this.#placedCell.leave();
    this.#timers.clear();
    this.#abortCalls();
    this.#queue.close();
    await within(STOP_GRACE_MS, this.#queue.idle);
    this.#finish({ status: "failed", failure }, "over");
  }

  /**
   * Ends the run at once, whatever its tools do. A run that is being suspended cannot be stopped: others may have it
   * already.
   */
  #stop(failure: Failure, thrown?: Thrown, run: "over" | "left" = "over"): void {
    const { name } = this.#phase;
    const isOver = name === "ended" || name === "suspending";
    // The store is needed to the very end; the cell no longer is when the run is over.
    if (thrown !== undefined && (thrown.source === "store" || !isOver)) this.#setup.errors.end(thrown);
    if (name === "suspending") return;
    this.#finish({ status: "failed", failure }, run);
  }

  /** Like `#stop`, for a run that can go on from its store. */
  #leave(failure: Failure, thrown?: Thrown): void {
    this.#stop(failure, thrown, "left");
  }

  #finish(outcome: Ending, run: AfterEnd): void {
    if (!this.#enter({ name: "ended", run })) return;
    const endedItself = this.#lastReport?.end?.status === "failed";
    if (outcome.status === "failed" && !endedItself) this.#recorder.stopped = outcome.failure;
    this.#placedCell.leave();
    this.#timers.clear();
    this.#inbox.close();
    clearTimeout(this.#grace);
    if (run !== "given away") this.#abortCalls();
    this.#queue.close();
    this.#deadline[Symbol.dispose]();
    this.#setup.signal?.removeEventListener("abort", this.#onAbort);
    const result = this.#setup.errors.caused({
      ...(this.#setup.check?.advise(outcome) ?? outcome),
      runId: this.runId,
      logs: this.#logs,
      logsDropped: this.#logsDropped,
      stats: {
        wallTimeMs: performance.now() - this.#startedAt,
        cpuTimeMs: this.#placedCell.cpuTimeMs,
        calls: this.#recorder.calls.length,
        rebuilds: this.#placedCell.rebuilds,
      },
    });
    const announce = (): void => {
      this.events.emit({ type: "run-end", runId: this.runId, result });
      this.#settle(result);
    };
    if (this.#journal === undefined || run === "given away") announce();
    else void this.#setup.keeping.conclude(run === "left", result).then(announce);
  }

  #abortCalls(): void {
    this.#dispatcher?.hurry();
    if (this.#queue.executing > 0) stopCalls(this.#abort);
    this.#setup.keeping.giveUpCalls();
  }
}
