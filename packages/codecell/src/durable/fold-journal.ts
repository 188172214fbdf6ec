/**
 * Folding: makes one suspended run of a stored state and its journal, and keeps the entries after it. Runs on the host.
 *
 * - A run with a cheap snapshot is suspended by one more entry of its journal, so that the write does not grow with the
 *   run. The last such entry counts; the entries before it are the run's past.
 */
import type { JournalEntry } from "./journal-entry.ts";
import { isWhole } from "../value/ledger-shape.ts";
import type { RecoverableRun } from "./recovery.ts";
import { isWaitState, type SuspendedRun } from "./suspended-run.ts";

/** Undefined if the journal does not fit the state. */
export function foldJournal(
  state: SuspendedRun,
  entries: readonly JournalEntry[],
): Pick<RecoverableRun, "state" | "entries"> | undefined {
  const last = entries.findLastIndex(({ kind }) => kind === "suspended");
  const end = entries[last];
  if (end?.kind !== "suspended") return { state, entries };
  const calls = [...state.ledger.calls];
  const deliveries = [...state.ledger.deliveries];
  for (const entry of entries.slice(0, last)) {
    if (entry.kind === "report") for (const call of entry.calls) calls.push(call);
    else if (entry.kind === "delivery") deliveries.push(entry.delivery);
  }
  const { waitState } = end;
  const ledger = { ...state.ledger, calls, deliveries };
  if (!isWhole(ledger) || !isWaitState(waitState, ledger)) return undefined;
  const { id, expiresAt, seen, timers, pending, executing, resolutions } = waitState;
  const waiting = { id, expiresAt, seen, timers, pending, executing, resolutions };
  // Without the snapshot of the old state, which stands at an earlier place. The snapshot of this entry is beside the
  // journal.
  return { state: { ...waiting, scope: state.scope, ledger }, entries: entries.slice(last + 1) };
}
