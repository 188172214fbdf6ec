/**
 * NodePool: the Sandbox of worker threads.
 *
 * - The number of workers follows the cores. A cell that was moved because it computes goes to one of a few workers that
 *   are there for such cells: those that pass by find a worker that is free, or is in a moment.
 * - A cell whose worker is held by another is displaced, not left waiting; one whose worker died likewise. While workers
 *   are held more are started, up to a bound; then the holder has to go.
 * - Suspects, displaced before they made a turn, may be like the one that held their worker. They are tried one by one,
 *   and a worker is kept for who comes meanwhile.
 * - A worker that stays in one cell past that cell's processor time is killed. The thread's end is the only guarantee:
 *   native loops of the engine do not see interrupts.
 */
import type { Delivery } from "../contract/ledger.ts";
import type { CellListener, CellStart, Placement, Sandbox } from "./sandbox.ts";
import { quantumMs } from "../bridge/quantum.ts";
import { loadEngine } from "./engine.ts";
import { type Duty, NodeWorker, type Resident, type WorkerParts } from "./node-worker.ts";
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
  /** Workers while some are held by single cells, without those for cells that compute. */
  readonly maxWorkers: number;
  /** Workers for cells that compute while others wait. */
  readonly computeWorkers: number;
  /** What each of them executes. */
  readonly workerUrl: URL;
}

/** Workers that die before they ever answered, in a row, until the pool gives up. */
const MOST_FAILED_STARTS = 3;
/** A worker beyond those of ordinary times leaves when nobody has needed it for so long. */
const KEPT_IDLE_MS = 1000;

export class NodePool implements Sandbox {
  readonly #options: NodePoolOptions;
  readonly #workers = new Set<NodeWorker>();
  readonly #supervisor: Supervisor;
  #parts: WorkerParts | undefined;
  #loading = false;
  /** In the order they came. */
  #waiting = new Set<Waiting>();
  /** In the order they came. */
  readonly #suspects = new Set<Waiting>();
  #isSuspicious = false;
  #cells = 0;
  #failedStarts = 0;
  /** Why no worker could be started, the last time. */
  #problem: unknown;
  #closed = false;

