/**
 * Folding: the suspended run that a state and its journal amount to.
 *
 * - A run whose snapshot pays is suspended by one more entry of its journal: what that writes does not grow with the
 *   run. The last such entry counts; all before it is the run's past.
 */
import type { JournalEntry } from "./journal-entry.ts";
import { isWhole } from "../value/ledger-shape.ts";
import { isWaitState, type SuspendedRun } from "./suspended-run.ts";

export interface Folded {
  /** As it was suspended last. */
  readonly state: SuspendedRun;
  /** What was written since. */
  readonly entries: readonly JournalEntry[];
}

/** Undefined when the journal does not fit its state. */
export function foldJournal(state: SuspendedRun, entries: readonly JournalEntry[]): Folded | undefined {
  const last = entries.findLastIndex(({ kind }) => kind === "suspended");
  const end = entries[last];
  if (end?.kind !== "suspended") return { state, entries };
  const calls = [...state.ledger.calls];
  const deliveries = [...state.ledger.deliveries];
  for (const entry of entries.slice(0, last)) {
    if (entry.kind === "turn") for (const call of entry.calls) calls.push(call);
    else if (entry.kind === "delivery") deliveries.push(entry.delivery);
  }
  const { waitState } = end;
  const ledger = { ...state.ledger, calls, deliveries };
  if (!isWhole(ledger) || !isWaitState(waitState, ledger)) return undefined;
  const { id, expiresAt, seen, timers, pending, executing, resolutions } = waitState;
  // Its snapshot is beside the journal; the one of the old state stands elsewhere.
  return {
    state: {
      id,
      expiresAt,
      seen,
      timers,
      pending,
      executing,
      resolutions,
      scope: state.scope,
      ledger,
    },
    entries: entries.slice(last + 1),
  };
}
