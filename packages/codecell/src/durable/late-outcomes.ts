/**
 * LateOutcomes: calls that this process goes on executing for runs it has suspended into tokens.
 *
 * - Only this process can know them: a token that is resumed elsewhere finds their outcomes unknown.
 * - Forgotten when the run that took them has their outcome, or when the run can no longer be resumed.
 */
import type { CallOutcome } from "../contract/ledger.ts";
import { toCallId } from "../contract/ledger.ts";
import { LONGEST_MS } from "../loop/wait.ts";

interface Expected extends PromiseWithResolvers<CallOutcome> {
  /** Once it is there, and how many others there were before. */
  settled: { readonly outcome: CallOutcome; readonly place: number } | undefined;
  /** Whether a run that was resumed waits for it. */
  isTaken: boolean;
}

export class LateOutcomes {
  readonly #calls = new Map<string, Expected>();
  #settled = 0;

  expect(runId: string, calls: readonly number[], expiresAt: number): void {
    for (const call of calls) {
      const key = toCallId(runId, call);
      // One that is known was executing when the run was suspended before, and still is.
      const expected = this.#calls.get(key) ?? {
        ...Promise.withResolvers<CallOutcome>(),
        settled: undefined,
        isTaken: false,
      };
      expected.isTaken = false;
      this.#calls.set(key, expected);
      const forget = (): void => {
        if (!expected.isTaken && Date.now() >= expiresAt) this.#calls.delete(key);
      };
      setTimeout(forget, Math.min(LONGEST_MS, Math.max(0, expiresAt - Date.now()))).unref();
    }
  }

  settle(runId: string, outcome: CallOutcome): void {
    const key = toCallId(runId, outcome.call);
    const expected = this.#calls.get(key);
    if (expected === undefined) return;
    expected.resolve(outcome);
    expected.settled = { outcome, place: this.#settled++ };
    if (expected.isTaken) this.#calls.delete(key);
  }

  /** What a call comes to; undefined when nobody here executes it. */
  outcomeOf(runId: string, call: number): Promise<CallOutcome> | undefined {
    return this.#calls.get(toCallId(runId, call))?.promise;
  }

  /** What is there already of these calls, in the order it came: that decides races. */
  settled(runId: string, calls: readonly number[]): ReadonlyMap<number, CallOutcome> {
    const there = calls.flatMap((call) => this.#calls.get(toCallId(runId, call))?.settled ?? []);
    there.sort((one, other) => one.place - other.place);
    return new Map(there.map(({ outcome }) => [outcome.call, outcome]));
  }

  /** The run of these calls was resumed, and has what they came to or waits for it. */
  take(runId: string, calls: readonly number[]): void {
    for (const call of calls) {
      const key = toCallId(runId, call);
      const expected = this.#calls.get(key);
      if (expected === undefined) continue;
      expected.isTaken = true;
      if (expected.settled !== undefined) this.#calls.delete(key);
    }
  }
}
