/**
 * LateOutcomes: calls that this process goes on executing for runs that it has suspended into tokens. Runs on the host.
 *
 * - Only this process can know their outcomes. If a token is resumed elsewhere, they are unknown there.
 * - A call stays known until the run that took it has ended, or is suspended again and has its outcome. So no outcome is
 *   lost, wherever that run stands when it comes.
 * - A call is given up when its run can no longer be resumed or has ended, or when the host is closed. If it still
 *   executes then, its tool is told to stop, as in any run that ended.
 * - Outcomes that no run has taken are bounded over all runs. Beyond that the outcomes that came first are forgotten;
 *   their calls are unknown here too.
 */
import type { CallOutcome } from "../contract/ledger.ts";
import { toCallId } from "../contract/ledger.ts";
import { sizeOfOutcome } from "../ledger/ledger-recorder.ts";
import { LONGEST_MS } from "../loop/wait.ts";
import type { RunAtRest } from "./suspended-run.ts";

/** Characters of all outcomes that no run has taken. The newest outcome is kept however large it is. */
export const LATE_SIZE: number = 32 * 1024 * 1024;
/** What an outcome counts for in addition to its text. */
const OUTCOME_SIZE = 512;
/** A question is kept as a value, and may have all of its call's input in it: that takes this much more than its text. */
const VALUE_SIZE = 10;

/** Tells the calls that one run makes to stop. */
export function stopCalls(abort: AbortController): void {
  abort.abort(new DOMException("The run ended", "AbortError"));
}

interface Expected extends PromiseWithResolvers<CallOutcome> {
  /** The outcome, once it is there, how many outcomes came before it, and what it counts for. */
  settled: { readonly outcome: CallOutcome; readonly place: number; readonly size: number } | undefined;
  /** Who will ask for the outcome: a later resume, a resumed run, or nobody but a run that waits for the call to stop. */
  for: "resume" | "run" | "nobody";
  /** Gives the call up when its run can no longer be resumed. */
  timer: NodeJS.Timeout | undefined;
  /** Stops the calls of the run that executes this call. Undefined once the call has ended. */
  abort: AbortController | undefined;
}

export class LateOutcomes {
  readonly #calls = new Map<string, Expected>();
  /** The calls whose outcomes are kept, in the order in which these came. */
  readonly #kept = new Set<string>();
  /** What the kept outcomes count for. */
  #size = 0;
  #settled = 0;

  /** The calls that execute for a run that is suspended. `abort` stops those that the run made itself. */
  expect(runId: string, executing: RunAtRest["executing"], expiresAt: number, abort: AbortController): void {
    for (const [call, executor] of executing) {
      const key = toCallId(runId, call);
      if (executor === undefined) {
        // The call asked before, and that question is known.
        this.#forget(key);
        this.#calls.set(key, {
          ...Promise.withResolvers<CallOutcome>(),
          settled: undefined,
          for: "resume",
          timer: undefined,
          abort,
        });
      }
      const expected = this.#calls.get(key);
      // Nobody will settle a call that was left to an executor and was forgotten.
      if (expected === undefined) continue;
      expected.for = "resume";
      this.#giveUpAt(key, expected, expiresAt);
      this.#keep(key, expected);
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

  /** For a run that cannot go on any more, or has the outcomes of these calls: nobody will ask for them. */
  giveUp(runId: string, calls: Iterable<number>): void {
    for (const call of calls) this.#giveUp(toCallId(runId, call));
  }

  /** For a host that is closed: nobody can resume its runs there. */
  giveUpAll(): void {
    for (const key of this.#calls.keys()) this.#giveUp(key);
  }

  #giveUp(key: string): void {
    const expected = this.#calls.get(key);
    if (expected?.abort !== undefined) stopCalls(expected.abort);
    if (expected?.for === "resume" || expected?.settled !== undefined) this.#forget(key);
    else if (expected !== undefined) expected.for = "nobody";
  }

  #forget(key: string): void {
    const expected = this.#calls.get(key);
    if (expected === undefined) return;
    // The timer holds the outcome.
    clearTimeout(expected.timer);
    this.#release(key, expected);
    this.#calls.delete(key);
  }

  /** An outcome counts while no run has it. */
  #keep(key: string, { settled }: Expected): void {
    if (settled === undefined) return;
    this.#kept.add(key);
    this.#size += settled.size;
    for (const first of this.#kept) {
      if (this.#size <= LATE_SIZE || first === key) break;
      this.#forget(first);
    }
  }

  #release(key: string, { settled }: Expected): void {
    if (this.#kept.delete(key)) this.#size -= settled?.size ?? 0;
  }

  /** `inputLength` is the length of the call's input. */
  settle(runId: string, outcome: CallOutcome, inputLength: number): void {
    const key = toCallId(runId, outcome.call);
    const expected = this.#calls.get(key);
    // A run that took the call and was suspended meanwhile may hand the outcome over too.
    if (expected === undefined || expected.settled !== undefined) return;
    expected.resolve(outcome);
    if (expected.for === "nobody") {
      this.#forget(key);
      return;
    }
    // Tools listen to it, and hold what they like.
    expected.abort = undefined;
    const size =
      OUTCOME_SIZE + (outcome.kind === "asked" ? VALUE_SIZE * inputLength : sizeOfOutcome(outcome));
    expected.settled = { outcome, place: this.#settled++, size };
    if (expected.for === "resume") this.#keep(key, expected);
  }

  /** Whether this process executes a call, or knows its outcome. */
  isExpected(runId: string, call: number): boolean {
    const expected = this.#calls.get(toCallId(runId, call));
    return expected !== undefined && expected.for !== "nobody";
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
      expected.for = "run";
      clearTimeout(expected.timer);
      this.#release(key, expected);
      awaited.set(call, expected.promise);
    }
    return awaited;
  }
}
