/**
 * NodePool: the Sandbox of worker threads.
 *
 * - The number of workers follows the cores. Only while cells hold workers for long are more started, up to a bound.
 * - A cell whose worker is held by another is displaced, not left waiting; one whose worker died likewise.
 * - A worker that stays in one cell past that cell's processor time is killed. The thread's end is the only guarantee:
 *   native loops of the engine do not see interrupts.
 */
import type { Delivery } from "../contract/ledger.ts";
import type { CellListener, CellStart, Loss, Placement, Sandbox } from "./sandbox.ts";
import { loadEngine } from "./engine.ts";
import { NodeWorker, type Resident, type WorkerParts } from "./node-worker.ts";
import { Supervisor } from "./supervisor.ts";
import { loadWorkerScript } from "./worker-script.ts";

/** A cell for which there is no worker yet, with what was delivered to it meanwhile. */
interface Waiting {
  readonly resident: Resident;
  readonly start: CellStart;
  readonly deliveries: Delivery[];
}

export interface NodePoolOptions {
  /** Workers in ordinary times. */
  readonly workers: number;
  /** Workers while some are held by single cells. */
  readonly maxWorkers: number;
  /** What each of them executes. */
  readonly workerUrl: URL;
}

/** Workers that die before they ever answered, in a row, until the pool gives up. */
const MOST_FAILED_STARTS = 3;

export class NodePool implements Sandbox {
  readonly #options: NodePoolOptions;
  readonly #workers = new Set<NodeWorker>();
  readonly #supervisor: Supervisor;
  #parts: WorkerParts | undefined;
  #loading = false;
  /** In the order they came. */
  #waiting = new Set<Waiting>();
  #cells = 0;
  #failedStarts = 0;
  /** Why no worker could be started, the last time. */
  #problem: unknown;
  #closed = false;

  constructor(options: NodePoolOptions) {
    this.#options = options;
    this.#supervisor = new Supervisor(
      this.#workers,
      (worker, others) => this.#displace(worker, others),
      () => this.#retireSurplus(),
    );
  }

  place(start: CellStart, listener: CellListener): Placement {
    const resident: Resident = {
      cell: ++this.#cells,
      listener,
      cpuTimeMs: start.limits.cpuTimeMs,
      unanswered: 0,
      mayBeRefused: false,
      snapshots: [],
      worker: undefined,
    };
    const entry: Waiting = { resident, start, deliveries: [] };
    this.#admit(entry);
    return {
      deliver: (delivery) => {
        const { worker } = resident;
        if (worker === undefined) {
          entry.deliveries.push(delivery);
          return;
        }
        if (worker.occupied && worker.current !== resident.cell) {
          this.#displace(worker, [resident]);
          return;
        }
        worker.deliver(resident, delivery);
        this.#supervisor.watch();
      },
      snapshot: async () => {
        const { worker } = resident;
        if (worker === undefined || (worker.occupied && worker.current !== resident.cell)) return undefined;
        const snapshot = worker.snapshot(resident);
        this.#supervisor.watch();
        return await snapshot;
      },
      drop: () => {
        if (resident.worker !== undefined) resident.worker.drop(resident);
        else this.#waiting.delete(entry);
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#supervisor.stop();
    await Promise.all([...this.#workers].map((worker) => worker.close()));
    this.#workers.clear();
  }

  #admit(entry: Waiting): void {
    const parts = this.#parts;
    if (parts === undefined) {
      this.#waiting.add(entry);
      this.#load();
      return;
    }
    const worker = this.#choose(parts);
    if (worker === undefined) {
      this.#waiting.add(entry);
      // Nobody is there who could become free. Later: whoever places a cell does not expect to lose it meanwhile.
      if (this.#workers.size === 0) setImmediate(() => this.#giveUpWithoutWorkers());
    } else {
      worker.start(entry.resident, entry.start);
      for (const delivery of entry.deliveries.splice(0)) worker.deliver(entry.resident, delivery);
    }
    this.#supervisor.watch();
  }

  /** The least loaded worker that nobody holds; a new one where that would be better. */
  #choose(parts: WorkerParts): NodeWorker | undefined {
    let best: NodeWorker | undefined;
    let held = 0;
    for (const worker of this.#workers) {
      if (worker.occupied) held++;
      else if (best === undefined || worker.unanswered < best.unanswered) best = worker;
    }
    const target = Math.min(this.#options.workers + held, this.#options.maxWorkers);
    if (this.#workers.size < target && (best === undefined || best.unanswered > 0)) {
      return this.#spawn(parts) ?? best;
    }
    return best;
  }

  #hasAtMostOneCell(): boolean {
    let cells = 0;
    for (const worker of this.#workers) cells += worker.residents.size;
    return cells <= 1;
  }

  /** Undefined where the process may not, or cannot, start one more thread. */
  #spawn(parts: WorkerParts): NodeWorker | undefined {
    try {
      const worker = new NodeWorker(parts, {
        onDeath: (dead) => this.#bury(dead),
        onFree: () => this.#admitWaiting(),
        isOnlyCell: () => this.#hasAtMostOneCell(),
      });
      this.#workers.add(worker);
      return worker;
    } catch (error) {
      this.#problem = error;
      return undefined;
    }
  }

  #giveUpWithoutWorkers(): void {
    if (this.#workers.size === 0) this.#loseWaiting(this.#problem);
  }

  #load(): void {
    if (this.#loading) return;
    this.#loading = true;
    Promise.all([loadEngine(), loadWorkerScript(this.#options.workerUrl)]).then(
      ([engine, script]) => {
        this.#loading = false;
        this.#parts = { engine, script };
        this.#admitWaiting();
      },
      (error: unknown) => {
        this.#loading = false;
        this.#loseWaiting(error);
      },
    );
  }

  #admitWaiting(): void {
    if (this.#closed || this.#waiting.size === 0) return;
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const entry of waiting) this.#admit(entry);
  }

  #loseWaiting(cause: unknown): void {
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const { resident } of waiting) resident.listener.onLost("unavailable", cause);
  }

  #bury(worker: NodeWorker): void {
    this.#workers.delete(worker);
    if (this.#closed) return;
    const condemned = this.#supervisor.isCondemned(worker);
    this.#failedStarts = worker.ready || condemned ? 0 : this.#failedStarts + 1;
    const giveUp = this.#failedStarts >= MOST_FAILED_STARTS;
    const { current } = worker;
    for (const resident of worker.evict()) {
      let loss: Loss = "displaced";
      if (giveUp) loss = "unavailable";
      else if (resident.cell === current) loss = condemned ? "overran" : "crashed";
      else if (worker.isBroken && resident.unanswered > 0) loss = "crashed";
      resident.listener.onLost(loss, giveUp ? worker.problem : undefined);
    }
    if (giveUp) this.#failedStarts = 0;
    this.#admitWaiting();
  }

  /** Workers started while others were held leave when they are no longer needed. */
  #retireSurplus(): void {
    for (const worker of this.#workers) {
      if (this.#workers.size <= this.#options.workers) return;
      if (worker.residents.size > 0 || worker.current !== 0) continue;
      this.#workers.delete(worker);
      void worker.close();
    }
  }

  /** Moves cells away from a worker that one of them holds. */
  #displace(worker: NodeWorker, others: readonly Resident[]): void {
    for (const resident of others) {
      worker.drop(resident);
      resident.listener.onLost("displaced");
    }
    this.#admitWaiting();
  }
}
