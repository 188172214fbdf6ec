/**
 * Recovery: makes the past with which a run goes on, from a suspended run and what was written after it. Runs anywhere.
 *
 * - A call that was dispatched and has no outcome may have happened. It is repeated, under the same idempotency key,
 *   only if its tool allows that, or the feature table for calls that the host itself serves. Otherwise the program is
 *   told that the outcome is unknown.
 * - A call that was recorded but not dispatched has not happened.
 * - Whoever takes a run up needs the tools of the calls that were made and have no outcome. If a tool for a later call
 *   is missing, that call fails as in any run: the program may never make the call, or may catch the failure.
 * - Outcomes are delivered in the order in which they came.
 * - A yield that the suspended run has ends, because whoever takes the run up was told of it. A later yield stays open
 *   and suspends the run again, because nobody was told of it.
 */
import type { CellSnapshot } from "../protocol/messages.ts";
import {
  behindCall,
  calledAs,
  type FeatureSettings,
  isHostServed,
  type NamedCall,
} from "../contract/features.ts";
import type { RepeatableInputs } from "../contract/feature-table.ts";
import type {
  Asked,
  CallOutcome,
  DeliveryItem,
  KeptResolution,
  LedgerCall,
  SettledOutcome,
  TimerChange,
} from "../contract/ledger.ts";
import { toolOf } from "../contract/late-tools.ts";
import type { ToolSet } from "../contract/tool.ts";
import type { DispatchEntry, JournalEntry } from "./journal-entry.ts";
import { isYield, LedgerRecorder } from "../ledger/ledger-recorder.ts";
import type { Elsewhere, RunPast } from "./run-past.ts";
import { fromPendingAtRest, type SuspendedRun } from "./suspended-run.ts";
import { endOfYield } from "../ledger/yields.ts";
import type { Steps } from "../loop/turn.ts";
import { isRecord } from "../value/shape.ts";

/** A suspended run, and what came after it. */
export interface RecoverableRun {
  readonly state: SuspendedRun;
  /** Written to the run's journal since. */
  readonly entries: readonly JournalEntry[];
  /** Outcomes of calls that executors went on with, in the order in which they came. */
  readonly outcomes: ReadonlyMap<number, CallOutcome>;
  /** The snapshot beside the journal. */
  readonly saved: CellSnapshot | undefined;
}

/** How many entries or calls are read between two steps. */
const PIECE = 1000;

/**
 * Works in steps, because a run may have a million deliveries. `isAwaited` says whether the outcome of a call can still
 * come from its executor.
 */
export function* recover(
  { state, entries, outcomes, saved }: RecoverableRun,
  tools: ToolSet,
  isAwaited: (call: number) => boolean,
): Steps<RunPast> {
  const calls = [...state.ledger.calls];
  const deliveries = [...state.ledger.deliveries];
  const pending = new Map<number, Asked>(state.pending.map(fromPendingAtRest));
  const dispatched = new Map<number, DispatchEntry>();
  const taken = entries.find((entry) => entry.kind === "taken");
  const timers = new TimersLeft(state.timers, taken?.at);
  let { timers: seenTimers, cpuTimeMs } = state.seen;
  for (const [place, entry] of entries.entries()) {
    if (place % PIECE === 0) yield;
    switch (entry.kind) {
      case "report":
        for (const call of entry.calls) calls.push(call);
        timers.change(entry.timers, entry.at);
        ({ timers: seenTimers, cpuTimeMs } = entry.seen);
        break;
      case "dispatch":
        dispatched.set(entry.call, entry);
        pending.delete(entry.call);
        break;
      case "asked":
        pending.set(...fromPendingAtRest([entry.call, entry.payload, entry.before]));
        break;
      case "delivery":
        deliveries.push(entry.delivery);
        timers.fire(entry.delivery.items);
        break;
      case "taken":
      // Suspended entries were folded into the state before.
      case "suspended":
        break;
      default:
        entry satisfies never;
    }
  }
  // Log lines after the state count as unseen: the process that died never showed them to its caller.
  const seen = { ...state.seen, timers: seenTimers, cpuTimeMs };
  // A fork whose first report had news has written what it saw of its timers. Without news it had no timers left.
  const isRepeated = state.isRepeated === true && !entries.some(({ kind }) => kind === "report");
  const recorder = yield* LedgerRecorder.after(state.ledger, { calls, deliveries, seen, isRepeated });
  const open = new Map<number, KeptResolution | undefined>();
  const items: DeliveryItem[] = [];
  const elsewhere = new Map<number, Elsewhere>();
  const executing = new Map(state.executing);
  const decided = new Map(state.resolutions);
  const named = new Set(state.ledger.toolNames);
  const served: number[] = [];
  for (const [index, call] of calls.entries()) {
    if (index % PIECE === 0) yield;
    const { tool } = call;
    if (recorder.isSettled(index)) continue;
    if (pending.has(index)) {
      served.push(index);
      continue;
    }
    if (isYield(state.ledger, call)) {
      if (index < state.ledger.calls.length) items.push(endOfYield(index));
      continue;
    }
    const again = dispatched.get(index);
    const resolution = again?.resolution ?? decided.get(index);
    const mayHaveHappened = (again !== undefined || executing.has(index)) && !isDenied(resolution);
    const posted = outcomes.get(index);
    // If the call was dispatched again, its earlier question has been answered.
    const outcome = again !== undefined && posted?.kind === "asked" ? undefined : posted;
    const executor = outcome === undefined && again === undefined ? executing.get(index) : undefined;
    // A call that was dispatched has a tool. For any other call, the tool names from the start of the run say whether
    // it has one.
    const isServed =
      again !== undefined ||
      executing.has(index) ||
      named.has(tool) ||
      isHostServed(state.ledger.features, tool);
    if (isServed && !isDenied(resolution) && (outcome === undefined || outcome.kind === "asked")) {
      served.push(index);
    }
    if (outcome?.kind === "asked")
      pending.set(...fromPendingAtRest([index, outcome.payload, outcome.before]));
    else if (outcome !== undefined) items.push(outcome);
    else if (executor !== undefined && isAwaited(index)) elsewhere.set(index, { executor, resolution });
    else if (!mayHaveHappened || isRepeatable(tools, state.ledger.features, call))
      open.set(index, resolution);
    else items.push(unknownOutcome(index, { features: state.ledger.features, tool }));
  }
  // Outcomes that came while nobody held the run go before items that taking it up adds.
  const order = new Map([...outcomes.keys()].map((call, place) => [call, place]));
  const placeOf = (item: DeliveryItem): number =>
    (item.kind === "timer" ? undefined : order.get(item.call)) ?? order.size;
  items.sort((one, other) => placeOf(one) - placeOf(other));
  return {
    recorder,
    pending,
    open,
    items,
    timers: timers.left(),
    elsewhere,
    served,
    // A snapshot taken after further log lines is not used: whoever takes the run up would not get these lines.
    snapshot: saved?.progress.logs === state.seen.logs ? saved : snapshotOf(state),
  };
}

