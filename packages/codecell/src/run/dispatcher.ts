/**
 * Dispatcher: brings the calls of one run to their outcomes: here, or by waiting for the executor that has them.
 *
 * - With a journal a call is durable before its tool is called.
 * - A call whose executor is gone may have happened: it is made again only if its tool allows that.
 */
import { isHostServed } from "../contract/features.ts";
import type { CallOutcome, LedgerCall } from "../contract/ledger.ts";
import type { CallResolution } from "../contract/result.ts";
import type { ToolSet } from "../contract/tool.ts";
import type { CallRunner } from "../calls/call-runner.ts";
import type { Journal } from "../durable/journal.ts";
import { type Elsewhere, isRepeatable, unknownOutcome } from "../durable/recovery.ts";
import { decisionsOf, type RunPast } from "./run-setup.ts";

export interface DispatcherSetup {
  readonly tools: ToolSet;
  readonly runner: CallRunner;
  readonly journal: Journal | undefined;
  readonly past: RunPast;
  /** Whether the run has ended or is being given away. */
  readonly isStopping: () => boolean;
}

export class Dispatcher {
  readonly #setup: DispatcherSetup;
  readonly #decisions: ReadonlyMap<number, CallResolution>;
  readonly #here = new Set<number>();
  readonly #elsewhere: Map<number, string>;

  constructor(setup: DispatcherSetup) {
    this.#setup = setup;
    this.#decisions = decisionsOf(setup.past);
    this.#elsewhere = new Map([...setup.past.elsewhere].map(([index, { executor }]) => [index, executor]));
  }

  /** Calls that execute: in this process, or with the executor they were left to. */
  get executing(): Map<number, string | undefined> {
    return new Map<number, string | undefined>([
      ...this.#elsewhere,
      ...[...this.#here].map((index) => [index, undefined] as const),
    ]);
  }

  /** Undefined when nobody here will know: the run ended before its tool was called, or it waits for an executor. */
  outcomeOf(index: number, call: LedgerCall): Promise<CallOutcome | undefined> {
    const elsewhere = this.#setup.past.elsewhere.get(index);
    return elsewhere === undefined ? this.#execute(index, call) : this.#await(index, call, elsewhere);
  }

  async #await(index: number, call: LedgerCall, elsewhere: Elsewhere): Promise<CallOutcome | undefined> {
    const { tools, journal, isStopping } = this.#setup;
    const outcome = await elsewhere.outcome(isStopping);
    // Whoever takes the run up next finds it in the store, or waits for the same executor. A token's has nobody else.
    if (isStopping()) return journal === undefined ? outcome : undefined;
    if (outcome === undefined && isRepeatable(tools, call)) return this.#execute(index, call);
    this.#elsewhere.delete(index);
    return outcome ?? unknownOutcome(index, call.tool);
  }

  async #execute(index: number, call: LedgerCall): Promise<CallOutcome | undefined> {
    const { journal, runner, isStopping } = this.#setup;
    const resolution = this.#decisions.get(index);
    // Nothing is called for it: that it may have happened must not be said of it.
    if (!this.#isServed(call)) return runner.execute(index, call, resolution);
    if (journal !== undefined) {
      // Rejects only when the journal broke, which has ended the run.
      await journal.write({
        kind: "dispatch",
        call: index,
        ...(resolution === undefined ? {} : { resolution }),
      });
    }
    if (isStopping()) return undefined;
    this.#elsewhere.delete(index);
    this.#here.add(index);
    const outcome = await runner.execute(index, call, resolution);
    this.#here.delete(index);
    return outcome;
  }

  #isServed({ tool }: LedgerCall): boolean {
    return isHostServed(tool) || Object.hasOwn(this.#setup.tools, tool);
  }
}
