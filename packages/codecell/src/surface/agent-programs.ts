/**
 * Runs on the host. AgentPrograms holds the suspended programs of a process, by the id that a model knows.
 *
 * - Only the program's own scope can take a program, and one caller at a time. Any other scope learns nothing about
 *   it.
 * - The number of programs is bounded. A timer drops a program that nobody took in time.
 * - It remembers how the latest programs ended, so that a late caller learns what happened.
 */
import type { AgentProgram, ProgramEnd } from "./agent-program.ts";

export type Taken =
  | { readonly status: "taken"; readonly agentProgram: AgentProgram }
  /** Another wait has the program. */
  | { readonly status: "busy" }
  | { readonly status: "over"; readonly how: ProgramEnd }
  /** This scope has no program with this id. */
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

/** Most programs that are over and remembered. */
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
      // A program does not expire while it executes.
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

  /**
   * Notes that a program is over. Does nothing if another program is held under this id: a foreign scope may have
   * asked for it in vain.
   */
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
