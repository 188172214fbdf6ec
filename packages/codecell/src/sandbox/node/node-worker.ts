/**
 * NodeWorker: one worker thread and the cells placed on it, as the pool sees them.
 *
 * - Commands given in one turn of the event loop leave in one message, after all microtasks. Where they are large they
 *   leave in several, a turn each: copying them takes this thread's time.
 * - Whatever the thread sends is parsed before use; what does not parse is a crash.
 * - Dies once: after `onDeath` it never calls back again. `onFree` says that it can take more.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type MessagePort, receiveMessageOnPort, type Worker } from "node:worker_threads";
import { type Answer, type Command, parseAnswers, STATUS, STATUS_BYTES } from "../../protocol/messages.ts";
import type { WorkerSetup } from "../../protocol/worker-setup.ts";
import { decideEnd } from "../../protocol/fragile.ts";
import { isRaisedSoon, Patience } from "../../protocol/spin.ts";
import { beginTurn, isTurnLong, nextTurn } from "../../loop/turn.ts";
import { inPieces, messageOf, transferredBy } from "./message-pieces.ts";
import { giveUpSnapshots, neededBytes, type Resident } from "./resident.ts";
import type { CellStart } from "../sandbox.ts";
import { startThread } from "./start-thread.ts";
import type { Delivery } from "../../contract/ledger.ts";
import type { WorkerScript } from "./worker-script.ts";

/** What workers are made of, the same for all of a pool. */
export interface WorkerParts {
  readonly engine: WebAssembly.Module;
  readonly script: WorkerScript;
  /** Vms that each may have at the same time. */
  readonly vms: number;
}

/** Whom a worker is for: those that pass by, or those that compute. */
export type Duty = "pass" | "compute";

/** What a worker asks of its pool. */
export interface WorkerOwner {
  readonly duty: Duty;
  readonly onDeath: (worker: NodeWorker) => void;
  readonly onFree: () => void;
  /** Whether all workers together have no more than one cell. */
  readonly isOnlyCell: () => boolean;
}

const STACK_MB = 8;
const HEAP_MB = 1024;
const YOUNG_HEAP_MB = 32;
/** The start of a small program that makes many calls, and what is left to do of the run before it. */
const SPIN_MS = 0.5;
/** Far longer than the largest snapshot takes: a worker that is there still has been taken over. */
const MOST_FRAGILE_MS = 2000;
/** A suspension without a snapshot is only slower to resume. */
const SNAPSHOT_WAIT_MS = 2000;

export class NodeWorker {
  readonly duty: Duty;
  readonly residents: Map<number, Resident> = new Map();
  /** Commands not yet answered, over all residents. */
  unanswered = 0;
  /** What those may still get that owe an answer. */
  dueBytes = 0;
  /** Set by the supervisor while one cell holds the thread and does not leave. */
  occupied = false;
  /** The last suspect that was started here. */
  trial: Resident | undefined;
  /** Since when nobody needs it; kept by the pool. */
  idleSince: number | undefined;
  ready = false;
  /** It sent what no true worker sends; one of the cells that owe an answer made it so. */
  isBroken = false;
  /** What its thread died of, if that said so. */
  problem: unknown;
  #thread: Worker;
  #port: MessagePort;
  #status: Int32Array;
  #outbox: Command[] = [];
  #isLeaving = false;
  #onDeath: (worker: NodeWorker) => void;
  #onFree: () => void;
  #isOnlyCell: () => boolean;
  #dead = false;
  /** How long a start takes says nothing about what comes after it. */
  readonly #patience = { start: new Patience(), deliver: new Patience(), snapshot: new Patience() };
  #drops = 0;

