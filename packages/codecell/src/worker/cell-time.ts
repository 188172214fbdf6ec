/**
 * Runs in a worker thread. CellTime measures the processor time of a cell and says when the cell has to stop.
 *
 * - Where the platform can tell the thread's processor time, time in which the thread did not run does not count.
 * - There is at most one verdict, and it never changes: the cell is out of time, or it computes while others wait.
 * - A short burst looks at the wall clock, and hardly ever at the thread's clock. What the thread did in the two
 *   milliseconds before a burst may count for the burst, if the burst itself took as long by the wall clock.
 */
import { guestQuantumMs, LEAST_QUANTUM_MS, quantumMs } from "../protocol/quantum.ts";
import type { ThreadClock } from "./thread-clock.ts";

/** What CellTime takes from the worker. */
export interface TimeEnvironment {
  readonly now: () => number;
  /** Undefined where the platform cannot tell the processor time of a thread. */
  readonly threadClock: ThreadClock | undefined;
  /** At least how many commands for other cells wait for this thread. */
  readonly countWaiting: (cell: number) => number;
}

const CHECK_EVERY_MS = 1;
/** Between two polls, guest code computes for at least this long. */
const LEAST_MS_A_POLL = 0.1;

export class CellTime {
  /** Why the cell has to stop. */
  verdict: "out of time" | "computes" | undefined;
  readonly #cell: number;
  readonly #limitMs: number;
  readonly #moves: number;
  readonly #environment: TimeEnvironment;
  /** Time used before the present burst. */
  #usedMs = 0;
  /** Time used in an earlier placement, from whose memory this placement goes on. */
  #restoredMs = 0;
  #bursts = 0;
  #startedAt = 0;
  #threadTimeAtStart = 0;
  #checkAt = 0;
  /** Polls in this placement. */
  #polls = 0;

  constructor(cell: number, limitMs: number, moves: number, environment: TimeEnvironment) {
    this.#cell = cell;
    this.#limitMs = limitMs;
    this.#moves = moves;
    this.#environment = environment;
  }

  get usedMs(): number {
    return this.#usedMs;
  }

  restore(usedMs: number): void {
    this.#usedMs = usedMs;
    this.#restoredMs = usedMs;
  }

  /** Begins a burst, or several bursts that are repeated at once. */
  begin(bursts: number): void {
    const { now, threadClock } = this.#environment;
    this.#bursts += bursts;
    this.#startedAt = now();
    this.#threadTimeAtStart = threadClock?.readRecent(this.#startedAt) ?? 0;
    this.#checkAt = this.#startedAt + Math.min(CHECK_EVERY_MS, this.#limitMs - this.#usedMs);
  }

  /** The engine asks this again and again during a burst. */
  mustStop(): boolean {
    this.#polls++;
    const now = this.#environment.now();
    if (this.verdict === undefined && now > this.#checkAt) this.#check(now);
    return this.verdict !== undefined;
  }

  end(): void {
    this.#usedMs += this.#burstMs(this.#environment.now());
  }

  #check(now: number): void {
    const burstMs = this.#burstMs(now);
    const leftMs = this.#limitMs - this.#usedMs - burstMs;
    if (leftMs < 0) this.verdict = "out of time";
    else if (this.#isPastQuantum(burstMs)) this.verdict = "computes";
    this.#checkAt = now + Math.min(CHECK_EVERY_MS, leftMs);
  }

  #burstMs(now: number): number {
    const wallMs = now - this.#startedAt;
    const { threadClock } = this.#environment;
    if (threadClock === undefined || wallMs < CHECK_EVERY_MS) return wallMs;
    return Math.min(wallMs, threadClock.read(now) - this.#threadTimeAtStart);
  }

  /**
   * The thread's time covers more than guest code: the worker's first steps, and the preparation of the source. So a
   * burst in which guest code was never polled gets no verdict. Where the platform cannot tell the thread's time, only
   * the polls of guest code count.
   */
  #isPastQuantum(burstMs: number): boolean {
    const { threadClock, countWaiting } = this.#environment;
    const guestMs = this.#polls * LEAST_MS_A_POLL;
    const placementMs = threadClock === undefined ? 0 : this.#usedMs - this.#restoredMs + burstMs;
    if (Math.max(guestMs, placementMs) < LEAST_QUANTUM_MS) return false;
    const waiting = countWaiting(this.#cell);
    if (waiting === 0) return false;
    return (
      guestMs > guestQuantumMs(this.#moves, this.#bursts, waiting) ||
      placementMs > quantumMs(this.#moves, this.#bursts)
    );
  }
}
