/**
 * LateOutcomes: calls that this process goes on executing for runs that it has suspended into tokens. Runs on the host.
 *
 * - Only this process can know their outcomes. If a token is resumed elsewhere, they are unknown there.
 * - A call is forgotten when the run that took it has its outcome, or when its run can no longer be resumed.
 */
import type { CallOutcome } from "../contract/ledger.ts";
import { toCallId } from "../contract/ledger.ts";
import { LONGEST_MS } from "../loop/wait.ts";

interface Expected extends PromiseWithResolvers<CallOutcome> {
  /** The outcome, once it is there, and how many outcomes came before it. */
  settled: { readonly outcome: CallOutcome; readonly place: number } | undefined;
  /** Whether a resumed run waits for the outcome. */
  isTaken: boolean;
  /** Forgets the call when its run can no longer be resumed. */
  timer: NodeJS.Timeout | undefined;
}

export class LateOutcomes {
  readonly #calls = new Map<string, Expected>();
  #settled = 0;

  expect(runId: string, calls: readonly number[], expiresAt: number): void {
    for (const call of calls) {
      const key = toCallId(runId, call);
      // A known call was executing when the run was suspended before, and still is.
      const expected = this.#calls.get(key) ?? {
        ...Promise.withResolvers<CallOutcome>(),
        settled: undefined,
        isTaken: false,
        timer: undefined,
      };
      expected.isTaken = false;
      this.#calls.set(key, expected);
      this.#forgetAt(key, expected, expiresAt);
    }
  }

  /** The last expiry counts: a run that is suspended again can be resumed for longer. */
  #forgetAt(key: string, expected: Expected, expiresAt: number): void {
    clearTimeout(expected.timer);
    const forget = (): void => {
      if (expected.isTaken) return;
      if (Date.now() >= expiresAt) this.#calls.delete(key);
      // No timer can be set for as long as a run may be suspended.
      else this.#forgetAt(key, expected, expiresAt);
    };
    const waitMs = Math.min(LONGEST_MS, Math.max(0, expiresAt - Date.now()));
    expected.timer = setTimeout(forget, waitMs).unref();
  }

  settle(runId: string, outcome: CallOutcome): void {
    const key = toCallId(runId, outcome.call);
    const expected = this.#calls.get(key);
    if (expected === undefined) return;
    expected.resolve(outcome);
    expected.settled = { outcome, place: this.#settled++ };
    if (expected.isTaken) this.#calls.delete(key);
  }

  /** Whether this process executes a call, or knows its outcome. */
  isExpected(runId: string, call: number): boolean {
    return this.#calls.has(toCallId(runId, call));
  }

  /** The outcomes of these calls that are already there, in the order in which they came: that order decides races. */
  settled(runId: string, calls: readonly number[]): ReadonlyMap<number, CallOutcome> {
    const there = calls.flatMap((call) => this.#calls.get(toCallId(runId, call))?.settled ?? []);
    there.sort((one, other) => one.place - other.place);
    return new Map(there.map(({ outcome }) => [outcome.call, outcome]));
  }

  /** For a run that was resumed: the outcomes of these calls, which the run waits for. */
  take(runId: string, calls: readonly number[]): ReadonlyMap<number, Promise<CallOutcome>> {
    const awaited = new Map<number, Promise<CallOutcome>>();
    for (const call of calls) {
      const key = toCallId(runId, call);
      const expected = this.#calls.get(key);
      if (expected === undefined) continue;
      expected.isTaken = true;
      awaited.set(call, expected.promise);
      if (expected.settled !== undefined) this.#calls.delete(key);
    }
    return awaited;
  }
}
