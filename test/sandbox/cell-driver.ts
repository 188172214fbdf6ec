/** Drives cells of a sandbox by hand, so that a test decides what is delivered when. */
import { resolveLimits } from "../../packages/codecell/src/contract/limits.ts";
import type { Limits } from "../../packages/codecell/src/contract/limits.ts";
import type { Delivery, DeliveryItem, Progress } from "../../packages/codecell/src/contract/ledger.ts";
import type { Report } from "../../packages/codecell/src/protocol/messages.ts";
import { toCellLimits } from "../../packages/codecell/src/run/cell-limits.ts";
import { sharedHeapBudget } from "../../packages/codecell/src/sandbox/node/heap-budget.ts";
import { NodePool } from "../../packages/codecell/src/sandbox/node/node-pool.ts";
import type { CellStart, Loss, Placement, Sandbox } from "../../packages/codecell/src/sandbox/sandbox.ts";
import { defaultWorkerUrl } from "../../packages/codecell/src/sandbox/node/worker-script.ts";

export const CLOCK = 1_700_000_000_000;
const TOOL_NAMES = ["now", "micro", "turn", "wait", "late", "fail"];

/** One worker of its own. */
export function createPool(workerUrl: URL = defaultWorkerUrl()): NodePool {
  return new NodePool({
    workers: 1,
    maxWorkers: 2,
    computeWorkers: 1,
    workerUrl,
    budget: sharedHeapBudget(),
  });
}

export function toStart(source: string, limits: Partial<Limits> = {}): CellStart {
  return {
    source,
    language: "typescript",
    seed: "5a".repeat(32),
    clock: CLOCK,
    toolNames: JSON.stringify(TOOL_NAMES),
    features: { yield: true },
    limits: toCellLimits(resolveLimits(limits)),
    history: [],
  };
}

/** What a report says, whichever placement it is of. */
export type Said = Omit<Report, "cell" | "cpuTimeMs" | "heapBytes">;

export class DrivenCell {
  readonly placement: Placement;
  /** The reports so far, one for the start and one for each delivery. */
  readonly said: Said[] = [];
  readonly deliveries: Delivery[] = [];
  loss: Loss | undefined;
  readonly #calls: { readonly tool: string; readonly input: string }[] = [];
  readonly #pendingCalls = new Set<number>();
  readonly #timers = new Set<number>();
  #timerChanges = 0;
  #logs = 0;
  #wake: () => void = () => {};

  constructor(sandbox: Sandbox, start: CellStart) {
    this.placement = sandbox.place(start, {
      onReport: (report) => this.#onReport(report),
      onLost: (loss) => {
        this.loss = loss;
        this.#wake();
      },
      onEvict: () => false,
    });
  }

  get isOver(): boolean {
    return this.loss !== undefined || this.said.at(-1)?.isOver === true;
  }

  get last(): Said | undefined {
    return this.said.at(-1);
  }

  get progress(): Progress {
    return {
      deliveries: this.deliveries.length,
      calls: this.#calls.length,
      timers: this.#timerChanges,
      logs: this.#logs,
    };
  }

  /** Until there are so many reports, or the cell is lost. */
  async reports(count: number): Promise<void> {
    while (this.said.length < count && this.loss === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }

  async deliver(delivery: Delivery): Promise<void> {
    this.deliveries.push(delivery);
    this.placement.deliver(delivery);
    await this.reports(this.said.length + 1);
  }

  /** Answers some of what the cell waits for; false when it waits for nothing. */
  async step(choice: number): Promise<boolean> {
    const open: DeliveryItem[] = [
      ...[...this.#pendingCalls].map((call) => this.#answer(call)),
      ...[...this.#timers].map((timer) => ({ kind: "timer" as const, timer })),
    ];
    if (this.isOver || open.length === 0) return false;
    const first = choice % open.length;
    const items = open.slice(first, first + 1 + (choice % 3));
    for (const item of items) {
      if (item.kind === "timer") this.#timers.delete(item.timer);
      else this.#pendingCalls.delete(item.call);
    }
    await this.deliver({ clock: CLOCK + this.deliveries.length * 7 + (choice % 5), items });
    return true;
  }

  #answer(call: number): DeliveryItem {
    const { tool, input } = this.#calls[call] ?? { tool: "", input: "{}" };
    if (tool !== "fail") return { kind: "output", call, output: input };
    return {
      kind: "failure",
      call,
      failure: { code: "tool_failed", name: "TestError", message: "it failed" },
    };
  }

  #onReport({ cell: _cell, cpuTimeMs: _cpuTimeMs, heapBytes: _heapBytes, ...said }: Report): void {
    this.said.push(said);
    for (const call of said.calls) this.#pendingCalls.add(this.#calls.push(call) - 1);
    for (const { timer, delayMs } of said.timers) {
      if (delayMs === null) this.#timers.delete(timer);
      else this.#timers.add(timer);
    }
    this.#timerChanges += said.timers.length;
    this.#logs += said.logs.length;
    this.#wake();
  }
}
