/**
 * Dispatcher: gets the outcomes of one run's calls, by executing them here or by waiting for their executor. Runs on
 * the host.
 *
 * - With a journal, a call is durable before its tool is called.
 * - A call whose executor is gone may have happened: the dispatcher repeats it only if its tool allows that.
 */
import { isHostServed } from "../contract/features.ts";
import type { CallOutcome, KeptResolution, LedgerCall } from "../contract/ledger.ts";
import { toolOf } from "../contract/late-tools.ts";
import type { ToolSet } from "../contract/tool.ts";
import type { CallRunner } from "../calls/call-runner.ts";
import { isRepeatable, unknownOutcome } from "../durable/recovery.ts";
import type { RunKeeping } from "../durable/run-keeping.ts";
import { resolutionsOf, type RunPast } from "../durable/run-past.ts";

export interface DispatcherSetup {
  readonly tools: ToolSet;
  readonly runner: CallRunner;
  readonly keeping: RunKeeping;
  readonly past: RunPast;
  /** Whether the run has ended or is being given away. */
  readonly isStopping: () => boolean;
}

export class Dispatcher {
  readonly #setup: DispatcherSetup;
  readonly #resolutions: ReadonlyMap<number, KeptResolution>;
  readonly #here = new Set<number>();
  readonly #elsewhere: Map<number, string>;

  constructor(setup: DispatcherSetup) {
    this.#setup = setup;
    this.#resolutions = resolutionsOf(setup.past);
    this.#elsewhere = new Map([...setup.past.elsewhere].map(([index, { executor }]) => [index, executor]));
  }

  /** Calls that execute: in this process (undefined), or with the executor to which they were left. */
  get executing(): Map<number, string | undefined> {
    return new Map<number, string | undefined>([
      ...this.#elsewhere,
      ...[...this.#here].map((index) => [index, undefined] as const),
    ]);
  }

  /** Lets calls that have ended end, whatever keeps them. */
  hurry(): void {
    this.#setup.runner.hurry();
  }

  /**
   * Undefined if the outcome will not be known here: the run ended before its tool was called, or while it waited for
   * an executor.
   */
  outcomeOf(index: number, call: LedgerCall): Promise<CallOutcome | undefined> {
    const executor = this.#elsewhere.get(index);
    return executor === undefined ? this.#execute(index, call) : this.#await(index, call, executor);
  }

  async #await(index: number, call: LedgerCall, executor: string): Promise<CallOutcome | undefined> {
    const { tools, keeping, past, isStopping } = this.#setup;
    const { features } = past.recorder.header;
    const outcome = await keeping.awaitOutcome(index, executor, isStopping);
    // Whoever takes the run up next finds the outcome, or waits for the same executor.
    if (isStopping()) return undefined;
    if (outcome === undefined && isRepeatable(tools, features, call)) return this.#execute(index, call);
    this.#elsewhere.delete(index);
    return outcome ?? unknownOutcome(index, { features, tool: call.tool });
  }

  async #execute(index: number, call: LedgerCall): Promise<CallOutcome | undefined> {
    const { keeping, runner, isStopping } = this.#setup;
    const { journal } = keeping;
    const resolution = this.#resolutions.get(index);
    // No tool will be called, so no entry may say that the call may have happened.
    if (!this.#isServed(call)) return runner.execute(index, call, resolution);
    if (journal !== undefined) {
      // Rejects only if the journal broke, which has ended the run.
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
    const { tools, past } = this.#setup;
    return isHostServed(past.recorder.header.features, tool) || toolOf(tools, tool) !== undefined;
  }
}
