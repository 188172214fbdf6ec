/**
 * Run: drives one run from its ledger to its result.
 *
 * - Every delivery is recorded before the guest sees it, every call before it is dispatched.
 * - With a journal both are durable before they happen. Without one nothing here waits for a store.
 * - Settles exactly once. After that nothing the cell or a tool does is seen.
 */
import type { Authorize } from "../bridge/invoke.ts";
import type { Report, TimerChange } from "../bridge/protocol.ts";
import type { Failure } from "../contract/failure.ts";
import type { Delivery, DeliveryItem, Ledger } from "../contract/ledger.ts";
import type { CallResolution, LogLine, RunResult, Suspension } from "../contract/result.ts";
import type { ToolSet } from "../contract/tool.ts";
import type { Json } from "../contract/value.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { LedgerBook } from "../suspend/ledger-book.ts";
import { isTurnLong, nextTurn } from "../bridge/turn.ts";
import { parseJsonText } from "../value/json-text.ts";
import { CallQueue } from "./call-queue.ts";
import { CallRunner } from "./call-runner.ts";
import { Deadline } from "./deadline.ts";
import type { EventStream } from "./event-stream.ts";
import {
  abortedFailure,
  deadlockFailure,
  explain,
  ledgerEndedFailure,
  ledgerFailure,
  lostFailure,
  timeoutFailure,
  unhandledFailure,
} from "./failures.ts";
import type { Journal } from "./journal.ts";
import { Residence } from "./residence.ts";
import { RunTimers } from "./timers.ts";

export interface RunSetup {
  readonly book: LedgerBook;
  readonly sandbox: Sandbox;
  /** Undefined replays: nothing but what the ledger holds may happen. */
  readonly tools: ToolSet | undefined;
  readonly signal: AbortSignal | undefined;
  readonly context: unknown;
  readonly authorize: Authorize | undefined;
  /** Where the ledger is kept; undefined for runs that live and die with this process. */
  readonly journal: Journal | undefined;
  readonly past: RunPast;
  readonly events: EventStream;
  readonly suspend: (
    pending: ReadonlyMap<number, Json>,
    timers: readonly TimerChange[],
  ) => Suspension | Failure | Promise<Suspension | Failure>;
}

/** What a run that is taken up again has to go on with. */
export interface RunPast {
  /** Calls that wait for a decision, with what was asked. */
  readonly pending: ReadonlyMap<number, Json>;
  /** Calls to execute, with the decision that was made about them. */
  readonly open: ReadonlyMap<number, CallResolution | undefined>;
  /** Outcomes the program has not seen. */
  readonly items: readonly DeliveryItem[];
  readonly timers: readonly TimerChange[];
}

export const NO_PAST: RunPast = { pending: new Map(), open: new Map(), items: [], timers: [] };

/** How long a failed run waits for tools that ignore its abort. */
const STOP_GRACE_MS = 5000;

export class Run {
  readonly events: EventStream;
  readonly result: Promise<RunResult>;
  readonly #setup: RunSetup;
  readonly #book: LedgerBook;
  readonly #settle: (result: RunResult) => void;
  readonly #startedAt = performance.now();
  readonly #abort = new AbortController();
  readonly #queue: CallQueue;
  /** Undefined in a replay. */
  readonly #runner: CallRunner | undefined;
  readonly #timers: RunTimers;
  readonly #deadline: Deadline;
  readonly #onAbort = (): void => this.#stop(abortedFailure(this.#setup.signal?.reason));
  /** Calls whose tools suspended the run, with what they asked for. */
  readonly #suspended = new Map<number, Json>();
  readonly #residence: Residence;
  /** Whether a delivery is on its way into the journal. */
  #isWriting = false;
  #items: DeliveryItem[] = [];
  #logs: LogLine[] = [];
  #logsDropped = 0;
  #cpuTimeMs = 0;
  #lastReport: Report | undefined;
  #stopping = false;
  #isLeft = false;
  #settled = false;

