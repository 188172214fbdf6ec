/**
 * NodeWorker: one worker thread and the cells placed on it, as the pool sees them.
 *
 * - Commands given in one turn of the event loop leave in one message, after all microtasks.
 * - Whatever the thread sends is parsed before use; what does not parse is a crash.
 * - Dies once: after `onDeath` it never calls back again. `onFree` says that it can take more.
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import {
  type Command,
  parseReports,
  type Report,
  STATUS,
  STATUS_BYTES,
  type WorkerSetup,
} from "../bridge/protocol.ts";
import { isRaisedSoon } from "../bridge/look.ts";
import { beginTurn, isTurnLong } from "../bridge/turn.ts";
import type { CellListener, CellStart } from "./sandbox.ts";
import type { Delivery } from "../contract/ledger.ts";

/** A cell on a worker. */
export interface Resident {
  readonly cell: number;
  readonly listener: CellListener;
  readonly cpuTimeMs: number;
  /** Commands sent or queued that have not been answered. */
  unanswered: number;
  /** Where it lives; undefined while it waits for a place and after it was lost or dropped. */
  worker: NodeWorker | undefined;
}

/** What a worker asks of its pool. */
export interface WorkerOwner {
  readonly onDeath: (worker: NodeWorker) => void;
  readonly onFree: () => void;
  /** Whether all workers together have no more than one cell. */
  readonly isOnlyCell: () => boolean;
}

const STACK_MB = 8;
const HEAP_MB = 1024;
const YOUNG_HEAP_MB = 32;
/** Some 400 microseconds: the start of a small program, and what is left to do of the run before it. */
const MOST_LOOKS = 8000;
const SKIPPED_AFTER_MISS = 4;

export class NodeWorker {
  readonly residents: Map<number, Resident> = new Map();
  /** Commands not yet answered, over all residents. */
  unanswered = 0;
  /** Set by the supervisor while one cell holds the thread. */
  occupied = false;
  ready = false;
  /** It sent what no true worker sends; one of the cells that owe an answer made it so. */
  isBroken = false;
  #thread: Worker;
  #port: MessagePort;
  #status: Int32Array;
  #outbox: Command[] = [];
  #onDeath: (worker: NodeWorker) => void;
  #onFree: () => void;
  #isOnlyCell: () => boolean;
  #dead = false;
  #looksToSkip = 0;

