/**
 * AgentPrograms: the suspended programs of a process, by the id a model knows them by.
 *
 * - One can be taken by its own scope only, and by one caller at a time. Whoever else asks learns nothing of it.
 * - At most so many at once. One that nobody took in time is dropped by a timer, without anybody asking.
 * - How programs ended is remembered for the latest of them, so that who comes late is told what happened.
 */
import type { AgentProgram, ProgramEnd } from "./agent-program.ts";

export type Taken =
  | { readonly status: "taken"; readonly agentProgram: AgentProgram }
  /** Another wait has it. */
  | { readonly status: "busy" }
  | { readonly status: "over"; readonly how: ProgramEnd }
  /** There is none of this id in this scope. */
  | { readonly status: "unknown" };

interface HeldProgram {
  readonly agentProgram: AgentProgram;
  readonly scope: string;
  readonly timer: NodeJS.Timeout;
  isTaken: boolean;
}

interface PastProgram {
  readonly scope: string;
  readonly how: ProgramEnd;
}

/** Of programs that are over. */
const MOST_PAST = 1000;

export class AgentPrograms {
  readonly #most: number;
  readonly #held = new Map<string, HeldProgram>();
  readonly #past = new Map<string, PastProgram>();

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#held.size;
  }

  /** False when there is no room; then the program is not held. */
  hold(agentProgram: AgentProgram, scope: string, ms: number, onExpired: () => void): boolean {
    const known = this.#held.get(agentProgram.runId);
    if (known === undefined && this.#held.size >= this.#most) return false;
    clearTimeout(known?.timer);
    const timer = setTimeout(() => {
      this.remove(agentProgram, "snapshot_expired");
      onExpired();
    }, ms);
    timer.unref();
    this.#held.set(agentProgram.runId, { agentProgram, scope, timer, isTaken: false });
    return true;
  }

  take(runId: string, scope: string): Taken {
    const held = this.#held.get(runId);
    if (held !== undefined && held.scope === scope) {
      if (held.isTaken) return { status: "busy" };
      held.isTaken = true;
      // While it executes it does not expire.
      clearTimeout(held.timer);
      return { status: "taken", agentProgram: held.agentProgram };
    }
    const past = this.#past.get(runId);
    return past !== undefined && past.scope === scope
      ? { status: "over", how: past.how }
      : { status: "unknown" };
  }

  /** The programs of a scope that are suspended or waited for. */
  of(scope: string): readonly AgentProgram[] {
    return [...this.#held.values()]
      .filter((held) => held.scope === scope)
      .map(({ agentProgram }) => agentProgram);
  }

  /** A program is over. Another one of the same id, which a foreign scope asked for in vain, is none of ours. */
  remove(agentProgram: AgentProgram, how: ProgramEnd): void {
    const { runId } = agentProgram;
    const held = this.#held.get(runId);
    if (held?.agentProgram !== agentProgram) return;
    clearTimeout(held.timer);
    this.#held.delete(runId);
    this.#past.set(runId, { scope: held.scope, how });
    const [oldest] = this.#past.keys();
    if (this.#past.size > MOST_PAST && oldest !== undefined) this.#past.delete(oldest);
  }
}
