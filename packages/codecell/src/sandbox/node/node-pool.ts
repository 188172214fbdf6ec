/**
 * NodePool: the Sandbox of worker threads. Runs on the host.
 *
 * - The number of workers follows the cores. A cell that was moved because it computes goes to one of a few compute
 *   threads, one cell at a time. So cells with short bursts find a worker that is free, or soon will be.
 * - If another cell holds a cell's worker, or the worker dies, the cell is displaced instead of left waiting: it leaves
 *   that worker and is placed again elsewhere. While workers are held, more are started, up to a bound; beyond the bound
 *   the holder has to go.
 * - Suspects are cells that were displaced before they ended a burst. They may be like the cell that held their worker,
 *   so they are tried one by one, and one worker stays free for cells that arrive meanwhile.
 * - A cell starts or goes on only if there is room for what it may grow to. Cells without room wait in a queue.
 * - A worker that stays in one cell past that cell's processor time is killed. Ending the thread is the only guarantee:
 *   native loops of the engine do not see interrupts.
 */
import type { Delivery } from "../../contract/ledger.ts";
import type { JudgeApart } from "../../protocol/judges.ts";
import { quantumMs } from "../../protocol/quantum.ts";
import { planThreads, type Threads } from "./address-space.ts";
import { PoolWorkers } from "./pool-workers.ts";
import { loadEngine } from "./engine.ts";
import { evictCells } from "./evict-cells.ts";
import { type BudgetMember, type HeapBudget, VM_BYTES } from "./heap-budget.ts";
import { type Judges, judgesOf } from "./judges.ts";
import { MemoryQueue } from "./memory-queue.ts";
import type { NodeWorker } from "./node-worker.ts";
import type { PoolCell } from "./pool-cell.ts";
import {
  type CellListener,
  type CellStart,
  type Loss,
  type Placement,
  type Sandbox,
  SandboxUnavailable,
} from "../sandbox.ts";
import { Supervisor } from "./supervisor.ts";
import { loadWorkerScript } from "./worker-script.ts";

/** A cell, with what its worker still has to be told. */
interface PoolEntry {
  readonly poolCell: PoolCell;
  readonly start: CellStart;
  readonly deliveries: Delivery[];
  /** Whether it has been on a worker. If it is on no worker now, it was lost since. */
  isPlaced: boolean;
  /** Since when it waits for memory. */
  since: number | undefined;
}

export interface NodePoolOptions extends Threads {
  /** The script that each thread executes. */
  readonly workerUrl: URL;
  /** Bounds the heaps of all cells; other pools may share it. */
  readonly budget: HeapBudget;
}

/** The pool gives up after this many workers in a row die before their first answer. */
const MOST_FAILED_STARTS = 3;
/** The share of the budget for vms that stand ready. */
const READY_SHARE = 1 / 4;

export class NodePool implements Sandbox, BudgetMember {
  readonly #workerUrl: URL;
  readonly #judges: Judges;
  readonly #budget: HeapBudget;
  readonly #workers: PoolWorkers;
  readonly #supervisor: Supervisor;
  #loading = false;
  /** Entries without a worker, in the order in which they came, as in the other sets. */
  readonly #waiting = new Set<PoolEntry>();
  /** Entries without memory. */
  readonly #memoryQueue: MemoryQueue<PoolEntry>;
  /** Entries that compute and wait for a compute thread. */
  readonly #computing = new Set<PoolEntry>();
  readonly #suspects = new Set<PoolEntry>();
  #isSuspicious = false;
  #isAdmitting = false;
  #cells = 0;
  #failedStarts = 0;
  #hasTold = false;
  #closed = false;

