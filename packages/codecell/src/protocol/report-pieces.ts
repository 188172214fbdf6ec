/**
 * Report pieces: divides a report that is too large for one message. Runs in a worker; the host knows the size.
 *
 * - The first report of a cell with a history has the calls and timer changes of its whole life. Copying, parsing and
 *   comparing them at once would take the host's thread long.
 * - Calls and timer changes keep their order. What is left of them is in the report itself, which comes last.
 * - The host compares every repeated call itself, piece by piece, and takes nothing on the word of a worker. A worker
 *   that a guest has taken over gains nothing by pieces: each is parsed, needs a request of its own, and all together
 *   have the bounds of one report. If it never sends the rest, this is as if it never answered.
 */
import type { LedgerCall, TimerChange } from "../contract/ledger.ts";
import type { Report, ReportPiece } from "./messages.ts";

/** A message ends after this many UTF-16 units; copying it takes one to three milliseconds. */
export const MESSAGE_UNITS = 1_000_000;

/** What the members of an item take beside its text. */
export const ITEM_UNITS = 64;

/** Gives the pieces and then the report. A small report stays as it is. */
export function reportInPieces(report: Report): [...ReportPiece[], Report] {
  const { cell } = report;
  const pieces: ReportPiece[] = [];
  let calls: LedgerCall[] = [];
  let timers: TimerChange[] = [];
  let units = 0;
  const add = (more: number): void => {
    units += more;
    if (units <= MESSAGE_UNITS) return;
    pieces.push({ kind: "piece", cell, calls, timers });
    calls = [];
    timers = [];
    units = 0;
  };
  for (const call of report.calls) {
    calls.push(call);
    add(ITEM_UNITS + call.tool.length + call.input.length);
  }
  for (const change of report.timers) {
    timers.push(change);
    add(ITEM_UNITS);
  }
  return pieces.length === 0 ? [report] : [...pieces, { ...report, calls, timers }];
}
