/**
 * NodeWorker: one worker thread and the cells placed on it, as the pool sees them. Runs on the host.
 *
 * - Commands given in one turn of the event loop leave in one message, after all microtasks. Large commands leave in
 *   several messages, one per turn, because copying them takes this thread's time.
 * - Everything that the thread sends is parsed before use. A message that does not parse counts as a crash, and so does
 *   a piece of a report that nobody asked for: the thread cannot send more than this side has read.
 * - A worker dies once: after `onDeath` it never calls back again. `onFree` says that it can take more.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type MessagePort, receiveMessageOnPort, type Worker } from "node:worker_threads";
import {
  type Answer,
  type Command,
  parseAnswers,
  type ReportPiece,
  STATUS,
  STATUS_BYTES,
} from "../../protocol/messages.ts";
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

/** What all workers of a pool are made of. */
export interface WorkerParts {
  readonly engine: WebAssembly.Module;
  readonly script: WorkerScript;
  /** The most vms that each worker may have at the same time. */
  readonly vms: number;
}

/** Which cells a worker is for: cells with short turns, which pass by, or cells that compute. */
export type Duty = "pass" | "compute";

/** What a worker needs from its pool. */
export interface WorkerOwner {
  readonly duty: Duty;
  readonly onDeath: (worker: NodeWorker) => void;
  readonly onFree: () => void;
  /** Whether all workers together have at most one cell. */
  readonly isOnlyCell: () => boolean;
}

const STACK_MB = 8;
const HEAP_MB = 1024;
const YOUNG_HEAP_MB = 32;
/** Enough for the start of a small program that makes many calls, after the rest of the run before it. */
const SPIN_MS = 0.5;
/** Far longer than the largest snapshot takes. A worker that is still inside has been taken over. */
const MOST_FRAGILE_MS = 2000;
/** How long to wait for a snapshot. A suspension without a snapshot is only slower to resume. */
const SNAPSHOT_WAIT_MS = 2000;

