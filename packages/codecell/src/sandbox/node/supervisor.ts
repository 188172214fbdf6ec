/**
 * Supervisor: finds workers that stay in one cell and do not leave it. Runs on the host.
 *
 * - A cell that computes leaves by itself when others wait, unless it is in a native loop, which never checks. After
 *   the cell's quantum such a worker counts as occupied: the cells behind the holder are displaced, and snapshots that
 *   wait there are given up. A compute thread is ended instead, if others wait for it.
 * - The worker is killed if its holder exceeds its limit of processor time, or was dropped and does not leave.
 * - Measures processor time of the thread. If that is not available, a machine that is busy with other work looks like
 *   a native loop for a while.
 * - Supervises only while commands are unanswered; an idle pool costs nothing.
 */
import type { NodeWorker } from "./node-worker.ts";
import { giveUpSnapshots, type PoolCell } from "./pool-cell.ts";

const SUPERVISE_EVERY_MS = 10;
/** Guest code checks in far more often than this, in processor time. */
const SILENT_MS = 5;
/** The part of a stay that is not counted if threads do not report their processor time. */
const UNSURE_MS = 230;
/**
 * How long beyond its processor time a cell may take to notice an interrupt; generous, because its thread may have to
 * wait for a processor.
 */
const GRACE_MS = 250;

interface Stay {
  /** Undefined if the cell was dropped and has not left yet. */
  readonly holder: PoolCell | undefined;
  readonly cell: number;
  readonly entries: number;
  readonly since: number;
  /** The worker's polls when they were last read. */
  polls: number;
  /** The processor time it had used when it was last seen to poll. */
  polledAtMs: number;
  /** The thread's processor time when it was first measured. */
  threadTimeMs: number | undefined;
  /** The processor time used since then, as far as known. */
  usedMs: number;
  isAsking: boolean;
}

/** Why a worker was ended, and for which cell. */
export interface WorkerEnd {
  readonly cell: number;
  readonly loss: "overran" | "computes";
}

/** What the supervisor needs from the pool. */
export interface Supervised {
  readonly workers: ReadonlySet<NodeWorker>;
  /** Moves cells away from a worker that one of them holds. */
  displace(worker: NodeWorker, others: readonly PoolCell[]): void;
  /** Whether cells without a worker wait for this one. */
  isWanted(worker: NodeWorker): boolean;
  /** Called each time all workers were supervised; true asks to go on. */
  onSupervised(now: number): boolean;
}

export class Supervisor {
  readonly #pool: Supervised;
  readonly #stays = new WeakMap<NodeWorker, Stay>();
  readonly #ends = new WeakMap<NodeWorker, WorkerEnd>();
  #timer: NodeJS.Timeout | undefined;

  constructor(pool: Supervised) {
    this.#pool = pool;
  }

  /** Starts supervising; called when commands were sent. */
  watch(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#supervise(), SUPERVISE_EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Why the supervisor ended this worker; undefined if the worker died by itself. */
  whyEnded(worker: NodeWorker): WorkerEnd | undefined {
    return this.#ends.get(worker);
  }

  /** Ends a worker because of the cell that holds it, if the cell is still there. */
  end(worker: NodeWorker, loss: WorkerEnd["loss"]): void {
    const stay = this.#stays.get(worker);
    if (stay === undefined || stay.cell !== worker.current || stay.entries !== worker.entries) return;
    this.#ends.set(worker, { cell: stay.cell, loss });
    worker.kill();
  }

  #supervise(): void {
    const now = performance.now();
    for (const worker of this.#pool.workers) {
      const cell = worker.current;
      if (cell !== 0) this.#superviseCell(worker, cell, now);
      else {
        worker.occupied = false;
        this.#stays.delete(worker);
      }
    }
    if (this.#pool.onSupervised(now)) return;
    // The pool may have started workers.
    for (const { current, unanswered } of this.#pool.workers) if (current !== 0 || unanswered > 0) return;
    this.stop();
  }

  #superviseCell(worker: NodeWorker, cell: number, now: number): void {
    const { entries, polls } = worker;
    const holder = worker.cells.get(cell);
    const stay = this.#stays.get(worker);
    if (stay?.cell !== cell || stay.entries !== entries || stay.holder !== holder) {
      const unknown = { threadTimeMs: undefined, usedMs: 0, polledAtMs: 0, isAsking: false };
      this.#stays.set(worker, { holder, cell, entries, polls, since: now, ...unknown });
      return;
    }
    if (stay.polls !== polls) {
      stay.polls = polls;
      stay.polledAtMs = stay.usedMs;
      // The cell checks in, so it leaves by itself when others wait.
      worker.occupied = false;
    }
    // Tells a native loop from a thread that does not get the processor.
    const isSilent = stay.usedMs - stay.polledAtMs > SILENT_MS;
    const stayedMs = now - stay.since;
    void this.#measure(worker, stay, stayedMs);
    if (holder === undefined) {
      if (stayedMs > GRACE_MS) this.end(worker, "overran");
    } else if (stay.usedMs > holder.cpuTimeMs + GRACE_MS) this.end(worker, "overran");
    else if (isSilent && stay.usedMs > holder.quantumMs) this.#hold(worker, holder);
  }

  /** Measures the processor time; the next decision about this worker uses it. */
  async #measure(worker: NodeWorker, stay: Stay, stayedMs: number): Promise<void> {
    // A thread that does not get the processor does not answer either.
    if (stay.isAsking) return;
    stay.isAsking = true;
    const threadTimeMs = await worker.cpuTimeMs();
    stay.isAsking = false;
    if (threadTimeMs === undefined) stay.usedMs = stayedMs - UNSURE_MS;
    else {
      stay.threadTimeMs ??= threadTimeMs;
      stay.usedMs = threadTimeMs - stay.threadTimeMs;
    }
  }

  #hold(worker: NodeWorker, holder: PoolCell): void {
    const others = [...worker.cells.values()].filter((one) => one !== holder);
    const waiting = others.filter(({ unanswered }) => unanswered > 0);
    if (worker.duty === "compute") {
      if (waiting.length > 0 || this.#pool.isWanted(worker)) this.end(worker, "computes");
      return;
    }
    worker.occupied = true;
    for (const one of others) giveUpSnapshots(one);
    if (waiting.length > 0) this.#pool.displace(worker, waiting);
  }
}
