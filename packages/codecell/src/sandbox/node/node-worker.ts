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
import { giveUpSnapshots, neededBytes, type PoolCell } from "./pool-cell.ts";
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

/** Which cells a worker is for: cells with short bursts, which pass by, or cells that compute. */
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
/**
 * How long to spin for the answer to a command. A start has to do the rest of the run before it, and a small program that
 * makes many calls; after a delivery, most programs make their next calls within some microseconds.
 */
const SPIN_MS = { start: 0.5, deliver: 0.2, snapshot: 0.5 };
/** Far longer than the largest snapshot takes. A worker that is still inside has been taken over. */
const MOST_FRAGILE_MS = 2000;
/** How long to wait for a snapshot. A suspension without a snapshot is only slower to resume. */
const SNAPSHOT_WAIT_MS = 2000;

export class NodeWorker {
  readonly duty: Duty;
  readonly cells: Map<number, PoolCell> = new Map();
  /** Commands without an answer yet, over all cells. */
  unanswered = 0;
  /** The bytes that cells with open answers may still get. */
  dueBytes = 0;
  /** Set by the supervisor while one cell holds the thread and does not leave. */
  occupied = false;
  /** The last suspect that was started here. */
  trial: PoolCell | undefined;
  /** Since when nobody needs it; the pool keeps this. */
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

  /** Whether it is trying a suspect that has not ended a burst. */
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

  start(poolCell: PoolCell, start: CellStart): void {
    this.cells.set(poolCell.cell, poolCell);
    poolCell.worker = this;
    const { snapshot } = start;
    poolCell.mayBeRefused = snapshot !== undefined;
    poolCell.pieces = start.history.length > 0 ? "asked" : "none";
    const { cell } = poolCell;
    const pieces = inPieces(start.history);
    const history = pieces.pop() ?? [];
    for (const deliveries of pieces) this.#post({ type: "history", cell, deliveries });
    if (snapshot === undefined) {
      this.#send(poolCell, { type: "start", cell, ...start, history });
      return;
    }
    // A copy, because the message transfers the whole buffer behind a view, whatever else is in that buffer.
    const bytes = new Uint8Array(snapshot.bytes);
    this.#send(poolCell, { type: "start", cell, ...start, history, snapshot: { ...snapshot, bytes } });
  }

  deliver(poolCell: PoolCell, delivery: Delivery): void {
    this.#send(poolCell, { type: "deliver", cell: poolCell.cell, delivery });
  }