  constructor({ engine, script, vms }: WorkerParts, pool: WorkerOwner) {
    const status = new SharedArrayBuffer(STATUS_BYTES);
    this.#status = new Int32Array(status);
    this.duty = pool.duty;
    this.#onDeath = pool.onDeath;
    this.#onFree = pool.onFree;
    this.#isOnlyCell = pool.isOnlyCell;
    const setup: WorkerSetup = { engine, vms, status };
    const { worker, port } = startThread("codecell", script, setup, {
      stackSizeMb: STACK_MB,
      maxOldGenerationSizeMb: HEAP_MB,
      maxYoungGenerationSizeMb: YOUNG_HEAP_MB,
    });
    this.#thread = worker;
    this.#port = port;
    // A true worker speaks on the port only; on its thread's own channel it is heard as strictly.
    for (const channel of [this.#port, this.#thread]) {
      channel.on("message", (message: unknown) => {
        beginTurn();
        this.#receive(message);
      });
      channel.on("messageerror", () => this.kill());
    }
    this.#thread.on("error", (error) => {
      this.problem = error;
      this.kill();
    });
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

  /** Processor time of the thread, asked for in whatever it does; undefined where that cannot be told (before Node 24.6). */
  async cpuTimeMs(): Promise<number | undefined> {
    // Dead threads do not answer.
    const usage = await this.#thread.cpuUsage?.().catch(() => undefined);
    return usage === undefined ? undefined : (usage.user + usage.system) / 1000;
  }

  /** Whether a suspect is here of which nobody knows yet whether it ever leaves. */
  get isTrying(): boolean {
    return this.trial?.worker === this && !this.trial.isKnown;
  }

