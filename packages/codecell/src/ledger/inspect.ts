/** Runs on the host. Inspect shows a ledger as a table of what happened, for people who debug a run. Outcomes are as in events. */
import { type OutcomeSummary, summarizeOutcome } from "../contract/events.ts";
import type { Ledger } from "../contract/ledger.ts";
import { utf8Bytes } from "../value/json-text.ts";

export interface InspectedCall {
  readonly index: number;
  readonly tool: string;
  readonly inputBytes: number;
  /** As the call's `call-end` event has it, and the delivery that brought it to the program. */
  readonly outcome: (OutcomeSummary & { readonly delivery: number }) | { readonly status: "open" };
}

export interface InspectedDelivery {
  readonly index: number;
  /** Milliseconds since the epoch. */
  readonly clock: number;
  /** Milliseconds since the run started. */
  readonly afterMs: number;
  /** The calls whose outcomes the delivery brought. */
  readonly calls: readonly number[];
  readonly timers: readonly number[];
  readonly bytes: number;
}

export interface Inspection {
  readonly runId: string;
  readonly startedAt: number;
  readonly sourceBytes: number;
  readonly calls: readonly InspectedCall[];
  readonly deliveries: readonly InspectedDelivery[];
}

/** Every call and delivery of a run, with times and sizes. If the ledger is hollow, the sizes of outputs are 0. */
export function inspect(ledger: Ledger): Inspection {
  const outcomes = new Map<number, InspectedCall["outcome"]>();
  const deliveries = ledger.deliveries.map(({ clock, items }, index): InspectedDelivery => {
    const calls: number[] = [];
    const timers: number[] = [];
    let bytes = 0;
    for (const item of items) {
      if (item.kind === "timer") {
        timers.push(item.timer);
        continue;
      }
      calls.push(item.call);
      const isKnown = item.kind === "output" && ledger.hollow !== true;
      const outputBytes = isKnown ? utf8Bytes(item.output) : 0;
      bytes += outputBytes;
      outcomes.set(item.call, { ...summarizeOutcome(item, outputBytes), delivery: index });
    }
    return { index, clock, afterMs: clock - ledger.clock, calls, timers, bytes };
  });
  return {
    runId: ledger.runId,
    startedAt: ledger.clock,
    sourceBytes: utf8Bytes(ledger.source),
    calls: ledger.calls.map(({ tool, input }, index) => ({
      index,
      tool,
      inputBytes: utf8Bytes(input),
      outcome: outcomes.get(index) ?? { status: "open" },
    })),
    deliveries,
  };
}
