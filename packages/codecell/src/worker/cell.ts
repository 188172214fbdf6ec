/**
 * Runs in a worker thread. Cell is one run that lives in a vm of this worker.
 *
 * - A cell moves only in `start` and `deliver`. Between them no guest code is on any stack, and the pool may park the
 *   vm.
 * - A cell begins with its source or, after `restore`, where the snapshot was taken. From there on both go the same
 *   way.
 * - `decode` and `snapshot` may give promises. Their promised work does not touch the cell, so the cell may be dropped
 *   meanwhile.
 * - This file chooses the codes of failures by what this side saw. Nothing the guest says picks a code.
 * - After the cell ended, or after anything unexpected, its vm is thrown away unless it can be reset exactly.
 */
import type { CellEnd, CellFailure, Report } from "../protocol/messages.ts";
import type { Failure, FailureCode } from "../contract/failure.ts";
import { hasCatalogProfile } from "../contract/features.ts";
import type { Delivery, Progress } from "../contract/ledger.ts";
import { BEHIND_NAMES, DETACHED, HOST, NO_CALL, THROWN } from "../guest/abi.ts";
import type { PreparedSource } from "../source/prepare.ts";
import { utf8Bytes } from "../value/json-text.ts";
import { failure, outOfMemory, outOfTime, resultTooLarge, toFault, tooManyCalls } from "./cell-failures.ts";
import { partBytecode } from "./bytecode.ts";
import { CellTime, type TimeEnvironment } from "./cell-time.ts";
import { nameRefusal, originOf, type StartCommand, toGuestStart } from "./cell-start.ts";
import type { ParkedMemory } from "./image.ts";
import { Outbox } from "./outbox.ts";
import type { Eventual } from "./platform.ts";
import { type CellState, isSameProgress, type Snapshot, type SnapshotCodec } from "./snapshot.ts";
import type { SourceCache } from "./source-cache.ts";
import { detachedCall, type ThrownError, toFailure } from "./thrown.ts";
import { type HostAnswer, type HostArguments, type Vm, VmFault, type VmOutcome, type VmOwner } from "./vm.ts";
import type { VmHolder, VmPool } from "./vm-pool.ts";

/** What a cell needs of its worker. */
export interface CellEnvironment extends TimeEnvironment {
  readonly vms: VmPool;
  readonly sources: SourceCache;
  readonly snapshots: SnapshotCodec;
  /** Whether the host asked this cell to stop. */
  readonly isCancelled: (cell: number) => boolean;
}

const MAX_TOOL_NAME_BYTES = 1024;
/** The prelude bounds the texts of an error too, in UTF-16 units. */
const MAX_TEXT_BYTES = 65_536;

export class Cell implements VmOwner, VmHolder {
  clock: number;
  readonly #command: StartCommand;
  readonly #environment: CellEnvironment;
  /** Tool names by index. The names of what features call come after them. */
  readonly #toolNames: readonly string[];
  readonly #outbox: Outbox;
  readonly #time: CellTime;
  /** Prepared on first use: a cell that goes on from a snapshot may never need it. */
  #source: PreparedSource | undefined;
  #vm: Vm | undefined;
  #parked: ParkedMemory | undefined;
  /** Bytes that the vm has beyond the image. */
  #heapBytes = 0;
  #deliveryCount = 0;
  #settledCalls = 0;
  /** Whether the memory still holds the limits of the placement in which the snapshot was taken. */
  #hasOldLimits = false;
  #compiling = false;
  #returned: string | undefined;
  /** The program has given up its calls that have not ended. */
  #isLeft = false;
  #unhandled: CellFailure | null = null;
  #end: CellEnd | null = null;

  constructor(command: StartCommand, environment: CellEnvironment) {
    this.#command = command;
    this.#environment = environment;
    const names = JSON.parse(command.toolNames) as string[];
    this.#toolNames = [...names, ...BEHIND_NAMES];
    this.#outbox = new Outbox(command.limits);
    this.#time = new CellTime(command.cell, command.limits.cpuTimeMs, command.moves ?? 0, environment);
    this.clock = command.clock;
  }