  constructor(options: NodePoolOptions) {
    this.#options = options;
    this.#supervisor = new Supervisor({
      workers: this.#workers,
      displace: (worker, others) => this.#displace(worker, others),
      onLook: (now) => {
        this.#relieve();
        return this.#retire(now) || this.#suspects.size > 0;
      },
    });
  }

  place(start: CellStart, listener: CellListener): Placement {
    const resident: Resident = {
      cell: ++this.#cells,
      listener,
      cpuTimeMs: start.limits.cpuTimeMs,
      quantumMs: quantumMs(start.moves ?? 0, start.history.length),
      isKnown: start.history.length > 0 || start.snapshot !== undefined,
      unanswered: 0,
      mayBeRefused: false,
      snapshots: [],
      worker: undefined,
    };
    const entry: Waiting = { resident, start, deliveries: [] };
    if (this.#isSuspicious) this.#suspects.add(entry);
    else this.#admit(entry);
    return {
      get isWaiting() {
        return resident.worker === undefined || ![0, resident.cell].includes(resident.worker.current);
      },
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
        if (resident.worker !== undefined) {
          resident.worker.drop(resident);
          // Its worker may be needed by nobody now.
          this.#supervisor.watch();
        } else if (!this.#waiting.delete(entry)) this.#suspects.delete(entry);
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
    const worker = this.#choose(parts, (entry.start.moves ?? 0) > 0 ? "compute" : "pass");
    if (worker === undefined) {
      this.#waiting.add(entry);
      // Nobody is there who could become free. Later: whoever places a cell does not expect to lose it meanwhile.
      if (this.#workers.size === 0) setImmediate(() => this.#giveUpWithoutWorkers());
    } else startOn(worker, entry);
    this.#supervisor.watch();
  }

  #admitSuspects(): void {
    for (const entry of this.#suspects) {
      const idle = this.#on("pass").filter(({ occupied, unanswered }) => !occupied && unanswered === 0);
      const worker = idle[1];
      if (worker === undefined) break;
      this.#suspects.delete(entry);
      startOn(worker, entry);
    }
    for (const worker of this.#on("pass")) worker.wanted = this.#suspects.size;
  }

  /** The least loaded worker that nobody holds; a new one where that would be better. */
  #choose(parts: WorkerParts, duty: Duty): NodeWorker | undefined {
    const { workers, maxWorkers, computeWorkers } = this.#options;
    const all = this.#on(duty);
    let best: NodeWorker | undefined;
    let held = 0;
    for (const worker of all) {
      if (worker.occupied) held++;
      else if (best === undefined || worker.unanswered < best.unanswered) best = worker;
    }
    const target = duty === "compute" ? computeWorkers : Math.min(workers + held, maxWorkers);
    if (all.length < target && (best === undefined || best.unanswered > 0)) {
      return this.#spawn(parts, duty) ?? best;
    }
    return best;
  }

  #on(duty: Duty): NodeWorker[] {
    return [...this.#workers].filter((worker) => worker.duty === duty);
  }

  #hasAtMostOneCell(): boolean {
    let cells = 0;
    for (const worker of this.#workers) cells += worker.residents.size;
    return cells <= 1;
  }

  /** Undefined where the process may not, or cannot, start one more thread. */
  #spawn(parts: WorkerParts, duty: Duty): NodeWorker | undefined {
    try {
      const worker = new NodeWorker(parts, {
        duty,
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
    const sentence = this.#supervisor.sentenceOf(worker);
    this.#failedStarts = worker.ready || sentence !== undefined ? 0 : this.#failedStarts + 1;
    const giveUp = this.#failedStarts >= MOST_FAILED_STARTS;
    const { current } = worker;
    const residents = worker.evict();
    const holder = residents.find(({ cell }) => cell === (sentence?.cell ?? current));
    for (const resident of residents) {
      if (resident === holder) continue;
      const isSuspect = worker.isBroken && resident.unanswered > 0;
      resident.listener.onLost(
        giveUp ? "unavailable" : isSuspect ? "crashed" : "displaced",
        giveUp ? worker.problem : undefined,
      );
    }
    // Last: those that waited for it come before it.
    holder?.listener.onLost(
      giveUp ? "unavailable" : (sentence?.loss ?? "crashed"),
      giveUp ? worker.problem : undefined,
    );
    if (giveUp) {
      this.#failedStarts = 0;
      const suspects = [...this.#suspects];
      this.#suspects.clear();
      for (const { resident } of suspects) resident.listener.onLost("unavailable", worker.problem);
    }
    this.#admitWaiting();
  }

  /** Keeps a worker for those that pass by: beside workers that are held, or in place of one of them. */
  #relieve(): void {
    const all = this.#on("pass");
    const held = all.filter(({ occupied }) => occupied);
    const free = all.length - held.length;
    const isEnough = this.#suspects.size > 0 ? free > 1 : free > 0 || held.length === 0;
    if (!isEnough && this.#parts !== undefined) {
      if (all.length < this.#options.maxWorkers) {
        // One that cannot be started is tried again when somebody asks for it.
        if (this.#failedStarts === 0) this.#spawn(this.#parts, "pass");
      } else {
        // Its other cells are placed again: the fewer, the better.
        const [cheapest] = held.toSorted((one, other) => one.residents.size - other.residents.size);
        if (cheapest !== undefined) this.#supervisor.end(cheapest, "computes");
      }
    }
    this.#admitSuspects();
  }

  /** Workers beyond those of ordinary times leave when nobody has needed them for a while; true while one is to leave. */
  #retire(now: number): boolean {
    const surplus = [...this.#on("pass").slice(this.#options.workers), ...this.#on("compute")];
    let isOneIdle = false;
    for (const worker of surplus) {
      if (worker.residents.size > 0 || worker.current !== 0) worker.idleSince = undefined;
      else if (now - (worker.idleSince ??= now) > KEPT_IDLE_MS) {
        this.#workers.delete(worker);
        void worker.close();
      } else isOneIdle = true;
    }
    return isOneIdle;
  }

  /** Moves cells away from a worker that one of them holds. */
  #displace(worker: NodeWorker, others: readonly Resident[]): void {
    for (const resident of others) {
      worker.drop(resident);
      // It is placed again from within.
      this.#isSuspicious = !resident.isKnown;
      resident.listener.onLost("displaced");
      this.#isSuspicious = false;
    }
    this.#admitWaiting();
  }
}

function startOn(worker: NodeWorker, { resident, start, deliveries }: Waiting): void {
  worker.start(resident, start);
  for (const delivery of deliveries.splice(0)) worker.deliver(resident, delivery);
}
