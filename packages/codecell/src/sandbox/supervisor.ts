/**
 * Supervisor: notices workers that stay in one cell for too long.
 *
 * - After a moment the worker counts as occupied and the cells that wait behind the holder are moved away; snapshots
 *   that wait there are given up.
 * - Past the holder's processor time, or when the holder was dropped and does not leave, the worker is killed.
 * - Looks only while commands are unanswered; an idle pool costs nothing.
 */
import { giveUpSnapshots, type NodeWorker, type Resident } from "./node-worker.ts";

const LOOK_EVERY_MS = 10;
/** A stay after which neighbours are moved away, if the holder was seen to work that long, */
const OCCUPIED_AFTER_MS = 50;
const OCCUPIED_AFTER_POLLS = 100;
/** or if it may be in a native loop. Until then a machine that is busy elsewhere would look the same. */
const OCCUPIED_SILENTLY_AFTER_MS = 250;
/** What a cell may take beyond its processor time to notice an interrupt; generous, as its thread may have to wait. */
const GRACE_MS = 250;

interface Stay {
  /** Undefined when the cell was dropped and has not left yet. */
  readonly holder: Resident | undefined;
  readonly cell: number;
  readonly entries: number;
  readonly polls: number;
  readonly since: number;
}

export class Supervisor {
  readonly #workers: ReadonlySet<NodeWorker>;
  readonly #displace: (worker: NodeWorker, others: readonly Resident[]) => void;
  readonly #stays = new WeakMap<NodeWorker, Stay>();
  readonly #condemned = new WeakSet<NodeWorker>();
  readonly #onLook: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    workers: ReadonlySet<NodeWorker>,
    displace: (worker: NodeWorker, others: readonly Resident[]) => void,
    onLook: () => void,
  ) {
    this.#workers = workers;
    this.#displace = displace;
    this.#onLook = onLook;
  }

  /** Called when commands were sent. */
  watch(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Whether the supervisor, not an accident, ended this worker. */
  isCondemned(worker: NodeWorker): boolean {
    return this.#condemned.has(worker);
  }

  #look(): void {
    const now = performance.now();
    let busy = false;
    for (const worker of this.#workers) {
      const cell = worker.current;
      if (cell !== 0 || worker.unanswered > 0) busy = true;
      if (cell !== 0) this.#judge(worker, cell, now);
      else {
        worker.occupied = false;
        this.#stays.delete(worker);
      }
    }
    this.#onLook();
    if (!busy) this.stop();
  }

  #judge(worker: NodeWorker, cell: number, now: number): void {
    const { entries } = worker;
    const holder = worker.residents.get(cell);
    let stay = this.#stays.get(worker);
    if (stay?.cell !== cell || stay.entries !== entries || stay.holder !== holder) {
      stay = { holder, cell, entries, polls: worker.polls, since: now };
      this.#stays.set(worker, stay);
    }
    const stayedMs = now - stay.since;
    if (stayedMs > (holder?.cpuTimeMs ?? 0) + GRACE_MS) {
      this.#condemned.add(worker);
      worker.kill();
    } else if (holdsWorker(worker, stay, stayedMs)) {
      worker.occupied = true;
      for (const one of worker.residents.values()) if (one.cell !== cell) giveUpSnapshots(one);
      const others = [...worker.residents.values()].filter((one) => one.cell !== cell && one.unanswered > 0);
      if (others.length > 0) this.#displace(worker, others);
    }
  }
}

function holdsWorker(worker: NodeWorker, stay: Stay, stayedMs: number): boolean {
  if (stayedMs > OCCUPIED_SILENTLY_AFTER_MS) return true;
  // The counter wraps around; so does the difference.
  return stayedMs > OCCUPIED_AFTER_MS && ((worker.polls - stay.polls) | 0) > OCCUPIED_AFTER_POLLS;
}
