/**
 * Cell: one run living in a vm of this worker.
 *
 * - Moves only in `start` and `deliver`; between them no guest code is on any stack and the vm may be parked.
 * - Its failures are classed here, by what this side saw; nothing the guest says picks a code.
 * - After it ended, or after anything unexpected, its vm is thrown away unless it can be reset exactly.
 */
import type { CallRequest, CellEnd, CellFailure, Command, Report, TimerChange } from "../bridge/protocol.ts";
import type { Failure, FailureCode } from "../contract/failure.ts";
import type { Delivery } from "../contract/ledger.ts";
import type { LogLevel, LogLine } from "../contract/result.ts";
import { HOST, NO_CALL, THROWN } from "../guest/abi.ts";
import type { PreparedSource } from "../source/prepare.ts";
import { utf8Bytes } from "../value/json-text.ts";
import type { ParkedMemory } from "./image.ts";
import type { SourceCache } from "./source-cache.ts";
import { type ThrownError, toFailure } from "./thrown.ts";
import { type HostArguments, type Vm, VmFault, type VmOutcome, type VmOwner } from "./vm.ts";
import type { VmHolder, VmPool } from "./vm-pool.ts";

export type StartCommand = Extract<Command, { type: "start" }>;

/** What a cell needs of its worker. */
export interface CellEnvironment {
  readonly vms: VmPool;
  readonly sources: SourceCache;
  readonly now: () => number;
  /** Whether the host asked this cell to stop. */
  readonly isCancelled: (cell: number) => boolean;
}

const MAX_TOOL_NAME_BYTES = 1024;
/** Inputs of all calls made before the guest waits: they are held here until then. */
const TURN_INPUT_SIZE = 8 * 1024 * 1024;
/** The prelude bounds what it says about an error, in UTF-16 units. */
const MAX_TEXT_BYTES = 65_536;
/** What a log line costs beside its text, so that empty lines are bounded too. */
const LOG_LINE_BYTES = 16;

export class Cell implements VmOwner, VmHolder {
  clock: number;
  readonly #command: StartCommand;
  readonly #environment: CellEnvironment;
  readonly #toolNames: readonly string[];
  #source: PreparedSource | undefined;
  #vm: Vm | undefined;
  #parked: ParkedMemory | undefined;
  #cpuTimeMs = 0;
  #deadline = 0;
  #callCount = 0;
  #settledCalls = 0;
  #logBytes = 0;
  #timers = new Set<number>();
  /** What became of timers since the guest was entered. */
  #netTimers = new Map<number, number | null>();
  #compiling = false;
  #tooManyCalls = false;
  #returned: string | undefined;
  #unhandled: CellFailure | null = null;
  #end: CellEnd | null = null;
  #turnSize = 0;
  // What the next report carries.
  #calls: CallRequest[] = [];
  #timerChanges: TimerChange[] = [];
  #logs: LogLine[] = [];
  #logsDropped = 0;

  constructor(command: StartCommand, environment: CellEnvironment) {
    this.#command = command;
    this.#environment = environment;
    this.#toolNames = JSON.parse(command.toolNames) as string[];
    this.clock = command.clock;
  }

  /** Whether nothing can happen to this cell any more. */
  get isOver(): boolean {
    const waits = this.#callCount > this.#settledCalls;
    return this.#end !== null || (this.#returned !== undefined && !waits);
  }

