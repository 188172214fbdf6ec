/**
 * LateOutcomes: calls that this process goes on executing for runs it has suspended into tokens.
 *
 * - Only this process can know them: a token that is resumed elsewhere finds their outcomes unknown.
 * - Forgotten when the run is resumed, or can no longer be.
 */
import type { LateOutcome } from "../suspend/journal-entry.ts";

/** Timers cannot be set for longer. */
const LONGEST_MS = 2_147_483_647;

export class LateOutcomes {
  readonly #runs = new Map<string, ReadonlyMap<number, PromiseWithResolvers<LateOutcome>>>();

  expect(runId: string, calls: readonly number[], expiresAt: number): void {
    if (calls.length === 0) return;
    const expected = new Map(calls.map((call) => [call, Promise.withResolvers<LateOutcome>()]));
    this.#runs.set(runId, expected);
    const forget = (): void => {
      if (this.#runs.get(runId) === expected) this.#runs.delete(runId);
    };
    setTimeout(forget, Math.min(LONGEST_MS, Math.max(0, expiresAt - Date.now()))).unref();
  }

  settle(runId: string, outcome: LateOutcome): void {
    this.#runs.get(runId)?.get(outcome.call)?.resolve(outcome);
  }

  /** What is known here of a run that is resumed. */
  take(runId: string): ReadonlyMap<number, Promise<LateOutcome>> {
    const expected = this.#runs.get(runId) ?? new Map<number, PromiseWithResolvers<LateOutcome>>();
    this.#runs.delete(runId);
    return new Map([...expected].map(([call, { promise }]) => [call, promise]));
  }
}