  /** Tells it how many cells wait for a thread and are on none yet. */
  set wanted(cells: number) {
    Atomics.store(this.#status, STATUS.wanted, cells);
  }

  /** What its cells hold. */
  get heldBytes(): number {
    return Math.max(0, Atomics.load(this.#status, STATUS.held)) * 1024;
  }

  /** Whether cells that were dropped are still there. */
  get isClearing(): boolean {
    return Atomics.load(this.#status, STATUS.dropped) !== this.#drops;
  }

  start(resident: Resident, start: CellStart): void {
    this.residents.set(resident.cell, resident);
    resident.worker = this;
    const { snapshot } = start;
    resident.mayBeRefused = snapshot !== undefined;
    const { cell } = resident;
    const pieces = inPieces(start.history);
    const history = pieces.pop() ?? [];
    for (const deliveries of pieces) this.#post({ type: "history", cell, deliveries });
    if (snapshot === undefined) {
      this.#send(resident, { type: "start", cell, ...start, history });
      return;
    }
    // A copy of its own: the message would take along the whole buffer a view is of, whatever else lies there.
    const bytes = new Uint8Array(snapshot.bytes);
    this.#send(resident, { type: "start", cell, ...start, history, snapshot: { ...snapshot, bytes } });
  }

  deliver(resident: Resident, delivery: Delivery): void {
    this.#send(resident, { type: "deliver", cell: resident.cell, delivery });
  }

  snapshot(resident: Resident): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { promise, resolve } = Promise.withResolvers<Uint8Array<ArrayBuffer> | undefined>();
    const timer = setTimeout(resolve, SNAPSHOT_WAIT_MS, undefined);
    resident.snapshots.push((bytes) => {
      clearTimeout(timer);
      resolve(bytes);
    });
    this.unanswered++;
    this.#post({ type: "snapshot", cell: resident.cell });
    return promise;
  }

  /** Forgets a cell; if it is executing, its guest code is told to stop. */
  drop(resident: Resident): void {
    const { cell } = resident;
    if (!this.#forget(resident)) return;
    if (this.current === cell) Atomics.store(this.#status, STATUS.cancel, cell);
    this.#drops = (this.#drops + 1) | 0;
    // What has not left is not worth it any more.
    this.#outbox = this.#outbox.filter((command) => command.cell !== cell);
    this.#post({ type: "drop", cell });
  }

  /** Hands over all residents, for good. */
  evict(): Resident[] {
    const residents = [...this.residents.values()];
    this.residents.clear();
    for (const resident of residents) {
      resident.worker = undefined;
      giveUpSnapshots(resident);
    }
    return residents;
  }

  /** Ends the thread; all its residents are lost. */
  kill(): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#onDeath(this);
    void this.#end();
  }

  async close(): Promise<void> {
    this.#dead = true;
    for (const resident of this.residents.values()) giveUpSnapshots(resident);
    await this.#end();
  }

  /** At once, unless the thread is where that would abort the process. */
  async #end(): Promise<void> {
    const deadline = performance.now() + MOST_FRAGILE_MS;
    while (!decideEnd(this.#status) && performance.now() < deadline) await delay(1);
    await this.#thread.terminate();
  }

  #break(): void {
    this.isBroken = true;
    this.kill();
  }

  #forget(resident: Resident): boolean {
    if (!this.residents.delete(resident.cell)) return false;
    resident.worker = undefined;
    this.unanswered -= resident.unanswered + resident.snapshots.length;
    this.#settle(resident);
    giveUpSnapshots(resident);
    resident.snapshots.length = 0;
    return true;
  }

  /** It owes no answer any more. */
  #settle(resident: Resident): void {
    this.dueBytes -= resident.dueBytes;
    resident.dueBytes = 0;
  }

  #send(resident: Resident, command: Command): void {
    if (resident.unanswered++ === 0) {
      resident.dueBytes = neededBytes(resident);
      this.dueBytes += resident.dueBytes;
    }
    this.unanswered++;
    this.#post(command);
  }

  #post(command: Command): void {
    if (this.#dead) return;
    this.#outbox.push(command);
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    process.nextTick(() => this.#leave());
  }

  #leave(): void {
    this.#isLeaving = false;
    if (this.#dead || this.#outbox.length === 0) return;
    const commands = this.#outbox.splice(0, messageOf(this.#outbox));
    const reported = Atomics.load(this.#status, STATUS.reported);
    this.#port.postMessage(commands, commands.flatMap(transferredBy));
    Atomics.add(this.#status, STATUS.posted, 1);
    Atomics.notify(this.#status, STATUS.posted);
    if (this.#outbox.length > 0) {
      this.#isLeaving = true;
      void nextTurn().then(() => this.#leave());
    } else this.#spinForAnswer(commands, reported);
  }

  /**
   * A single run whose turns take microseconds is answered before the event loop could go to sleep and be woken. Only
   * then, never while others wait, and never for long: the turn of the event loop ends in time.
   */
  #spinForAnswer(commands: readonly Command[], reported: number): void {
    const type = commands.length === 1 ? commands[0]?.type : undefined;
    // Nothing answers the others.
    if (type !== "start" && type !== "deliver" && type !== "snapshot") return;
    // A thread that has not answered yet is still starting.
    if (!this.ready || !this.#isOnlyCell() || isTurnLong()) return;
    const patience = this.#patience[type];
    if (!patience.isThere()) return;
    const isAnswered = isRaisedSoon(this.#status, STATUS.reported, reported, SPIN_MS);
    patience.found(isAnswered);
    if (!isAnswered) return;
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
    const answers = parseAnswers(message);
    if (answers === undefined) {
      this.#break();
      return;
    }
    this.ready = true;
    this.occupied = false;
    try {
      for (const answer of answers) this.#answer(answer);
    } catch {
      // Whatever made a listener fail came from this thread.
      this.#break();
      return;
    }
    this.#onFree();
  }

  #answer(answer: Answer): void {
    const resident = this.residents.get(answer.cell);
    // Late answers to dropped cells find nobody.
    if (resident === undefined) return;
    if (answer.kind === "snapshot") {
      const request = resident.snapshots.shift();
      if (request === undefined) {
        this.#break();
        return;
      }
      this.unanswered--;
      request(answer.bytes ?? undefined);
      return;
    }
    if (resident.unanswered === 0 || (answer.kind === "snapshot_refused" && !resident.mayBeRefused)) {
      this.#break();
      return;
    }
    if (--resident.unanswered === 0) this.#settle(resident);
    resident.mayBeRefused = false;
    this.unanswered--;
    if (answer.kind !== undefined) {
      this.#forget(resident);
      resident.listener.onLost(answer.kind);
      return;
    }
    resident.isKnown = true;
    resident.heapBytes = answer.heapBytes ?? 0;
    if (answer.isOver) this.#forget(resident);
    resident.listener.onReport(answer);
  }
}