/** The snapshot of a state stands where its ledger ends. */
function snapshotOf({ ledger, seen, snapshot }: SuspendedRun): CellSnapshot | undefined {
  if (snapshot === undefined) return undefined;
  return {
    // A copy with a buffer of its own: a worker thread takes it over.
    bytes: new Uint8Array(snapshot),
    progress: {
      deliveries: ledger.deliveries.length,
      calls: ledger.calls.length,
      timers: seen.timers,
      logs: seen.logs,
    },
  };
}

/** A denied call did not reach its tool. */
function isDenied(resolution: KeptResolution | undefined): boolean {
  return resolution !== undefined && "deny" in resolution;
}

/** Whether a call that may have happened can be made again. */
export function isRepeatable(
  tools: ToolSet,
  features: FeatureSettings,
  { tool: name, input }: LedgerCall,
): boolean {
  const tool = toolOf(tools, name);
  if (tool === undefined) return isRepeatableByHost(features, name, input);
  return tool.readOnly === true || tool.idempotent === true;
}

function isRepeatableByHost(features: FeatureSettings, name: string, input: string): boolean {
  const call = behindCall(features, name);
  if (call?.endedBy !== "host") return false;
  const { isRepeatable: repeatable } = call;
  return typeof repeatable === "boolean" ? repeatable : hasOneOf(input, repeatable);
}

function hasOneOf(input: string, inputs: RepeatableInputs): boolean {
  let given: unknown;
  try {
    given = JSON.parse(input);
  } catch {
    return false;
  }
  return Object.entries(inputs).every(([field, texts]) => {
    const text = isRecord(given) ? given[field] : undefined;
    return typeof text === "string" && texts.includes(text.toUpperCase());
  });
}

export function unknownOutcome(call: number, named: NamedCall): SettledOutcome {
  return {
    kind: "failure",
    call,
    failure: {
      code: "outcome_unknown",
      name: "CallError",
      message: `The outcome of calling ${calledAs(named)} is unknown: its process ended before the call did; find out whether it took effect before calling it again`,
    },
  };
}

/** Timers run on while nobody holds the run, but not while it is suspended: then they wait until it is taken up. */
class TimersLeft {
  readonly #now = Date.now();
  readonly #dueAt = new Map<number, number>();

  constructor(timers: readonly TimerChange[], takenAt: number | undefined) {
    this.change(timers, takenAt ?? this.#now);
  }

  change(changes: readonly TimerChange[], at: number): void {
    for (const { timer, delayMs } of changes) {
      if (delayMs === null) this.#dueAt.delete(timer);
      else this.#dueAt.set(timer, at + delayMs);
    }
  }

  fire(items: readonly DeliveryItem[]): void {
    for (const item of items) if (item.kind === "timer") this.#dueAt.delete(item.timer);
  }

  left(): TimerChange[] {
    return [...this.#dueAt].map(([timer, dueAt]) => ({ timer, delayMs: Math.max(0, dueAt - this.#now) }));
  }
}
