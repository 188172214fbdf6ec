/**
 * PoolWorkers: the workers of a pool, their number, and the choice of a worker for a cell. Runs on the host.
 *
 * - Cells with short bursts and cells that compute have separate workers. While single cells hold some workers there are
 *   more, up to a bound; workers that nobody needs for a while leave.
 * - A worker that tries a suspect gets no other cell, if there is another worker.
 */
import type { Threads } from "./address-space.ts";
import { type Duty, NodeWorker, type WorkerOwner, type WorkerParts } from "./node-worker.ts";

/** A surplus worker leaves after nobody has needed it for this long. */
const KEPT_IDLE_MS = 1000;

export class PoolWorkers {
  readonly all: Set<NodeWorker> = new Set();
  /** How many threads there may be, limited by the address space. */
  threads: Threads;
  /** What workers are made of; undefined until it is loaded. */
  parts: WorkerParts | undefined;
  /** Why the last start of a worker failed. */
  problem: unknown;
  readonly #owner: Omit<WorkerOwner, "duty">;

  constructor(threads: Threads, owner: Omit<WorkerOwner, "duty" | "isOnlyCell">) {
    this.threads = threads;
    this.#owner = { ...owner, isOnlyCell: () => this.#hasAtMostOneCell() };
  }

  on(duty: Duty): NodeWorker[] {
    return [...this.all].filter((worker) => worker.duty === duty);
  }

  /** The least loaded worker that no cell holds, or a new worker if that is better. */
  choose(wanted: Duty): NodeWorker | undefined {
    const { workers, maxWorkers, computeWorkers } = this.threads;
    const duty = computeWorkers === 0 ? "pass" : wanted;
    const all = this.on(duty);
    let best: NodeWorker | undefined;
    let held = 0;
    for (const worker of all) {
      if (worker.occupied) held++;
      else if (best === undefined || isBetter(worker, best)) best = worker;
    }
    const target = duty === "compute" ? computeWorkers : Math.min(workers + held, maxWorkers);
    const isNewBetter = all.length < target && (best === undefined || best.unanswered > 0);
    return (isNewBetter ? this.spawn(duty) : undefined) ?? best;
  }

  /**
   * Whether a cell that computes can have a thread now. True if there are to be no compute threads, because such cells
   * then share the other workers.
   */
  hasIdleComputer(): boolean {
    const { computeWorkers } = this.threads;
    const computers = this.on("compute");
    return (
      computers.length < computeWorkers ||
      computeWorkers === 0 ||
      computers.some(({ unanswered }) => unanswered === 0)
    );
  }

  /**
   * The worker on which to try the next suspect, one at a time; undefined if a suspect is being tried, or if no worker
   * would be left for others.
   */
  chooseForSuspect(): NodeWorker | undefined {
    const free = this.on("pass").filter(({ occupied }) => !occupied);
    // With a single worker, suspects cannot be kept apart.
    if (free.length < Math.min(2, this.threads.maxWorkers) || free.some(({ isTrying }) => isTrying)) {
      return undefined;
    }
    return free.toSorted((one, other) => one.unanswered - other.unanswered)[0];
  }

  /** Undefined if the process may not, or cannot, start another thread. */
  spawn(duty: Duty): NodeWorker | undefined {
    if (this.parts === undefined) return undefined;
    try {
      const worker = new NodeWorker(this.parts, { ...this.#owner, duty });
      this.all.add(worker);
      return worker;
    } catch (error) {
      this.problem = error;
      return undefined;
    }
  }

  /** Ends surplus workers that nobody has needed for a while; true while a surplus worker is still waiting to leave. */
  retire(now: number): boolean {
    const surplus = [...this.on("pass").slice(this.threads.workers), ...this.on("compute")];
    let isOneIdle = false;
    for (const worker of surplus) {
      if (worker.cells.size > 0 || worker.current !== 0) worker.idleSince = undefined;
      else if (now - (worker.idleSince ??= now) > KEPT_IDLE_MS) {
        this.all.delete(worker);
        void worker.close();
      } else isOneIdle = true;
    }
    return isOneIdle;
  }

  async close(): Promise<void> {
    await Promise.all([...this.all].map((worker) => worker.close()));
    this.all.clear();
  }

  #hasAtMostOneCell(): boolean {
    let cells = 0;
    for (const worker of this.all) cells += worker.cells.size;
    return cells <= 1;
  }
}

function isBetter(one: NodeWorker, other: NodeWorker): boolean {
  if (one.isTrying !== other.isTrying) return other.isTrying;
  return one.unanswered < other.unanswered;
}
