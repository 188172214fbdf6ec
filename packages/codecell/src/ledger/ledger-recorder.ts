/**
 * Runs on the host. LedgerRecorder writes a run's ledger, and checks a rebuilt cell against the ledger.
 *
 * - A rebuilt cell repeats its calls, timers and log lines in the same order. So a count of each kind is enough to tell
 *   what is repeated from what is new.
 * - A repeated call that differs from the recorded call, or that is missing, is a divergence. The recorder never
 *   guesses.
 * - A report may come in pieces. Each is compared when it comes, and what it repeats is not kept. Nothing gets into the
 *   ledger before the report itself is there.
 * - The recorder knows which yields are open: the ledger alone says what waits for a resume.
 */
import type { Report, ReportPiece } from "../protocol/messages.ts";
import type { CallFailure, Failure } from "../contract/failure.ts";
import { behindCall } from "../contract/features.ts";
import {
  type Delivery,
  type Ledger,
  LEDGER_VERSION,
  type LedgerCall,
  type Progress,
  type SettledOutcome,
  type TimerChange,
} from "../contract/ledger.ts";
import type { LogLine } from "../contract/result.ts";
import { atOnce, type Steps } from "../loop/turn.ts";
import { isCount, isDuration, isRecord } from "../value/shape.ts";
import { PastTimers } from "./past-timers.ts";

export type LedgerHeader = Omit<Ledger, "version" | "calls" | "deliveries" | "stopped">;

/**
 * How many timer changes and log lines of a run the host has acted upon, and the processor time that the run had used
 * by then.
 */
export interface Seen {
  readonly timers: number;
  readonly logs: number;
  readonly logsDropped: number;
  readonly cpuTimeMs: number;
}

export function isSeen(value: unknown): value is Seen {
  return (
    isRecord(value) &&
    ["timers", "logs", "logsDropped"].every((name) => isCount(value[name])) &&
    isDuration(value["cpuTimeMs"])
  );
}

/** What a run begins with when it is taken up again. */
export interface Past {
  readonly calls: readonly LedgerCall[];
  readonly deliveries: readonly Delivery[];
  /** Without `seen` all log lines that the program prints again count as new. */
  readonly seen?: Seen;
  /**
   * Whether the same program set and fired its timers in another run. The host of this run has seen none of them: those
   * that are left when the program has repeated its past are news.
   */
  readonly isRepeated?: boolean;
}

/** The part of a report that the ledger did not have yet. */
export interface News {
  readonly firstCall: number;
  readonly calls: readonly LedgerCall[];
  readonly timers: readonly TimerChange[];
  readonly logs: readonly LogLine[];
}

/**
 * The size that counts for a delivery, and for each item in addition to its text. Timers have no text: without this,
 * they would grow the ledger and never reach its limit.
 */
const DELIVERY_SIZE = 64;
const ITEM_SIZE = 64;

/** How many deliveries are read between two steps. */
const PIECE = 1000;

/** Whether the call is a yield: it ends when the run is resumed. */
export function isYield({ features }: Pick<Ledger, "features">, { tool }: LedgerCall): boolean {
  return behindCall(features, tool)?.endedBy === "resume";
}

/** What an outcome counts for. */
export function sizeOfOutcome(outcome: SettledOutcome): number {
  if (outcome.kind === "output") return ITEM_SIZE + outcome.output.length;
  const { name, message, toolCode = "", shownCode = "", details = "" } = outcome.failure;
  return ITEM_SIZE + name.length + message.length + toolCode.length + shownCode.length + details.length;
}

export class LedgerRecorder {
  readonly header: LedgerHeader;
  readonly calls: LedgerCall[];
  readonly deliveries: Delivery[];
  readonly #failures = new Map<number, CallFailure>();
  readonly #settled = new Set<number>();
  readonly #openYields = new Set<number>();
  stopped: Failure | undefined;
  #size = 0;
  #seen: Seen;
  /** Log lines dropped before this run was taken up again. */
  #droppedBefore: number;
  // How far the present placement has come.
  #calls = 0;
  #timers = 0;
  #logs = 0;
  // What was new in the pieces of the report that is coming.
  #newCalls: LedgerCall[] = [];
  #newSize = 0;
  #newTimers: TimerChange[] = [];
  /** For a run that repeats the timers of another, until it has. */
  #pastTimers: PastTimers | undefined;
  #isContradicted = false;

  constructor(header: LedgerHeader, past?: Past) {
    this.header = header;
    this.calls = [];
    this.deliveries = [];
    this.#seen = past?.seen ?? { timers: 0, logs: 0, logsDropped: 0, cpuTimeMs: 0 };
    this.#droppedBefore = this.#seen.logsDropped;
    if (past === undefined) return;
    atOnce(this.#begin(past));
  }

  /** Like the constructor, in steps: a past may have a million items. */
  static *after(header: LedgerHeader, past: Past & { readonly seen: Seen }): Steps<LedgerRecorder> {
    const recorder = new LedgerRecorder(header, { calls: [], deliveries: [], seen: past.seen });
    yield* recorder.#begin(past);
    return recorder;
  }

  *#begin({ calls, deliveries, isRepeated }: Past): Steps<void> {
    for (const call of calls) this.#addCall(call);
    for (const [place, delivery] of deliveries.entries()) {
      if (place % PIECE === 0) yield;
      this.addDelivery(delivery);
    }
    if (isRepeated === true) this.#pastTimers = yield* PastTimers.after(deliveries);
  }