  constructor(engine: WebAssembly.Module, pool: WorkerOwner) {
    const status = new SharedArrayBuffer(STATUS_BYTES);
    this.#status = new Int32Array(status);
    this.#onDeath = pool.onDeath;
    this.#onFree = pool.onFree;
    this.#isOnlyCell = pool.isOnlyCell;
    const { port1, port2 } = new MessageChannel();
    const setup: WorkerSetup & { port: MessagePort } = { engine, status, port: port2 };
    this.#thread = new Worker(new URL(import.meta.resolve("#worker")), {
      name: "codecell",
      workerData: setup,
      transferList: [port2],
      // Nothing of the process is the worker's: no variables, no preloaded modules, no other flags.
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: {
        stackSizeMb: STACK_MB,
        maxOldGenerationSizeMb: HEAP_MB,
        maxYoungGenerationSizeMb: YOUNG_HEAP_MB,
      },
    });
    this.#port = port1;
    // A true worker speaks on the port only; on its thread's own channel it is heard as strictly.
    for (const channel of [this.#port, this.#thread]) {
      channel.on("message", (message: unknown) => {
        beginTurn();
        this.#receive(message);
      });
      channel.on("messageerror", () => this.kill());
    }
    this.#thread.on("error", () => this.kill());
    this.#thread.on("exit", () => this.kill());
    // Last: a listener for messages would hold the process again.
    this.#port.unref();
    this.#thread.unref();
  }

  /** The cell being executed, 0 for none. */
  get current(): number {
    return Atomics.load(this.#status, STATUS.cell);
  }

  /** Changes with every entry into a cell. */
  get entries(): number {
    return Atomics.load(this.#status, STATUS.entries);
  }

  /** Grows while guest code gets processor time, unless it is in a native loop. */
  get polls(): number {
    return Atomics.load(this.#status, STATUS.polls);
  }

  start(resident: Resident, start: CellStart): void {
    this.residents.set(resident.cell, resident);
    resident.worker = this;
    this.#send(resident, { type: "start", cell: resident.cell, ...start });
  }

  deliver(resident: Resident, delivery: Delivery): void {
    this.#send(resident, { type: "deliver", cell: resident.cell, delivery });
  }

  /** Forgets a cell; if it is executing, its guest code is told to stop. */
  drop(resident: Resident): void {
    const { cell } = resident;
    if (!this.#forget(resident)) return;
    if (this.current === cell) Atomics.store(this.#status, STATUS.cancel, cell);
    this.#post({ type: "drop", cell });
  }

  /** Hands over all residents, for good. */
  evict(): Resident[] {
    const residents = [...this.residents.values()];
    this.residents.clear();
    for (const resident of residents) resident.worker = undefined;
    return residents;
  }

  /** Ends the thread; all its residents are lost. */
  kill(): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#onDeath(this);
    void this.#thread.terminate();
  }

  async close(): Promise<void> {
    this.#dead = true;
    await this.#thread.terminate();
  }

  #break(): void {
    this.isBroken = true;
    this.kill();
  }

  #forget(resident: Resident): boolean {
    if (!this.residents.delete(resident.cell)) return false;
    resident.worker = undefined;
    this.unanswered -= resident.unanswered;
    return true;
  }

  #send(resident: Resident, command: Command): void {
    resident.unanswered++;
    this.unanswered++;
    this.#post(command);
  }

  #post(command: Command): void {
    if (this.#dead) return;
    this.#outbox.push(command);
    if (this.#outbox.length > 1) return;
    process.nextTick(() => {
      const commands = this.#outbox;
      this.#outbox = [];
      if (this.#dead) return;
      const reported = Atomics.load(this.#status, STATUS.reported);
      this.#port.postMessage(commands);
      Atomics.add(this.#status, STATUS.posted, 1);
      Atomics.notify(this.#status, STATUS.posted);
      if (this.#isAnswerNear(commands)) this.#lookForAnswer(reported);
    });
  }

  /**
   * A single run whose turns take microseconds is answered before the event loop could go to sleep and be woken. Only
   * then, never while others wait, and never for long: the turn of the event loop ends in time.
   */
  #isAnswerNear(commands: readonly Command[]): boolean {
    if (this.#looksToSkip > 0) {
      this.#looksToSkip--;
      return false;
    }
    // A start takes longer than is worth looking for.
    return commands.length === 1 && this.#isOnlyCell() && !isTurnLong();
  }

  #lookForAnswer(reported: number): void {
    if (!isRaisedSoon(this.#status, STATUS.reported, reported, MOST_LOOKS)) {
      this.#looksToSkip = SKIPPED_AFTER_MISS;
      return;
    }
    for (
      let next = receiveMessageOnPort(this.#port);
      next !== undefined;
      next = receiveMessageOnPort(this.#port)
    ) {
      this.#receive(next.message);
    }
  }

  #receive(message: unknown): void {
    if (this.#dead) return;
    const reports = parseReports(message);
    if (reports === undefined) {
      this.#break();
      return;
    }
    this.ready = true;
    this.occupied = false;
    try {
      for (const report of reports) this.#answer(report);
    } catch {
      // Whatever made a listener fail came from this thread.
      this.#break();
      return;
    }
    this.#onFree();
  }

  #answer(report: Report): void {
    const resident = this.residents.get(report.cell);
    // Late reports of dropped cells find nobody.
    if (resident === undefined) return;
    if (resident.unanswered === 0) {
      this.kill();
      return;
    }
    resident.unanswered--;
    this.unanswered--;
    if (report.isOver) this.#forget(resident);
    resident.listener.onReport(report);
  }
}
