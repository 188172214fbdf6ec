/**
 * Runs in tests. DrivenCell is a cell of a sandbox that a test drives by hand: the test decides what is delivered and
 * when.
 */
import type { Delivery, DeliveryItem, Progress } from "../contract/ledger.ts";
import { type Limits, resolveLimits } from "../contract/limits.ts";
import type { Report, ReportPiece } from "../protocol/messages.ts";
import type { CellStart, Loss, Placement, Sandbox } from "../sandbox/sandbox.ts";

export const CLOCK = 1_700_000_000_000;
const TOOL_NAMES = ["now", "micro", "turn", "wait", "late", "fail"];

export function toStart(source: string, limits: Partial<Limits> = {}): CellStart {
  return {
    source,
    language: "typescript",
    seed: "5a".repeat(32),
    clock: CLOCK,
    toolNames: JSON.stringify(TOOL_NAMES),
    features: { yield: true },
    limits: resolveLimits(limits),
    history: [],
  };
}

export function toOutput(call: number, value: unknown, clock: number = CLOCK + 50): Delivery {
  return { clock, items: [{ kind: "output", call, output: JSON.stringify(value) }] };
}

/** What a report says, without what depends on the placement. */
export type Said = Omit<Report, "cell" | "cpuTimeMs" | "heapBytes">;

export class DrivenCell {
  readonly placement: Placement;
  /** The reports so far, one for the start and one for each delivery, each with its pieces in it. */
  readonly said: Said[] = [];
  readonly deliveries: Delivery[] = [];
  readonly losses: Loss[] = [];
  /** The cause of the last loss. */
  cause: unknown;
  /** How often the sandbox asked the cell to give its memory up. */
  asked = 0;
  readonly #calls: { readonly tool: string; readonly input: string }[] = [];
  readonly #pendingCalls = new Set<number>();
  readonly #timers = new Set<number>();
  #pieces: ReportPiece[] = [];
  #timerChanges = 0;
  #logs = 0;
  #wake: () => void = () => {};

  /** `evicts`: whether the cell gives its memory up when asked to. */
  constructor(sandbox: Sandbox, start: CellStart, evicts: boolean = false) {
    this.placement = sandbox.place(start, {
      onReport: (report) => this.#onReport(report),
      onPiece: (piece) => void this.#pieces.push(piece),
      onLost: (loss, cause) => {
        this.losses.push(loss);
        this.cause = cause;
        this.#wake();
      },
      onEvict: () => {
        this.asked++;
        return evicts;
      },
    });
  }

  get loss(): Loss | undefined {
    return this.losses[0];
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

  /** Waits until there are so many reports, or the cell is lost. */
  async reports(count: number): Promise<void> {
    while (this.said.length < count && this.loss === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }

  /** Delivers without waiting for the report. */
  give(delivery: Delivery): void {
    this.deliveries.push(delivery);
    this.placement.deliver(delivery);
  }

  async deliver(delivery: Delivery): Promise<void> {
    this.give(delivery);
    await this.reports(this.said.length + 1);
  }

  /** Answers some of what the cell waits for. False when the cell waits for nothing. */
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

  #onReport({ cell: _cell, cpuTimeMs: _cpuTimeMs, heapBytes: _heapBytes, ...last }: Report): void {
    const said = {
      ...last,
      calls: [...this.#pieces.flatMap(({ calls }) => calls), ...last.calls],
      timers: [...this.#pieces.flatMap(({ timers }) => timers), ...last.timers],
    };
    this.#pieces = [];
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
