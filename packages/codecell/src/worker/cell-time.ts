/**
 * CellTime: the processor time of a cell: how much it has used, and whether it has to stop.
 *
 * - Where the thread's own time can be told, time in which the thread did not run does not count.
 * - Says at most one thing, and then the same for ever: out of time, or that the cell computes while others wait.
 * - A short turn costs a look at the clock, and hardly ever one at the thread's. What the thread did in the two
 *   milliseconds before a turn may count for it, where the turn itself took as long by the clock.
 */
import { guestQuantumMs, LEAST_QUANTUM_MS, quantumMs } from "../protocol/quantum.ts";
import type { ThreadClock } from "./thread-clock.ts";

/** What it takes from the worker. */
export interface TimeEnvironment {
  readonly now: () => number;
  /** Undefined where the processor time of a thread cannot be told. */
  readonly threadClock: ThreadClock | undefined;
  /** How many commands for other cells wait for this thread, at least. */
  readonly countWaiting: (cell: number) => number;
}

const CHECK_EVERY_MS = 1;
/** Guest code that is asked whether to go on has computed at least so long since it was last asked. */
const LEAST_MS_A_POLL = 0.1;

export class CellTime {
  /** Why the cell has to stop. */
  verdict: "out of time" | "computes" | undefined;
  readonly #cell: number;
  readonly #limitMs: number;
  readonly #moves: number;
  readonly #environment: TimeEnvironment;
  /** Up to the present turn. */
  #usedMs = 0;
  /** Used in an earlier placement, whose memory this one goes on from. */
  #restoredMs = 0;
  #turns = 0;
  #startedAt = 0;
  #threadTimeAtStart = 0;
  #checkAt = 0;
  /** In this placement. */
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

  /** A turn begins, or several that are repeated at once. */
  begin(turns: number): void {
    const { now, threadClock } = this.#environment;
    this.#turns += turns;
    this.#startedAt = now();
    this.#threadTimeAtStart = threadClock?.readRecent(this.#startedAt) ?? 0;
    this.#checkAt = this.#startedAt + Math.min(CHECK_EVERY_MS, this.#limitMs - this.#usedMs);
  }

  /** Asked again and again during a turn. */
  mustStop(): boolean {
    this.#polls++;
    const now = this.#environment.now();
    if (this.verdict === undefined && now > this.#checkAt) this.#check(now);
    return this.verdict !== undefined;
  }

  end(): void {
    this.#usedMs += this.#turnMs(this.#environment.now());
  }

  #check(now: number): void {
    const turnMs = this.#turnMs(now);
    const leftMs = this.#limitMs - this.#usedMs - turnMs;
    if (leftMs < 0) this.verdict = "out of time";
    else if (this.#isPastQuantum(turnMs)) this.verdict = "computes";
    this.#checkAt = now + Math.min(CHECK_EVERY_MS, leftMs);
  }

  #turnMs(now: number): number {
    const wallMs = now - this.#startedAt;
    const { threadClock } = this.#environment;
    if (threadClock === undefined || wallMs < CHECK_EVERY_MS) return wallMs;
    return Math.min(wallMs, threadClock.read(now) - this.#threadTimeAtStart);
  }

  /**
   * The thread's time has more in it than guest code: a worker's first steps, the preparation of the source. So nothing is
   * said of turns in which guest code was never asked, and where the thread's time cannot be told, only guest code counts.
   */
  #isPastQuantum(turnMs: number): boolean {
    const { threadClock, countWaiting } = this.#environment;
    const guestMs = this.#polls * LEAST_MS_A_POLL;
    const placementMs = threadClock === undefined ? 0 : this.#usedMs - this.#restoredMs + turnMs;
    if (Math.max(guestMs, placementMs) < LEAST_QUANTUM_MS) return false;
    const waiting = countWaiting(this.#cell);
    if (waiting === 0) return false;
    return (
      guestMs > guestQuantumMs(this.#moves, this.#turns, waiting) ||
      placementMs > quantumMs(this.#moves, this.#turns)
    );
  }
}