  constructor(setup: RunSetup) {
    this.#setup = setup;
    this.#book = setup.book;
    this.events = setup.events;
    const { promise, resolve } = Promise.withResolvers<RunResult>();
    this.result = promise;
    this.#settle = resolve;
    const { limits } = this.#book.header;
    this.#queue = new CallQueue(limits.callsInFlight, limits.callsQueued, (index) => this.#execute(index));
    this.#timers = new RunTimers((timer) => this.#receive({ kind: "timer", timer }));
    this.#deadline = new Deadline(limits.wallTimeMs, () =>
      this.#stop(timeoutFailure(this.#book, this.#queue.inFlight)),
    );
    this.#residence = new Residence(setup.book, setup.sandbox, {
      onReport: (report) => this.#onReport(report),
      onLost: (loss) => this.#stop(lostFailure(loss, limits)),
    });
    if (setup.journal !== undefined) setup.journal.onBroken = (failure) => this.#stop(failure);
    if (setup.tools !== undefined) {
      const { tools, context, authorize } = setup;
      this.#runner = new CallRunner({
        runId: this.runId,
        tools,
        limits,
        context,
        authorize,
        signal: this.#abort.signal,
        deadline: this.#deadline,
        emit: (event) => this.#emit(event),
      });
    }
  }

  get runId(): string {
    return this.#book.header.runId;
  }

  ledger(): Ledger {
    return this.#book.toLedger();
  }

  /** Begins; a refusal ends the run before anything is placed. */
  start(refusal: Failure | undefined): void {
    this.events.emit({ type: "run-start", runId: this.runId, clock: this.#book.header.clock });
    if (refusal !== undefined) {
      this.#stop(refusal);
      return;
    }
    const { signal } = this.#setup;
    if (signal?.aborted === true) {
      this.#onAbort();
      return;
    }
    signal?.addEventListener("abort", this.#onAbort, { once: true });
    const { pending, open, items, timers } = this.#setup.past;
    for (const [index, payload] of pending) this.#suspended.set(index, payload);
    this.#residence.place();
    this.#timers.apply(timers);
    this.#queue.take([...open.keys()]);
    for (const item of items) this.#receive(item);
  }

  /** Its host closes: it ends here, and with a journal it can go on elsewhere. */
  leave(): void {
    this.#isLeft = true;
    this.#stop(abortedFailure("the host was closed"));
  }

  #onReport(report: Report): void {
    if (this.#stopping) return;
    this.#lastReport = report;
    if (report.isOver) this.#items = [];
    this.#cpuTimeMs = report.cpuTimeMs;
    this.#logsDropped = this.#book.newlyDropped(report);
    const news = this.#book.read(report);
    if (news === undefined) {
      this.#stop({
        code: "replay_diverged",
        message: "The program made another call than its ledger recorded",
      });
      return;
    }
    for (const line of news.logs) {
      this.#logs.push(line);
      this.events.emit({ type: "log", runId: this.runId, ...line });
    }
    if (report.end?.status === "failed") {
      void this.#fail(explain(this.#book, report.end.failure));
      return;
    }
    if (this.#book.size > this.#book.header.limits.ledgerSize) {
      void this.#fail(ledgerFailure(this.#book.header.limits));
      return;
    }
    if (this.#setup.tools === undefined) this.#replayOnly(news.calls.length);
    else {
      // Not waited for: no call of it is dispatched before the entry behind this one is durable.
      if (news.calls.length > 0 || news.timers.length > 0) {
        const { calls, timers } = news;
        void this.#setup.journal?.write({
          kind: "turn",
          at: Date.now(),
          calls,
          timers,
          seen: this.#book.seen,
        });
      }
      this.#setTimers(news.timers, report);
      if (!this.#queue.admit(news.calls.map((_, index) => news.firstCall + index))) {
        const { callsInFlight, callsQueued } = this.#book.header.limits;
        const message = `Cannot make ${news.calls.length} calls at once: ${callsInFlight} may execute and ${callsQueued} may wait, make them in smaller groups`;
        void this.#fail({ code: "call_limit", message });
        return;
      }
    }
    this.#advance();
  }

  /** A replay has no tools: a call that is not in the ledger, or has no outcome there, ends it. */
  #replayOnly(newCalls: number): void {
    if (newCalls === 0) return;
    // A run that was stopped may have gone further than anybody read.
    this.#stop(
      this.#book.stopped ?? {
        code: "replay_diverged",
        message: "The program made calls that its ledger does not hold",
      },
    );
  }

  #setTimers(changes: readonly TimerChange[], report: Report): void {
    if (report.end === null) this.#timers.apply(changes);
    else this.#timers.clear();
  }

  async #execute(index: number): Promise<void> {
    const call = this.#book.calls[index];
    if (call === undefined || this.#runner === undefined) return;
    const { journal, past } = this.#setup;
    const resolution = past.open.get(index);
    if (journal !== undefined) {
      // Rejects only when the journal broke, which has ended the run.
      await journal.write({
        kind: "dispatch",
        call: index,
        ...(resolution === undefined ? {} : { resolution }),
      });
      if (this.#stopping) return;
    }
    const outcome = await this.#runner.execute(index, call, resolution);
    if (outcome.status === "suspended") {
      await journal?.write({ kind: "asked", call: index, payload: outcome.payload });
      this.#suspended.set(index, outcome.payload);
    } else if (outcome.status === "completed") {
      this.#receive({ kind: "output", call: index, output: outcome.output });
    } else this.#receive({ kind: "failure", call: index, failure: outcome.failure });
    // After the queue has let go of this call.
    process.nextTick(() => this.#advance());
  }

  /** Hands something over to the guest, together with all that is ready in this turn of the event loop. */
  #receive(item: DeliveryItem): void {
    this.#items.push(item);
    if (this.#items.length > 1) return;
    // Timers that are due together fire one by one in the same turn.
    if (item.kind === "timer") setImmediate(() => this.#flush());
    else process.nextTick(() => this.#flush());
  }

  #flush(): void {
    if (this.#stopping || this.#isWriting || this.#items.length === 0) return;
    const delivery = { clock: Date.now(), items: this.#items };
    this.#items = [];
    const { journal } = this.#setup;
    if (journal === undefined) {
      this.#deliver(delivery);
      return;
    }
    this.#isWriting = true;
    journal.write({ kind: "delivery", delivery }).then(
      () => {
        this.#isWriting = false;
        if (this.#stopping) return;
        this.#deliver(delivery);
        this.#flush();
      },
      // The journal broke, which has ended the run.
      () => {},
    );
  }

  #deliver(delivery: Delivery): void {
    this.#book.addDelivery(delivery);
    this.#residence.deliver(delivery);
  }

  /** Settles the run when nothing can move it any more. */
  #advance(): void {
    if (this.#stopping || !this.#residence.isSettled || this.#isWriting) return;
    if (this.#items.length > 0 || this.#queue.size > 0) return;
    const end = this.#lastReport?.end ?? null;
    const { stopped } = this.#book;
    if (this.#setup.tools === undefined && stopped !== undefined) this.#stop(stopped);
    else if (this.#suspended.size > 0) void this.#suspend();
    else if (end === null && this.#timers.size > 0) return;
    else if (end?.status === "returned") void this.#return(end.result);
    else if (this.#setup.tools === undefined) this.#stop(ledgerEndedFailure());
    else this.#stop(unhandledFailure(this.#book, this.#lastReport) ?? deadlockFailure());
  }

  async #suspend(): Promise<void> {
    this.#stopping = true;
    const suspension = await this.#setup.suspend(this.#suspended, this.#timers.left());
    if ("code" in suspension) this.#stop(suspension);
    else this.#finish({ status: "suspended", suspension });
  }

  async #return(result: string): Promise<void> {
    this.#stopping = true;
    const unhandled = unhandledFailure(this.#book, this.#lastReport);
    if (unhandled !== undefined) {
      this.#stop(unhandled);
      return;
    }
    while (isTurnLong()) await nextTurn();
    const parsed = parseJsonText(result, this.#book.header.limits.resultBytes);
    if (parsed.ok) this.#finish({ status: "completed", value: parsed.value });
    else this.#stop({ code: "result_limit", message: `Cannot use the result: ${parsed.problem}` });
  }

  /** The program failed: its calls are told to stop, and get a moment to do so. */
  async #fail(failure: Failure): Promise<void> {
    if (this.#stopping) return;
    this.#stopping = true;
    this.#deadline[Symbol.dispose]();
    this.#residence.leave();
    this.#timers.clear();
    this.#abortCalls();
    this.#queue.close();
    let grace: NodeJS.Timeout | undefined;
    const graceOver = new Promise<void>((resolve) => {
      grace = setTimeout(resolve, STOP_GRACE_MS);
    });
    await Promise.race([this.#queue.idle, graceOver]);
    clearTimeout(grace);
    this.#finish({ status: "failed", failure });
  }

  /** Ends the run at once, whatever its tools do. */
  #stop(failure: Failure): void {
    if (this.#settled) return;
    this.#finish({ status: "failed", failure });
  }

  #finish(outcome: Ending): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#stopping = true;
    const endedItself = this.#lastReport?.end?.status === "failed";
    if (outcome.status === "failed" && !endedItself) this.#book.stopped = outcome.failure;
    this.#residence.leave();
    this.#timers.clear();
    this.#abortCalls();
    this.#queue.close();
    this.#deadline[Symbol.dispose]();
    this.#setup.signal?.removeEventListener("abort", this.#onAbort);
    const result: RunResult = {
      ...outcome,
      runId: this.runId,
      logs: this.#logs,
      logsDropped: this.#logsDropped,
      stats: {
        wallTimeMs: performance.now() - this.#startedAt,
        cpuTimeMs: this.#cpuTimeMs,
        calls: this.#book.calls.length,
        rebuilds: this.#residence.rebuilds,
      },
    };
    const announce = (): void => {
      this.events.emit({ type: "run-end", runId: this.runId, result });
      this.#settle(result);
    };
    const { journal } = this.#setup;
    if (journal === undefined || outcome.status === "suspended") announce();
    // A store that refuses now keeps a run that will end the same way, without calling anything, wherever it is resumed.
    else void (this.#isLeft ? journal.release() : journal.delete()).then(announce, announce);
  }

  #abortCalls(): void {
    if (this.#queue.executing > 0) this.#abort.abort(new DOMException("The run ended", "AbortError"));
  }

  #emit(event: Parameters<EventStream["emit"]>[0]): void {
    if (!this.#settled) this.events.emit(event);
  }
}

type Ending =
  | { readonly status: "completed"; readonly value: Json }
  | { readonly status: "suspended"; readonly suspension: Suspension }
  | { readonly status: "failed"; readonly failure: Failure };