export class NodeWorker {
  readonly duty: Duty;
  readonly residents: Map<number, Resident> = new Map();
  /** Commands without an answer yet, over all residents. */
  unanswered = 0;
  /** The bytes that residents with open answers may still get. */
  dueBytes = 0;
  /** Set by the supervisor while one cell holds the thread and does not leave. */
  occupied = false;
  /** The last suspect that was started here. */
  trial: Resident | undefined;
  /** Since when nobody needs it; the crew keeps this. */
  idleSince: number | undefined;
  ready = false;
  /** Whether it sent what no intact worker sends. One of the cells with open answers caused this. */
  isBroken = false;
  /** The error that ended its thread, if there was one. */
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
  /** Separate for each command, because the time of a start says nothing about what comes after it. */
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
    // An intact worker sends on the port only. Messages on the thread's own channel are checked as strictly.
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
    // `unref` comes last, because adding a message listener would keep the process alive again.
    this.#port.unref();
    this.#thread.unref();
  }

  /** The cell that the thread is in, 0 for none. */
  get current(): number {
    return Atomics.load(this.#status, STATUS.cell);
  }

  /** Changes each time the thread enters a cell. */
  get entries(): number {
    return Atomics.load(this.#status, STATUS.entries);
  }

  /** Grows while guest code gets processor time, unless the code is in a native loop. */
  get polls(): number {
    return Atomics.load(this.#status, STATUS.polls);
  }

  /** The thread's processor time, whatever the thread is doing; undefined if it is not available (before Node 24.6). */
  async cpuTimeMs(): Promise<number | undefined> {
    // A dead thread does not answer.
    const usage = await this.#thread.cpuUsage?.().catch(() => undefined);
    return usage === undefined ? undefined : (usage.user + usage.system) / 1000;
  }

  /** Whether it is trying a suspect that has not completed a turn. */
  get isTrying(): boolean {
    return this.trial?.worker === this && !this.trial.isKnown;
  }

  /** Tells the thread how many cells wait for a thread and have none yet. */
  set wanted(cells: number) {
    Atomics.store(this.#status, STATUS.wanted, cells);
  }

  /** The bytes that its cells hold. */
  get heldBytes(): number {
    return Math.max(0, Atomics.load(this.#status, STATUS.held)) * 1024;
  }

  /** Whether dropped cells are still there. */
  get isClearing(): boolean {
    return Atomics.load(this.#status, STATUS.dropped) !== this.#drops;
  }

  start(resident: Resident, start: CellStart): void {
    this.residents.set(resident.cell, resident);
    resident.worker = this;
    const { snapshot } = start;
    resident.mayBeRefused = snapshot !== undefined;
    resident.mayBeInPieces = start.history.length > 0;
    const { cell } = resident;
    const pieces = inPieces(start.history);
    const history = pieces.pop() ?? [];
    for (const deliveries of pieces) this.#post({ type: "history", cell, deliveries });
    if (snapshot === undefined) {
      this.#send(resident, { type: "start", cell, ...start, history });
      return;
    }
    // A copy, because the message transfers the whole buffer behind a view, whatever else is in that buffer.
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

  /** Removes a cell; if the cell is executing, its guest code is told to stop. */
  drop(resident: Resident): void {
    const { cell } = resident;
    if (!this.#forget(resident)) return;
    if (this.current === cell) Atomics.store(this.#status, STATUS.cancel, cell);
    this.#drops = (this.#drops + 1) | 0;
    // Commands to this cell that have not left are pointless now.
    this.#outbox = this.#outbox.filter((command) => command.cell !== cell);
    this.#post({ type: "drop", cell });
  }

  /** Removes and returns all residents; used when the worker is dead. */
  evict(): Resident[] {
    const residents = [...this.residents.values()];
    this.residents.clear();
    for (const resident of residents) {
      resident.worker = undefined;
      giveUpSnapshots(resident);
    }
    return residents;
  }

  /** Ends the thread. All its residents are lost. */
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

  /** Ends the thread at once, unless it is in a moment in which that would abort the process. */
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

  /** The cell owes no answer any more. */
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
   * Spins for the answer. For a single run whose turns take microseconds, the answer comes before the event loop could
   * sleep and wake. This happens only then, never while others wait and never for long, so the turn of the event loop
   * ends in time.
   */
  #spinForAnswer(commands: readonly Command[], reported: number): void {
    const type = commands.length === 1 ? commands[0]?.type : undefined;
    // Other commands get no answer.
    if (type !== "start" && type !== "deliver" && type !== "snapshot") return;
    // A thread without any answer so far is still starting.
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
      // Something that this thread sent made a listener fail.
      this.#break();
      return;
    }
    this.#onFree();
  }

  #answer(answer: Answer): void {
    const resident = this.residents.get(answer.cell);
    // A late answer about a dropped cell finds no resident.
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
    if (answer.kind === "piece") {
      this.#takePiece(resident, answer);
      return;
    }
    if (resident.unanswered === 0 || (answer.kind === "snapshot_refused" && !resident.mayBeRefused)) {
      this.#break();
      return;
    }
    if (--resident.unanswered === 0) this.#settle(resident);
    resident.mayBeRefused = false;
    resident.mayBeInPieces = false;
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

  /** The report that the piece belongs to is still owed. */
  #takePiece(resident: Resident, piece: ReportPiece): void {
    if (!resident.mayBeInPieces) {
      this.#break();
      return;
    }
    resident.mayBeInPieces = false;
    resident.mayBeRefused = false;
    resident.listener.onPiece(piece);
    void this.#askForNext(resident);
  }

  /** Each piece has a turn to itself. */
  async #askForNext(resident: Resident): Promise<void> {
    await nextTurn();
    if (this.residents.get(resident.cell) !== resident) return;
    resident.mayBeInPieces = true;
    this.#post({ type: "next", cell: resident.cell });
  }
}