  constructor(options: NodePoolOptions) {
    this.#workerUrl = options.workerUrl;
    this.#judges = judgesOf(options.workerUrl);
    this.#budget = options.budget;
    this.#workers = new PoolWorkers(options, {
      onDeath: (dead) => this.#bury(dead),
      onFree: () => this.#admitWaiting(),
    });
    this.#memoryQueue = new MemoryQueue(options.budget, () => this.#admitWaiting());
    this.#supervisor = new Supervisor({
      workers: this.#workers.all,
      displace: (worker, others) => this.#displace(worker, others),
      isWanted: () => this.#computing.size > 0 || this.#memoryQueue.isLate,
      onSupervised: (now) => {
        this.#relieve();
        this.#admitWaiting();
        return (
          this.#workers.retire(now) || this.#suspects.size + this.#waiting.size + this.#computing.size > 0
        );
      },
    });
  }

  place(start: CellStart, listener: CellListener): Placement {
    const poolCell: PoolCell = {
      cell: ++this.#cells,
      listener,
      cpuTimeMs: start.limits.cpuTimeMs,
      memoryBytes: start.limits.memoryBytes,
      quantumMs: quantumMs(start.moves ?? 0, start.history.length),
      isKnown: start.history.length > 0 || start.snapshot !== undefined,
      heapBytes: 0,
      dueBytes: 0,
      unanswered: 0,
      mayBeRefused: false,
      pieces: "none",
      snapshots: [],
      worker: undefined,
    };
    const entry: PoolEntry = { poolCell, start, deliveries: [], isPlaced: false, since: undefined };
    if (this.#closed) this.#refuse(entry);
    else if (this.#isSuspicious) this.#suspects.add(entry);
    else this.#admit(entry);
    return {
      isWaiting: () => poolCell.worker === undefined || ![0, poolCell.cell].includes(poolCell.worker.current),
      fullBytes: () => (entry.since === undefined ? undefined : this.#budget.bytes),
      deliver: (delivery) => {
        entry.deliveries.push(delivery);
        if (entry.isPlaced && entry.since === undefined) this.#admit(entry);
      },
      snapshot: async () => {
        const { worker } = poolCell;
        if (worker === undefined || (worker.occupied && worker.current !== poolCell.cell)) return undefined;
        const snapshot = worker.snapshot(poolCell);
        this.#supervisor.watch();
        return await snapshot;
      },
      drop: () => {
        for (const group of [this.#waiting, this.#computing, this.#suspects]) group.delete(entry);
        this.#memoryQueue.leave(entry);
        if (poolCell.worker !== undefined) {
          poolCell.worker.drop(poolCell);
          // Perhaps nobody needs its worker now.
          this.#supervisor.watch();
        }
        // Or others need the worker at once: a cell whose start has not arrived gives no answer that would tell.
        this.#admitWaiting();
      },
    };
  }

  judgeFor(owner: string, signal: AbortSignal): JudgeApart {
    return this.#judges.for(owner, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#memoryQueue.close();
    this.#budget.leave(this);
    this.#supervisor.stop();
    await this.#workers.close();
  }

  heldBytes(): number {
    let bytes = 0;
    for (const worker of this.#workers.all) bytes += worker.heldBytes;
    return bytes;
  }

  dueBytes(): number {
    let bytes = 0;
    for (const worker of this.#workers.all) bytes += worker.dueBytes;
    return bytes;
  }

  isClearing(): boolean {
    // A held worker clears when its cell leaves; nobody waits for that.
    return [...this.#workers.all].some((worker) => worker.isClearing && !worker.occupied);
  }

  evict(bytes: number): number {
    return evictCells(this.#workers.all, bytes);
  }

  /**
   * Loses a cell because the pool is closed. It does so later, unless the cell is dropped before: a caller does not
   * expect to lose a cell inside `place`.
   */
  #refuse(entry: PoolEntry): void {
    this.#waiting.add(entry);
    setImmediate(() => {
      if (!this.#waiting.delete(entry)) return;
      entry.poolCell.listener.onLost("unavailable", new SandboxUnavailable("the sandbox is closed"));
    });
  }

  /** Lets a cell start, or go on with its deliveries: now if there is a worker and room, else later. */
  #admit(entry: PoolEntry): void {
    const { poolCell } = entry;
    if (this.#workers.parts === undefined) {
      this.#waiting.add(entry);
      this.#load();
      return;
    }
    const isLost = entry.isPlaced && poolCell.worker === undefined;
    const isComputing = (entry.start.moves ?? 0) > 0 && !entry.isPlaced;
    const [next = entry] = isComputing ? this.#computing : [];
    if (isLost || (isComputing && (next !== entry || !this.#workers.hasIdleComputer()))) {
      this.#memoryQueue.leave(entry);
      // The caller already knows about a lost cell.
      if (!isLost) this.#computing.add(entry);
      this.#tell();
      return;
    }
    this.#computing.delete(entry);
    // A cell that owes an answer has its room already.
    if (poolCell.unanswered === 0 && !this.#memoryQueue.pass(entry)) return;
    const worker =
      poolCell.worker ??
      (isComputing ? this.#workers.choose("compute") : undefined) ??
      this.#workers.choose("pass");
    if (worker === undefined) {
      this.#waiting.add(entry);
      // No worker exists that could become free. Lose the cells later: a caller does not expect to lose a cell inside
      // `place`.
      setImmediate(() =>
        this.#workers.all.size === 0 ? this.#loseWaiting(this.#workers.problem) : undefined,
      );
    } else if (entry.isPlaced && worker.occupied && worker.current !== poolCell.cell) {
      this.#displace(worker, [poolCell]);
    } else startOn(worker, entry);
    this.#supervisor.watch();
  }

  /** Tries one suspect at a time, and only if nobody waits for memory. */
  #admitSuspects(): void {
    const [entry] = this.#suspects;
    const worker = entry === undefined ? undefined : this.#workers.chooseForSuspect();
    if (
      entry === undefined ||
      worker === undefined ||
      this.#memoryQueue.size > 0 ||
      !this.#memoryQueue.fits(entry)
    )
      return;
    this.#suspects.delete(entry);
    worker.trial = entry.poolCell;
    startOn(worker, entry);
  }

  /**
   * Tells workers how many cells wait, for a thread or for memory. Then cells that compute leave after their quantum.
   */
  #tell(): void {
    const isTold = this.#memoryQueue.size + this.#computing.size + this.#suspects.size > 0;
    if (!isTold && !this.#hasTold) return;
    this.#hasTold = isTold;
    const waitForMemory = this.#memoryQueue.isLate ? this.#memoryQueue.size : 0;
    for (const worker of this.#workers.all) {
      worker.wanted = waitForMemory + (worker.duty === "compute" ? this.#computing : this.#suspects).size;
    }
  }

  #load(): void {
    if (this.#loading) return;
    this.#loading = true;
    Promise.all([loadEngine(), loadWorkerScript(this.#workerUrl), planThreads(this.#workers.threads)]).then(
      ([engine, script, plan]) => {
        this.#loading = false;
        this.#workers.threads = plan;
        if (!this.#closed) this.#budget.join(this);
        const threads = plan.maxWorkers + plan.computeWorkers;
        const ready = Math.floor((READY_SHARE * this.#budget.bytes) / threads / VM_BYTES);
        this.#workers.parts = { engine, script, vms: Math.max(1, Math.min(plan.vms, ready)) };
        this.#admitWaiting();
      },
      (error: unknown) => {
        this.#loading = false;
        this.#loseWaiting(error);
      },
    );
  }

  /** A worker, a compute thread or memory may be free now. */
  #admitWaiting(): void {
    if (this.#closed || this.#isAdmitting) return;
    if (this.#waiting.size + this.#memoryQueue.size + this.#computing.size === 0) {
      this.#tell();
      return;
    }
    this.#isAdmitting = true;
    // A copy, because some entries are added again.
    const waiting = [...this.#waiting];
    try {
      for (const entry of waiting) {
        this.#waiting.delete(entry);
        this.#admit(entry);
      }
      this.#memoryQueue.advance((entry) => this.#admit(entry));
      for (const entry of this.#computing) {
        if (this.#workers.hasIdleComputer()) this.#admit(entry);
        else break;
      }
      this.#tell();
    } finally {
      this.#isAdmitting = false;
    }
  }

  #loseWaiting(cause: unknown): void {
    // After closing, no listener hears of the remaining cells.
    if (this.#closed) return;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const { poolCell } of waiting) poolCell.listener.onLost("unavailable", cause);
  }

  #bury(worker: NodeWorker): void {
    this.#workers.all.delete(worker);
    if (this.#closed) return;
    const end = this.#supervisor.whyEnded(worker);
    this.#failedStarts = worker.ready || end !== undefined ? 0 : this.#failedStarts + 1;
    const giveUp = this.#failedStarts >= MOST_FAILED_STARTS;
    const { current, problem } = worker;
    const cells = worker.evict();
    const holder = cells.find(({ cell }) => cell === (end?.cell ?? current));
    const lose = ({ listener }: PoolCell, loss: Loss): void => {
      if (giveUp) listener.onLost("unavailable", problem);
      else listener.onLost(loss);
    };
    for (const poolCell of cells) {
      if (poolCell === holder) continue;
      lose(poolCell, worker.isBroken && poolCell.unanswered > 0 ? "crashed" : "displaced");
    }
    // The holder comes last, so that the cells that waited for it are placed first.
    if (holder !== undefined) lose(holder, end?.loss ?? "crashed");
    if (giveUp) {
      this.#failedStarts = 0;
      const suspects = [...this.#suspects];
      this.#suspects.clear();
      for (const { poolCell } of suspects) poolCell.listener.onLost("unavailable", problem);
    }
    this.#admitWaiting();
  }

  /** Keeps a worker free for cells with short bursts: starts one beside the held workers, or ends a held worker. */
  #relieve(): void {
    const all = this.#workers.on("pass");
    const held = all.filter(({ occupied }) => occupied);
    const free = all.length - held.length;
    const isEnough = this.#suspects.size > 0 ? free > 1 : free > 0 || held.length === 0;
    const mayBeMore = all.length < this.#workers.threads.maxWorkers;
    if (!isEnough && mayBeMore) {
      // If starting failed, the next request for a worker tries again.
      if (this.#failedStarts === 0) this.#workers.spawn("pass");
    } else if (!isEnough || this.#memoryQueue.isLate) {
      // The memory that the holder may still get is needed, too. The worker's other cells are placed again, so the
      // worker with the fewest cells is ended.
      const [cheapest] = held.toSorted((one, other) => one.cells.size - other.cells.size);
      if (cheapest !== undefined) this.#supervisor.end(cheapest, "computes");
    }
    this.#admitSuspects();
  }

  /** Moves cells away from a worker that one of them holds. */
  #displace(worker: NodeWorker, others: readonly PoolCell[]): void {
    for (const poolCell of others) {
      worker.drop(poolCell);
      // The listener places the cell again during this call.
      this.#isSuspicious = !poolCell.isKnown;
      try {
        poolCell.listener.onLost("displaced");
      } finally {
        this.#isSuspicious = false;
      }
    }
    this.#admitWaiting();
  }
}

function startOn(worker: NodeWorker, entry: PoolEntry): void {
  const { poolCell, start, deliveries } = entry;
  if (!entry.isPlaced) worker.start(poolCell, start);
  entry.isPlaced = true;
  for (const delivery of deliveries.splice(0)) worker.deliver(poolCell, delivery);
}
