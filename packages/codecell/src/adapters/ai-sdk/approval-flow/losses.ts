/**
 * Runs on the host. Losses tells the host of programs that cannot go on although somebody may have approved their
 * calls.
 *
 * - The host hears of each loss once for the same settings, however many steps see it. A program that a later message
 *   of the user has superseded is not a loss: nobody waits for it.
 * - A program that has gone on already, or goes on elsewhere, is no loss.
 */
import type { FailureCode } from "../../../contract/failure.ts";
import { isRecord } from "../../../value/shape.ts";
import { ANOTHER_KEY } from "../continuation.ts";
import { CodeModeConcurrencyError, CodeModeError } from "../errors.ts";
import type { CodeModeContinuationOptions, CodeModeLostProgram } from "../options.ts";
import type { History } from "./history.ts";

/** Codes of programs that could not go on, in contrast to programs that went on and failed. */
const LOST: ReadonlySet<unknown> = new Set<FailureCode>([
  "too_many_runs",
  "unavailable",
  "replay_diverged",
  "token_invalid",
  "token_version",
  "token_key",
  "token_scope",
  "token_expired",
  "run_unknown",
  "tool_missing",
  "resume_invalid",
  "store_failed",
]);

/** How many losses are remembered as told: more than any conversation has. */
const MOST_TOLD = 1000;

export class Losses {
  /** `onLost` by the name of its code mode tool. */
  readonly #hooks: ReadonlyMap<string, CodeModeContinuationOptions["onLost"]>;
  readonly #told = new Set<string>();

  constructor(hooks: ReadonlyMap<string, CodeModeContinuationOptions["onLost"]>) {
    this.#hooks = hooks;
  }

  /** Tells of interrupts that differ from their seals, or whose seals cannot be opened. */
  look({ programs }: History): void {
    for (const { toolName, outerToolCallId: toolCallId, problem } of programs) {
      if (problem === undefined) continue;
      const code = problem === ANOTHER_KEY ? "token_key" : "token_invalid";
      const message = `Cannot go on with the program of "${toolCallId}": ${problem}`;
      this.#tell({ toolName, toolCallId, code, message });
    }
  }

  /** A call that was to continue a program threw this error. */
  refused(toolName: string, toolCallId: string, error: unknown): void {
    if (!(error instanceof CodeModeError)) return;
    const { message, details } = error;
    const told = isRecord(details) ? details["failure"] : undefined;
    // An invocation that got no place has no run that could fail.
    const code = error instanceof CodeModeConcurrencyError ? "too_many_runs" : told;
    if (LOST.has(code)) this.#tell({ toolName, toolCallId, code: code as FailureCode, message });
  }

  #tell(lost: CodeModeLostProgram): void {
    const key = JSON.stringify([lost.toolCallId, lost.code]);
    if (this.#told.has(key)) return;
    this.#told.add(key);
    const [oldest] = this.#told;
    if (this.#told.size > MOST_TOLD && oldest !== undefined) this.#told.delete(oldest);
    try {
      const told: unknown = this.#hooks.get(lost.toolName)?.(lost);
      if (told instanceof Promise) told.catch(() => undefined);
    } catch {
      // The hook's own affair: the conversation goes on without the program.
    }
  }
}