  start(): Report {
    this.#timed(() => {
      const prepared = this.#environment.sources.prepare(this.#command.source, this.#command.language);
      if (!prepared.ok) {
        this.#fail({ failure: prepared.failure, call: null });
        return;
      }
      this.#source = prepared;
      this.#enter((vm) => {
        vm.limit(this.#command.limits.memoryBytes, this.#command.limits.stackBytes);
        const { seed, toolNames } = this.#command;
        this.#compiling = true;
        return vm.start(prepared.script, seed, toolNames, () => {
          this.#compiling = false;
        });
      });
      for (const delivery of this.#command.history) this.#deliver(delivery);
    });
    return this.#report();
  }

  deliver(delivery: Delivery): Report {
    this.#timed(() => this.#deliver(delivery));
    return this.#report();
  }

  park(): void {
    const { vms } = this.#environment;
    vms.stopWaiting(this);
    if (this.#vm !== undefined) this.#parked = vms.park(this.#vm);
    this.#vm = undefined;
  }

  drop(): void {
    const { vms } = this.#environment;
    vms.stopWaiting(this);
    if (this.#vm !== undefined) vms.release(this.#vm);
    this.#vm = undefined;
    this.#parked = undefined;
  }

  interrupt(): boolean {
    return (
      this.#tooManyCalls ||
      this.#environment.now() > this.#deadline ||
      this.#environment.isCancelled(this.#command.cell)
    );
  }

  hostCall(kind: number, args: HostArguments): string | undefined {
    switch (kind) {
      case HOST.call:
        return this.#call(this.#toolNames[args.number(1)], args);
      case HOST.callUnknown:
        return this.#call(args.string(1, MAX_TOOL_NAME_BYTES), args);
      case HOST.log:
        return this.#log(args);
      case HOST.timerSet:
        return this.#setTimer(args.number(1), args.number(2));
      case HOST.timerClear:
        this.#clearTimer(args.number(1));
        return undefined;
      case HOST.done:
        return this.#done(args);
      case HOST.thrown:
        // Nobody asked for the value of the last expression: one that cannot cross is no failure.
        if (args.number(1) === THROWN.badResult && this.#source?.isResultImplied === true)
          this.#returned = "null";
        else this.#fail(this.#thrown(args));
        return undefined;
      case HOST.unhandled:
        this.#unhandled = this.#thrown(args);
        return undefined;
      default:
        throw new VmFault("trap", `The prelude sent an unknown message ${kind}`);
    }
  }

  #deliver(delivery: Delivery): void {
    // As if it had come too late, which it may have in another placement.
    if (this.isOver) return;
    this.clock = delivery.clock;
    this.#enter((vm) => {
      for (const item of delivery.items) {
        let outcome: VmOutcome;
        if (item.kind === "timer") outcome = this.#timers.delete(item.timer) ? vm.fire(item.timer) : "ok";
        else {
          this.#settledCalls++;
          outcome =
            item.kind === "output"
              ? vm.settle("resolve", item.call, item.output)
              : vm.settle("reject", item.call, JSON.stringify(item.failure));
        }
        if (outcome !== "ok") return outcome;
      }
      return "ok";
    });
  }

  get #hasNothingToWaitFor(): boolean {
    return (
      this.#returned !== undefined || (this.#callCount === this.#settledCalls && this.#timers.size === 0)
    );
  }

  /** Runs guest code until its job queue is empty. */
  #enter(action: (vm: Vm) => VmOutcome): void {
    this.#turnSize = 0;
    const { vms } = this.#environment;
    vms.stopWaiting(this);
    const vm = (this.#vm ??= vms.acquire(this.#command.limits.memoryBytes, this.#parked));
    this.#parked = undefined;
    vm.owner = this;
    try {
      let outcome = action(vm);
      if (outcome === "ok") outcome = vm.runJobs();
      this.#unhandled = null;
      if (outcome === "ok" && this.#hasNothingToWaitFor) outcome = vm.finish();
      if (outcome !== "ok" || !vm.isSettled()) this.#spoil(vm, this.#classify(outcome));
    } catch (error) {
      this.#spoil(vm, this.#classifyFault(error));
    }
    for (const [timer, delayMs] of this.#netTimers) this.#timerChanges.push({ timer, delayMs });
    this.#netTimers.clear();
    if (!this.isOver) vms.startWaiting(this);
  }

  #spoil(vm: Vm, reason: Failure): void {
    vm.spoilt = true;
    this.#end = null;
    this.#fail({ failure: reason, call: null });
  }

  #classify(outcome: VmOutcome): Failure {
    if (outcome === "failed") return outOfMemory(this.#command.limits.memoryBytes);
    if (this.#tooManyCalls) return tooManyCalls(this.#command.limits.calls);
    if (this.#environment.isCancelled(this.#command.cell)) return failure("aborted", "The run was aborted");
    if (outcome === "interrupted") {
      return failure(
        "timeout",
        `The program used more than ${this.#command.limits.cpuTimeMs} ms of processor time: do less work per run, or look for a loop that does not end`,
      );
    }
    return failure("guest_error", "The program exhausted the engine's stack");
  }

  #classifyFault(error: unknown): Failure {
    if (error instanceof VmFault && error.reason === "memory")
      return outOfMemory(this.#command.limits.memoryBytes);
    if (error instanceof RangeError) return failure("guest_error", "The program recursed too deeply");
    if (error instanceof WebAssembly.RuntimeError) {
      return this.#hasGrownLarge
        ? outOfMemory(this.#command.limits.memoryBytes)
        : failure("guest_error", "The program made the engine stop");
    }
    return failure("internal", "The sandbox failed while running the program");
  }

  /** Whether running out of memory is a likely cause of what happened. */
  get #hasGrownLarge(): boolean {
    return (this.#vm?.memory.buffer.byteLength ?? 0) > this.#command.limits.memoryBytes / 2;
  }

  #call(tool: string | number | undefined, args: HostArguments): string | undefined {
    const { callInputBytes, calls } = this.#command.limits;
    if (typeof tool !== "string") {
      return callRefusal("unknown_tool", "Cannot call a tool of this name: it is longer than any tool's");
    }
    const input = args.string(2, callInputBytes);
    if (typeof input === "number") {
      const message = `Cannot call tool "${tool}": its input has ${input} bytes, at most ${callInputBytes} are allowed`;
      return callRefusal("input_limit", message);
    }
    this.#turnSize += input.length;
    const turnLimit = Math.max(TURN_INPUT_SIZE, callInputBytes);
    if (this.#turnSize > turnLimit) {
      const message = `Cannot pass more than ${turnLimit} characters of input at once: await some calls before making more`;
      return callRefusal("input_limit", message);
    }
    if (this.#callCount >= calls) {
      // The run is over, whatever the program does about it.
      this.#tooManyCalls = true;
      this.#fail({ failure: tooManyCalls(calls), call: null });
      return callRefusal("input_limit", `Cannot make more than ${calls} calls in one run`);
    }
    this.#callCount++;
    this.#calls.push({ tool, input });
    return undefined;
  }

  #log(args: HostArguments): undefined {
    const left = this.#command.limits.logBytes - this.#logBytes - LOG_LINE_BYTES;
    const text = args.string(2, Math.max(0, left));
    if (typeof text === "number" || left < 0) {
      this.#logsDropped++;
      return;
    }
    this.#logBytes += LOG_LINE_BYTES + utf8Bytes(text);
    this.#logs.push({ level: args.string(1, MAX_TEXT_BYTES) as LogLevel, text });
  }

  #setTimer(timer: number, delayMs: number): string | undefined {
    if (this.#timers.size >= this.#command.limits.timers) {
      return `Cannot set more than ${this.#command.limits.timers} timers at once`;
    }
    this.#timers.add(timer);
    this.#netTimers.set(timer, delayMs);
    return undefined;
  }

  #clearTimer(timer: number): void {
    this.#timers.delete(timer);
    // One that was set since the guest was entered is not known outside.
    if (!this.#netTimers.delete(timer)) this.#netTimers.set(timer, null);
  }

  #done(args: HostArguments): undefined {
    const { resultBytes } = this.#command.limits;
    const result = args.string(1, resultBytes);
    if (typeof result === "string") {
      this.#returned = result;
      return;
    }
    const message = `The result has ${result} bytes, at most ${resultBytes} are allowed: return less, for example only the fields that are needed`;
    this.#fail({ failure: failure("result_limit", message), call: null });
  }

  #thrown(args: HostArguments): CellFailure {
    if (args.number(1) === THROWN.outOfMemory) {
      return { failure: outOfMemory(this.#command.limits.memoryBytes), call: null };
    }
    const call = args.number(2);
    const text = (index: number): string => String(args.string(index, MAX_TEXT_BYTES));
    const thrown = { name: text(3), message: text(4), stack: text(5) };
    if (this.#isOutOfMemoryInDisguise(thrown)) {
      return { failure: outOfMemory(this.#command.limits.memoryBytes), call: null };
    }
    const code: FailureCode = this.#compiling ? "syntax_error" : "guest_error";
    return {
      failure: toFailure(code, thrown, this.#source as PreparedSource),
      call: call === NO_CALL ? null : call,
    };
  }

  /** Without memory for an error the engine throws null. */
  #isOutOfMemoryInDisguise({ name, message }: ThrownError): boolean {
    return this.#hasGrownLarge && name === "" && message === "null";
  }

  /** The first end counts: what fails after it is a consequence. */
  #fail(failed: CellFailure): void {
    if (this.#end === null) this.#end = { status: "failed", failure: failed };
  }

  #timed(action: () => void): void {
    const start = this.#environment.now();
    this.#deadline = start + this.#command.limits.cpuTimeMs - this.#cpuTimeMs;
    action();
    this.#cpuTimeMs += this.#environment.now() - start;
  }

  #report(): Report {
    const report: Report = {
      cell: this.#command.cell,
      calls: this.#calls,
      timers: this.#timerChanges,
      logs: this.#logs,
      logsDropped: this.#logsDropped,
      cpuTimeMs: this.#cpuTimeMs,
      end: this.#end ?? this.#returnedEnd(),
      unhandled: this.#unhandled,
      isOver: this.isOver,
    };
    this.#calls = [];
    this.#timerChanges = [];
    this.#logs = [];
    return report;
  }

  #returnedEnd(): CellEnd | null {
    if (this.#returned === undefined) return null;
    return { status: "returned", result: this.#returned };
  }
}

function failure(code: FailureCode, message: string): Failure {
  return { code, message };
}

function outOfMemory(memoryBytes: number): Failure {
  return failure(
    "memory_limit",
    `The program needed more than ${memoryBytes} bytes of memory: keep less data at once, for example filter or page inside the loop`,
  );
}

function tooManyCalls(calls: number): Failure {
  return failure(
    "call_limit",
    `Cannot make more than ${calls} calls in one run: split the work over several runs`,
  );
}

function callRefusal(code: string, message: string): string {
  return JSON.stringify({ code, name: "CallError", message });
}
