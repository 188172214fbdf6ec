/**
 * Runs in a worker thread. Outbox counts the calls, timers and log lines of a cell on their way out, and keeps them
 * within the cell's limits.
 *
 * - Outbox refuses before it holds anything: a guest cannot make its worker hold more than the limits allow.
 * - A timer that the guest sets and clears before it waits never leaves the worker.
 */
import type { CellLimits, Report } from "../protocol/messages.ts";
import type { LedgerCall, TimerChange } from "../contract/ledger.ts";
import type { LogLevel, LogLine } from "../contract/result.ts";
import { utf8Bytes } from "../value/json-text.ts";
import { callRefusal } from "./cell-failures.ts";
import type { CellState } from "./snapshot.ts";
import type { HostArguments } from "./vm.ts";

/** Bounds the inputs of all calls that the guest makes before it waits: Outbox holds them until then. */
const BURST_INPUT_SIZE = 8 * 1024 * 1024;
const MAX_LEVEL_BYTES = 64;
/** What a log line costs beside its text. It bounds empty lines too. */
const LOG_LINE_BYTES = 16;

export class Outbox {
  callCount = 0;
  /** Whether the guest tried to make more calls than it may. */
  hasTooManyCalls = false;
  readonly #limits: CellLimits;
  #timers = new Set<number>();
  /** Changes of timers since the guest was entered. */
  #netTimers = new Map<number, number | null>();
  #burstSize = 0;
  // What has been reported so far.
  #timerChangeCount = 0;
  #logCount = 0;
  #logBytes = 0;
  #logsDropped = 0;
  // What the next report carries.
  #calls: LedgerCall[] = [];
  #timerChanges: TimerChange[] = [];
  #logs: LogLine[] = [];

  constructor(limits: CellLimits) {
    this.#limits = limits;
  }

  get timersSet(): number {
    return this.#timers.size;
  }

  /** Call when the guest is entered. */
  beginBurst(): void {
    this.#burstSize = 0;
  }

  /** Call when the guest waits again. */
  endBurst(): void {
    for (const [timer, delayMs] of this.#netTimers) this.#timerChanges.push({ timer, delayMs });
    this.#netTimers.clear();
  }

  /** Returns why the call may not cross, as text for the guest; undefined when it may. */
  addCall(tool: string | number | undefined, args: HostArguments): string | undefined {
    const { callInputBytes, calls } = this.#limits;
    if (typeof tool !== "string") {
      return callRefusal(
        "unknown_tool",
        "Cannot call the tool: its name is longer than the name of any tool",
      );
    }
    const input = args.string(2, callInputBytes);
    if (typeof input === "number") {
      const message = `Cannot call tool "${tool}": its input has ${input} bytes, at most ${callInputBytes} are allowed`;
      return callRefusal("input_limit", message);
    }
    this.#burstSize += input.length;
    const burstLimit = Math.max(BURST_INPUT_SIZE, callInputBytes);
    if (this.#burstSize > burstLimit) {
      const message = `Cannot pass more than ${burstLimit} characters of input at once: await some calls before making more`;
      return callRefusal("input_limit", message);
    }
    if (this.callCount >= calls) {
      this.hasTooManyCalls = true;
      return callRefusal("input_limit", `Cannot make more than ${calls} calls in one run`);
    }
    this.callCount++;
    this.#calls.push({ tool, input });
    return undefined;
  }

  addLog(args: HostArguments): undefined {
    const left = this.#limits.logBytes - this.#logBytes - LOG_LINE_BYTES;
    const text = args.string(2, Math.max(0, left));
    if (typeof text === "number" || left < 0) {
      this.#logsDropped++;
      return;
    }
    this.#logBytes += LOG_LINE_BYTES + utf8Bytes(text);
    this.#logs.push({ level: args.string(1, MAX_LEVEL_BYTES) as LogLevel, text });
  }

  /** Returns why no timer can be set, as text for the guest; undefined when it was set. */
  setTimer(timer: number, delayMs: number): string | undefined {
    if (this.#timers.size >= this.#limits.timers) {
      return `Cannot set more than ${this.#limits.timers} timers at once`;
    }
    this.#timers.add(timer);
    this.#netTimers.set(timer, delayMs);
    return undefined;
  }

  clearTimer(timer: number): void {
    this.#timers.delete(timer);
    // Nobody outside knows a timer that was set since the guest was entered.
    if (!this.#netTimers.delete(timer)) this.#netTimers.set(timer, null);
  }

  /** Takes a timer that is due. False when the timer is not set. */
  takeTimer(timer: number): boolean {
    return this.#timers.delete(timer);
  }

  /** Hands over everything gathered since the last report. */
  take(): Pick<Report, "calls" | "timers" | "logs" | "logsDropped"> {
    const taken = {
      calls: this.#calls,
      timers: this.#timerChanges,
      logs: this.#logs,
      logsDropped: this.#logsDropped,
    };
    this.#timerChangeCount += this.#timerChanges.length;
    this.#logCount += this.#logs.length;
    this.#calls = [];
    this.#timerChanges = [];
    this.#logs = [];
    return taken;
  }

  /** Call between two entries, after `take` has taken everything. */
  state(deliveries: number): Pick<CellState, "progress" | "timers" | "logBytes" | "logsDropped"> {
    return {
      progress: {
        deliveries,
        calls: this.callCount,
        timers: this.#timerChangeCount,
        logs: this.#logCount,
      },
      timers: [...this.#timers],
      logBytes: this.#logBytes,
      logsDropped: this.#logsDropped,
    };
  }

  /** Goes on from a snapshot's state. False when an earlier placement was allowed more than this one is. */
  restore({ progress, timers, logBytes, logsDropped }: CellState): boolean {
    if (progress.calls > this.#limits.calls || timers.length > this.#limits.timers) return false;
    this.callCount = progress.calls;
    this.#timerChangeCount = progress.timers;
    this.#logCount = progress.logs;
    this.#timers = new Set(timers);
    this.#logBytes = logBytes;
    this.#logsDropped = logsDropped;
    return true;
  }
}