  /** Whether nothing can happen to this cell any more. */
  get isOver(): boolean {
    const waits = this.#outbox.callCount > this.#settledCalls && !this.#isLeft;
    return this.hasLeft || this.#end !== null || (this.#returned !== undefined && !waits);
  }

  /** The cell computes while others wait: it stopped in the middle of a burst, and its host has to place it again. */
  get hasLeft(): boolean {
    return this.#time.verdict === "computes";
  }

  /**
   * Reads the snapshot that the cell begins with; undefined when there is no snapshot, or it does not fit this build
   * and start.
   */
  decode(): Eventual<Snapshot | undefined> {
    const { snapshot, limits } = this.#command;
    if (snapshot === undefined) return undefined;
    const { vms, snapshots } = this.#environment;
    return snapshots.decode(snapshot.bytes, originOf(this.#command), vms.mostBytes(limits.memoryBytes));
  }

  /** Takes up a snapshot in place of the source. False when the snapshot does not fit; then the cell is of no use. */
  restore(snapshot: Snapshot | undefined, progress: Progress): boolean {
    const { vms } = this.#environment;
    const { resultBytes } = this.#command.limits;
    if (snapshot === undefined) return false;
    const { state, memory } = snapshot;
    if (!isSameProgress(state.progress, progress) || !this.#outbox.restore(state)) return false;
    if (state.returned !== null && utf8Bytes(state.returned) > resultBytes) return false;
    this.clock = state.clock;
    this.#parked = memory;
    this.#hasOldLimits = true;
    this.#time.restore(state.cpuTimeMs);
    this.#deliveryCount = state.progress.deliveries;
    this.#settledCalls = state.settledCalls;
    this.#returned = state.returned ?? undefined;
    this.#unhandled = state.unhandled;
    if (this.isOver) return false;
    vms.adopt(memory);
    return true;
  }

  /** Undefined when there is nothing to go on from, or too much for a snapshot. The cell stays as it is. */
  snapshot(): Eventual<Uint8Array<ArrayBuffer> | undefined> {
    const { vms, snapshots } = this.#environment;
    const memory = this.#parked ?? (this.#vm === undefined ? undefined : vms.copy(this.#vm));
    if (this.isOver || memory === undefined) return undefined;
    const state: CellState = {
      ...this.#outbox.state(this.#deliveryCount),
      settledCalls: this.#settledCalls,
      clock: this.clock,
      cpuTimeMs: this.#time.usedMs,
      returned: this.#returned ?? null,
      unhandled: this.#unhandled,
    };
    return snapshots.encode({ state, memory }, originOf(this.#command), this.#command.compression);
  }

  start(): Report {
    const { snapshot, history } = this.#command;
    // A restored cell with nothing to repeat stays as it is, to the microsecond of its processor time.
    if (snapshot === undefined || history.length > 0) {
      this.#timed(1 + history.length, () => {
        if (snapshot === undefined) this.#startProgram();
        for (const delivery of history) this.#deliver(delivery);
      });
    }
    return this.#report();
  }

  #startProgram(): void {
    const prepared = this.#environment.sources.prepare(this.#command.source, this.#command.language);
    if (!prepared.ok) {
      this.#fail({ failure: prepared.failure, call: null });
      return;
    }
    this.#source = prepared;
    this.#enter((vm) => {
      vm.limit(this.#command.limits.memoryBytes, this.#command.limits.stackBytes);
      this.#compiling = true;
      return vm.start(prepared.script, toGuestStart(this.#command), () => {
        this.#compiling = false;
      });
    });
  }

  deliver(delivery: Delivery): Report {
    this.#timed(1, () => this.#deliver(delivery));
    return this.#report();
  }

  park(): void {
    if (this.isOver) {
      this.drop();
      return;
    }
    const { vms } = this.#environment;
    vms.stopWaiting(this);
    if (this.#vm !== undefined) this.#parked = vms.park(this.#vm);
    this.#vm = undefined;
  }

  drop(): void {
    const { vms } = this.#environment;
    vms.stopWaiting(this);
    if (this.#vm !== undefined) vms.release(this.#vm);
    if (this.#parked !== undefined) vms.forget(this.#parked);
    this.#vm = undefined;
    this.#parked = undefined;
  }

  interrupt(): boolean {
    return (
      this.#outbox.hasTooManyCalls ||
      this.#time.mustStop() ||
      this.#environment.isCancelled(this.#command.cell)
    );
  }

  hostCall(kind: number, args: HostArguments): HostAnswer {
    switch (kind) {
      case HOST.call:
        return this.#call(this.#toolNames[args.number(1)], args);
      case HOST.callUnknown:
        return this.#callUnknown(args);
      case HOST.log:
        return this.#outbox.addLog(args);
      case HOST.timerSet:
        return this.#outbox.setTimer(args.number(1), args.number(2));
      case HOST.timerClear:
        this.#outbox.clearTimer(args.number(1));
        return undefined;
      case HOST.done:
        return this.#done(args);
      case HOST.thrown:
        // Nobody asked for the value of the last expression: if that value cannot cross, this is not a failure.
        if (args.number(1) === THROWN.badResult && this.#prepared.isResultImplied) this.#returned = "null";
        else this.#fail(this.#thrown(args));
        return undefined;
      case HOST.unhandled:
        this.#unhandled = this.#thrown(args);
        return undefined;
      case HOST.detached:
        this.#fail(this.#detached(args));
        return undefined;
      case HOST.over:
        this.#isLeft = true;
        return undefined;
      case HOST.part:
        return partBytecode(args.number(1));
      default:
        throw new VmFault("trap", `The prelude sent an unknown message ${kind}`);
    }
  }

  get #prepared(): PreparedSource {
    if (this.#source === undefined) {
      const prepared = this.#environment.sources.prepare(this.#command.source, this.#command.language);
      if (!prepared.ok) throw new Error("A program runs whose source cannot be prepared");
      this.#source = prepared;
    }
    return this.#source;
  }

  #deliver(delivery: Delivery): void {
    // Ignore the delivery, as if it had come too late. In another placement it may have come too late.
    if (this.isOver) return;
    this.#deliveryCount++;
    this.clock = delivery.clock;
    this.#enter((vm) => {
      for (const item of delivery.items) {
        let outcome: VmOutcome;
        if (item.kind === "timer") outcome = this.#outbox.takeTimer(item.timer) ? vm.fire(item.timer) : "ok";
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
      this.#returned !== undefined ||
      (this.#outbox.callCount === this.#settledCalls && this.#outbox.timersSet === 0)
    );
  }

  /** Runs guest code until its job queue is empty. */
  #enter(action: (vm: Vm) => VmOutcome): void {
    this.#outbox.beginBurst();
    const { vms } = this.#environment;
    vms.stopWaiting(this);
    let vm: Vm | undefined;
    try {
      vm = this.#vm ??= vms.acquire(this.#command.limits.memoryBytes, this.#parked);
      this.#parked = undefined;
      vm.owner = this;
      if (this.#hasOldLimits) {
        vm.limitAgain(this.#command.limits.memoryBytes, this.#command.limits.stackBytes);
        this.#hasOldLimits = false;
      }
      let outcome = action(vm);
      if (outcome === "ok") outcome = vm.runJobs();
      this.#unhandled = null;
      if (outcome === "ok" && this.#hasNothingToWaitFor) outcome = vm.finish();
      if (outcome !== "ok" || !vm.isSettled()) this.#spoil(vm, this.#classify(outcome));
    } catch (error) {
      this.#spoil(vm, toFault(error, this.#command.limits.memoryBytes, this.#hasGrownLarge));
    }
    this.#outbox.endBurst();
    if (vm !== undefined) this.#heapBytes = vms.count(vm);
    // A cell that is over waits too: it is dropped after its report.
    vms.startWaiting(this);
  }

  #spoil(vm: Vm | undefined, reason: Failure): void {
    if (vm !== undefined) vm.spoilt = true;
    if (this.hasLeft) return;
    this.#end = null;
    this.#fail({ failure: reason, call: null });
  }

  #classify(outcome: VmOutcome): Failure {
    if (outcome === "failed") return outOfMemory(this.#command.limits.memoryBytes);
    if (this.#outbox.hasTooManyCalls) return tooManyCalls(this.#command.limits.calls);
    if (this.#environment.isCancelled(this.#command.cell)) return failure("aborted", "The run was aborted");
    if (outcome === "interrupted") return outOfTime(this.#command.limits.cpuTimeMs);
    return failure("guest_error", "The program exhausted the engine's stack");
  }

  /** Whether a lack of memory is a likely cause of what happened. */
  get #hasGrownLarge(): boolean {
    return (this.#vm?.memory.buffer.byteLength ?? 0) > this.#command.limits.memoryBytes / 2;
  }

  #call(tool: string | number | undefined, args: HostArguments): string | undefined {
    const refusal = this.#outbox.addCall(tool, args);
    // The run is over, whatever the program does about the refusal.
    if (this.#outbox.hasTooManyCalls) {
      this.#fail({ failure: tooManyCalls(this.#command.limits.calls), call: null });
    }
    return refusal;
  }

  #callUnknown(args: HostArguments): string | undefined {
    const name = args.string(1, MAX_TOOL_NAME_BYTES);
    return nameRefusal(this.#command.features, name) ?? this.#call(name, args);
  }

  #done(args: HostArguments): undefined {
    const { resultBytes } = this.#command.limits;
    const result = args.string(1, resultBytes);
    if (typeof result === "string") {
      // In the catalog profile a program returns something only with an explicit `return`.
      const isNothing = this.#prepared.isResultImplied && hasCatalogProfile(this.#command.features);
      this.#returned = isNothing ? "null" : result;
      return;
    }
    this.#fail({ failure: resultTooLarge(result, resultBytes), call: null });
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
      failure: toFailure(code, thrown, this.#prepared),
      call: call === NO_CALL ? null : call,
    };
  }

  #detached(args: HostArguments): CellFailure {
    const stack = String(args.string(3, MAX_TEXT_BYTES));
    const state = args.number(2) === DETACHED.unawaited ? "unawaited" : "pending";
    return { failure: detachedCall(stack, this.#prepared), call: args.number(1), detached: state };
  }

  /** Without memory for an error, the engine throws null. */
  #isOutOfMemoryInDisguise({ name, message }: ThrownError): boolean {
    return this.#hasGrownLarge && name === "" && message === "null";
  }

  /** The first end counts: a later failure is a consequence of it. */
  #fail(failed: CellFailure): void {
    if (this.#end === null) this.#end = { status: "failed", failure: failed };
  }

  #timed(bursts: number, action: () => void): void {
    this.#time.begin(bursts);
    action();
    this.#time.end();
  }

  #report(): Report {
    return {
      cell: this.#command.cell,
      ...this.#outbox.take(),
      cpuTimeMs: this.#time.usedMs,
      end: this.#end ?? this.#returnedEnd(),
      unhandled: this.#unhandled,
      isOver: this.isOver,
      ...(this.#heapBytes > 0 ? { heapBytes: this.#heapBytes } : {}),
    };
  }

  #returnedEnd(): CellEnd | null {
    if (this.#returned === undefined) return null;
    return { status: "returned", result: this.#returned };
  }
}
