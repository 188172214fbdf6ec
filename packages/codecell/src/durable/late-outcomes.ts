/**
 * LateOutcomes: calls that this process goes on executing for runs that it has suspended into tokens. Runs on the host.
 *
 * - Only this process can know their outcomes. If a token is resumed elsewhere, they are unknown there.
 * - A call is forgotten when the run that took it has its outcome, or when its run can no longer be resumed or has
 *   ended. If it still executes then, its tool is told to stop, as in any run that ended.
 * - Outcomes that no run has taken are bounded over all runs. Beyond that the outcomes that came first are forgotten;
 *   their calls are unknown here too.
 */
import type { CallOutcome } from "../contract/ledger.ts";
import { toCallId } from "../contract/ledger.ts";
import { sizeOfOutcome } from "../ledger/ledger-recorder.ts";
import { LONGEST_MS } from "../loop/wait.ts";

/** Characters of all outcomes that no run has taken. The newest outcome is kept however large it is. */
export const LATE_SIZE: number = 32 * 1024 * 1024;
/** What an outcome counts for in addition to its text. */
const OUTCOME_SIZE = 512;
/** A question is kept as a value, and may have all of its call's input in it: that takes this much more than its text. */
const VALUE_SIZE = 10;

interface Expected extends PromiseWithResolvers<CallOutcome> {
  /** The outcome, once it is there, how many outcomes came before it, and what it counts for. */
  settled: { readonly outcome: CallOutcome; readonly place: number; readonly size: number } | undefined;
  /** Whether a resumed run waits for the outcome. */
  isTaken: boolean;
  /** Gives the call up when its run can no longer be resumed. */
  timer: NodeJS.Timeout | undefined;
  /** Tells the calls of the run that executes this call to stop. Undefined once nothing is to be stopped. */
  abort: (() => void) | undefined;
}

export class LateOutcomes {
  readonly #calls = new Map<string, Expected>();
  /** The calls whose outcomes are kept, in the order in which these came. */
  readonly #kept = new Set<string>();
  /** What the kept outcomes count for. */
  #size = 0;
  #settled = 0;

  /** `abort` tells the calls that the run made itself to stop. */
  expect(runId: string, calls: readonly number[], expiresAt: number, abort: () => void): void {
    for (const call of calls) {
      const key = toCallId(runId, call);
      // A known call was executing when the run was suspended before, and still is.
      const expected = this.#calls.get(key) ?? {
        ...Promise.withResolvers<CallOutcome>(),
        settled: undefined,
        isTaken: false,
        timer: undefined,
        abort,
      };
      expected.isTaken = false;
      this.#calls.set(key, expected);
      this.#giveUpAt(key, expected, expiresAt);
    }
  }

  /** The last expiry counts: a run that is suspended again can be resumed for longer. */
  #giveUpAt(key: string, expected: Expected, expiresAt: number): void {
    clearTimeout(expected.timer);
    const giveUp = (): void => {
      if (Date.now() >= expiresAt) this.#giveUp(key);
      // No timer can be set for as long as a run may be suspended.
      else this.#giveUpAt(key, expected, expiresAt);
    };
    const waitMs = Math.min(LONGEST_MS, Math.max(0, expiresAt - Date.now()));
    expected.timer = setTimeout(giveUp, waitMs).unref();
  }

  /** For a run that cannot go on any more: nobody will ask for these calls. */
  giveUp(runId: string, calls: Iterable<number>): void {
    for (const call of calls) this.#giveUp(toCallId(runId, call));
  }

  #giveUp(key: string): void {
    const abort = this.#calls.get(key)?.abort;
    this.#forget(key);
    abort?.();
  }

  #forget(key: string): void {
    const expected = this.#calls.get(key);
    // The timer holds the outcome.
    clearTimeout(expected?.timer);
    this.#size -= expected?.settled?.size ?? 0;
    this.#kept.delete(key);
    this.#calls.delete(key);
  }

  /** `inputLength` is the length of the call's input. */
  settle(runId: string, outcome: CallOutcome, inputLength: number): void {
    const key = toCallId(runId, outcome.call);
    const expected = this.#calls.get(key);
    // A run that took the call and was suspended again hands the outcome over too.
    if (expected === undefined || expected.settled !== undefined) return;
    expected.resolve(outcome);
    // It holds the run.
    expected.abort = undefined;
    if (expected.isTaken) {
      this.#forget(key);
      return;
    }
    const size =
      OUTCOME_SIZE + (outcome.kind === "asked" ? VALUE_SIZE * inputLength : sizeOfOutcome(outcome));
    expected.settled = { outcome, place: this.#settled++, size };
    this.#kept.add(key);
    this.#size += size;
    for (const first of this.#kept) {
      if (this.#size <= LATE_SIZE || first === key) break;
      this.#forget(first);
    }
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
      clearTimeout(expected.timer);
      awaited.set(call, expected.promise);
      if (expected.settled !== undefined) this.#forget(key);
    }
    return awaited;
  }
}
