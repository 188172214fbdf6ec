/**
 * Crew: the workers of a pool, how many there are of them, and which one a cell is given to. On the host.
 *
 * - Those that pass by and those that compute have workers of their own. While some are held by single cells there are
 *   more, up to a bound; what nobody needs for a while leaves.
 * - A worker on which a suspect is tried is given to nobody else, if there is another.
 */
import type { Threads } from "./address-space.ts";
import { type Duty, NodeWorker, type WorkerOwner, type WorkerParts } from "./node-worker.ts";

/** A worker beyond those of ordinary times leaves when nobody has needed it for so long. */
const KEPT_IDLE_MS = 1000;

export class Crew {
  readonly workers: Set<NodeWorker> = new Set();
  /** As many as there are addresses for. */
  threads: Threads;
  /** What they are made of; undefined until it is loaded. */
  parts: WorkerParts | undefined;
  /** Why no worker could be started, the last time. */
  problem: unknown;
  readonly #owner: Omit<WorkerOwner, "duty">;

  constructor(threads: Threads, owner: Omit<WorkerOwner, "duty" | "isOnlyCell">) {
    this.threads = threads;
    this.#owner = { ...owner, isOnlyCell: () => this.#hasAtMostOneCell() };
  }

  on(duty: Duty): NodeWorker[] {
    return [...this.workers].filter((worker) => worker.duty === duty);
  }

  /** The least loaded worker that nobody holds; a new one where that would be better. */
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

  /** Whether one that computes can have a thread now. Also where there is to be none: then such cells share the others. */
  hasIdleComputer(): boolean {
    const { computeWorkers } = this.threads;
    const computers = this.on("compute");
    return (
      computers.length < computeWorkers ||
      computeWorkers === 0 ||
      computers.some(({ unanswered }) => unanswered === 0)
    );
  }

  /** Where the next suspect can be tried, one at a time; undefined when one is, or nobody would be left for others. */
  chooseForSuspect(): NodeWorker | undefined {
    const free = this.on("pass").filter(({ occupied }) => !occupied);
    // Where there is one worker alone, nobody can be kept apart.
    if (free.length < Math.min(2, this.threads.maxWorkers) || free.some(({ isTrying }) => isTrying)) {
      return undefined;
    }
    return free.toSorted((one, other) => one.unanswered - other.unanswered)[0];
  }

  /** Undefined where the process may not, or cannot, start one more thread. */
  spawn(duty: Duty): NodeWorker | undefined {
    if (this.parts === undefined) return undefined;
    try {
      const worker = new NodeWorker(this.parts, { ...this.#owner, duty });
      this.workers.add(worker);
      return worker;
    } catch (error) {
      this.problem = error;
      return undefined;
    }
  }

  /** Workers beyond those of ordinary times leave when nobody has needed them for a while; true while one is to leave. */
  retire(now: number): boolean {
    const surplus = [...this.on("pass").slice(this.threads.workers), ...this.on("compute")];
    let isOneIdle = false;
    for (const worker of surplus) {
      if (worker.residents.size > 0 || worker.current !== 0) worker.idleSince = undefined;
      else if (now - (worker.idleSince ??= now) > KEPT_IDLE_MS) {
        this.workers.delete(worker);
        void worker.close();
      } else isOneIdle = true;
    }
    return isOneIdle;
  }

  async close(): Promise<void> {
    await Promise.all([...this.workers].map((worker) => worker.close()));
    this.workers.clear();
  }

  #hasAtMostOneCell(): boolean {
    let cells = 0;
    for (const worker of this.workers) cells += worker.residents.size;
    return cells <= 1;
  }
}

function isBetter(one: NodeWorker, other: NodeWorker): boolean {
  if (one.isTrying !== other.isTrying) return other.isTrying;
  return one.unanswered < other.unanswered;
}