  /**
   * Bounded by limits.ledgerSize: the texts of inputs, outputs and failures, and a fixed size for each delivery and
   * item.
   */
  get size(): number {
    return this.#size;
  }

  get seen(): Seen {
    return this.#seen;
  }

  /** Whether the program has yet to repeat the timers of another run. */
  get isRepeated(): boolean {
    return this.#pastTimers !== undefined;
  }

  /** Yields that have not ended, in the order they were made. */
  get openYields(): ReadonlySet<number> {
    return this.#openYields;
  }

  addDelivery(delivery: Delivery): void {
    this.deliveries.push(delivery);
    this.#size += DELIVERY_SIZE;
    for (const item of delivery.items) {
      if (item.kind === "timer") {
        this.#size += ITEM_SIZE;
        continue;
      }
      this.#size += sizeOfOutcome(item);
      this.#settled.add(item.call);
      this.#openYields.delete(item.call);
      if (item.kind === "failure") this.#failures.set(item.call, item.failure);
    }
  }

  /** Whether the outcome of a call was delivered. */
  isSettled(call: number): boolean {
    return this.#settled.has(call);
  }

  /** The recorded failure of a call. */
  failureOf(call: number): CallFailure | undefined {
    return this.#failures.get(call);
  }

  /** Log lines dropped since this run was taken up. */
  newlyDropped(report: Report): number {
    return Math.max(0, report.logsDropped - this.#droppedBefore);
  }

  /**
   * How far the present placement has come. A delivery counts as soon as it is recorded. So while no report is due, a
   * snapshot taken now stands exactly here.
   */
  get progress(): Progress {
    return {
      deliveries: this.deliveries.length,
      calls: this.#calls,
      timers: this.#timers,
      logs: this.#logs,
    };
  }

  /** For a new placement that repeats everything from the start. */
  rewind(): void {
    this.rewindTo({ deliveries: 0, calls: 0, timers: 0, logs: 0 });
  }

  /**
   * For a new placement that goes on from a snapshot. Returns the deliveries that the snapshot does not have. If the
   * snapshot has more than this ledger, returns undefined and changes nothing.
   */
  rewindTo({ deliveries, calls, timers, logs }: Progress): Delivery[] | undefined {
    if (deliveries > this.deliveries.length || calls > this.calls.length) return undefined;
    this.#calls = calls;
    this.#timers = timers;
    this.#logs = logs;
    this.#newCalls = [];
    this.#newSize = 0;
    this.#newTimers = [];
    this.#pastTimers?.restart();
    this.#isContradicted = false;
    return this.deliveries.slice(deliveries);
  }

  /** Characters of the calls that came in pieces and are not recorded yet. */
  get sizeInPieces(): number {
    return this.#newSize;
  }

  /** Reads what a report begins with. If it contradicts the ledger, so will the report. */
  readPiece({ calls, timers }: Pick<ReportPiece, "calls" | "timers">): void {
    const repeated = Math.max(0, Math.min(calls.length, this.calls.length - this.#calls));
    for (let index = 0; index < repeated; index++) {
      const made = calls[index];
      const recorded = this.calls[this.#calls + index];
      if (made?.tool !== recorded?.tool || made?.input !== recorded?.input) this.#isContradicted = true;
    }
    this.#calls += calls.length;
    if (this.#isContradicted) return;
    // Copies the known fields only: whatever else a worker sends must not get into the ledger.
    for (const { tool, input } of calls.slice(repeated)) {
      this.#newCalls.push({ tool, input });
      this.#newSize += tool.length + input.length;
    }
    for (const { timer, delayMs } of timers.slice(Math.max(0, this.#seen.timers - this.#timers))) {
      if (this.#pastTimers === undefined) this.#newTimers.push({ timer, delayMs });
      else this.#pastTimers.add({ timer, delayMs });
    }
    this.#timers += timers.length;
  }

  /** Returns what is new in a report and its pieces, or undefined if they contradict the ledger. */
  read(report: Report): News | undefined {
    this.readPiece(report);
    const firstCall = Math.min(this.#calls, this.calls.length);
    // The first report of a placement covers its whole history, so it has to repeat all calls. Only a program that
    // failed on the way made fewer.
    if (this.#isContradicted || (firstCall < this.calls.length && report.end?.status !== "failed")) {
      return undefined;
    }
    const calls = this.#newCalls;
    const timers = this.#pastTimers?.left() ?? this.#newTimers;
    this.#newCalls = [];
    this.#newSize = 0;
    this.#newTimers = [];
    this.#pastTimers = undefined;
    for (const call of calls) this.#addCall(call);
    const logs = report.logs.slice(Math.max(0, this.#seen.logs - this.#logs));
    this.#logs += report.logs.length;
    this.#seen = {
      timers: Math.max(this.#seen.timers, this.#timers),
      logs: Math.max(this.#seen.logs, this.#logs),
      logsDropped: Math.max(this.#seen.logsDropped, report.logsDropped),
      cpuTimeMs: Math.max(this.#seen.cpuTimeMs, report.cpuTimeMs),
    };
    return { firstCall, calls, timers, logs };
  }

  #addCall(call: LedgerCall): void {
    if (isYield(this.header, call)) this.#openYields.add(this.calls.length);
    this.calls.push(call);
    this.#size += call.input.length;
  }

  toLedger(): Ledger {
    return {
      version: LEDGER_VERSION,
      ...this.header,
      calls: [...this.calls],
      deliveries: [...this.deliveries],
      ...(this.stopped === undefined ? {} : { stopped: this.stopped }),
    };
  }
}