  snapshot(poolCell: PoolCell): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const { promise, resolve } = Promise.withResolvers<Uint8Array<ArrayBuffer> | undefined>();
    const timer = setTimeout(resolve, SNAPSHOT_WAIT_MS, undefined);
    poolCell.snapshots.push((bytes) => {
      clearTimeout(timer);
      resolve(bytes);
    });
    this.unanswered++;
    this.#post({ type: "snapshot", cell: poolCell.cell });
    return promise;
  }

  /** Removes a cell; if the cell is executing, its guest code is told to stop. */
  drop(poolCell: PoolCell): void {
    const { cell } = poolCell;
    if (!this.#forget(poolCell)) return;
    if (this.current === cell) Atomics.store(this.#status, STATUS.cancel, cell);
    this.#drops = (this.#drops + 1) | 0;
    // Commands to this cell that have not left are pointless now.
    this.#outbox = this.#outbox.filter((command) => command.cell !== cell);
    this.#post({ type: "drop", cell });
  }

  /** Removes and returns all cells; used when the worker is dead. */
  evict(): PoolCell[] {
    const cells = [...this.cells.values()];
    this.cells.clear();
    for (const poolCell of cells) {
      poolCell.worker = undefined;
      giveUpSnapshots(poolCell);
    }
    return cells;
  }

  /** Ends the thread. All its cells are lost. */
  kill(): void {
    if (this.#dead) return;
    this.#dead = true;
    this.#onDeath(this);
    void this.#end();
  }

  async close(): Promise<void> {
    this.#dead = true;
    for (const poolCell of this.cells.values()) giveUpSnapshots(poolCell);
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

  #forget(poolCell: PoolCell): boolean {
    if (!this.cells.delete(poolCell.cell)) return false;
    poolCell.worker = undefined;
    this.unanswered -= poolCell.unanswered + poolCell.snapshots.length;
    this.#settle(poolCell);
    giveUpSnapshots(poolCell);
    poolCell.snapshots.length = 0;
    return true;
  }

  /** The cell owes no answer any more. */
  #settle(poolCell: PoolCell): void {
    this.dueBytes -= poolCell.dueBytes;
    poolCell.dueBytes = 0;
  }

  #send(poolCell: PoolCell, command: Command): void {
    if (poolCell.unanswered++ === 0) {
      poolCell.dueBytes = neededBytes(poolCell);
      this.dueBytes += poolCell.dueBytes;
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
   * Spins for the answer. For a single run whose bursts take microseconds, the answer comes before the event loop could
   * sleep and wake. This happens only then, never while others wait and never for long, so the turn of the event loop
   * ends in time.
   */
  #spinForAnswer(commands: readonly Command[], reported: number): void {
    const type = commands.length === 1 ? commands[0]?.type : undefined;
    // Other commands get no answer, or one that is not waited for.
    if (type !== "start" && type !== "deliver" && type !== "snapshot") return;
    // A thread without any answer so far is still starting.
    if (!this.ready || !this.#isOnlyCell() || isTurnLong()) return;
    const patience = this.#patience[type];
    if (!patience.isThere()) return;
    const isAnswered = isRaisedSoon(this.#status, STATUS.reported, reported, SPIN_MS[type]);
    patience.found(isAnswered);
    if (!isAnswered) return;
    // Asking for a message that is not there takes as long as receiving one.
    do {
      const next = receiveMessageOnPort(this.#port);
      if (next === undefined) return;
      this.#receive(next.message);
    } while (this.unanswered > 0);
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
    const poolCell = this.cells.get(answer.cell);
    // A late answer about a dropped cell finds no cell.
    if (poolCell === undefined) return;
    if (answer.kind === "snapshot") {
      const request = poolCell.snapshots.shift();
      if (request === undefined) {
        this.#break();
        return;
      }
      this.unanswered--;
      request(answer.bytes ?? undefined);
      return;
    }
    if (poolCell.pieces === "unread") {
      this.#break();
      return;
    }
    if (answer.kind === "piece") {
      this.#takePiece(poolCell, answer);
      return;
    }
    if (poolCell.unanswered === 0 || (answer.kind === "snapshot_refused" && !poolCell.mayBeRefused)) {
      this.#break();
      return;
    }
    if (--poolCell.unanswered === 0) this.#settle(poolCell);
    poolCell.mayBeRefused = false;
    poolCell.pieces = "none";
    this.unanswered--;
    if (answer.kind !== undefined) {
      this.#forget(poolCell);
      poolCell.listener.onLost(answer.kind);
      return;
    }
    poolCell.isKnown = true;
    poolCell.heapBytes = answer.heapBytes ?? 0;
    if (answer.isOver) this.#forget(poolCell);
    poolCell.listener.onReport(answer);
  }

  /** The report that the piece belongs to is still owed. */
  #takePiece(poolCell: PoolCell, piece: ReportPiece): void {
    if (poolCell.pieces !== "asked") {
      this.#break();
      return;
    }
    poolCell.pieces = "unread";
    poolCell.mayBeRefused = false;
    poolCell.listener.onPiece(piece);
    void this.#askForNext(poolCell);
  }

  /** Each piece has a turn to itself. */
  async #askForNext(poolCell: PoolCell): Promise<void> {
    await nextTurn();
    if (this.cells.get(poolCell.cell) !== poolCell) return;
    poolCell.pieces = "asked";
    this.#post({ type: "next", cell: poolCell.cell });
  }
}
