/**
 * Yields: how a program gives control back. A yield is a call that no tool serves.
 *
 * - Open from when it was made until its run is resumed. Nothing is kept of it but the ledger.
 */
import { parseJson } from "../value/parse-json.ts";
import { isTurnLong, nextTurn } from "../loop/turn.ts";
import type { SettledOutcome } from "../contract/ledger.ts";
import type { LedgerRecorder } from "./ledger-recorder.ts";

export function endOfYield(call: number): SettledOutcome {
  return { kind: "output", call, output: "null" };
}

/** What a run's open yields say. */
export async function reasonsOf({ openYields, calls, header }: LedgerRecorder): Promise<string[]> {
  const reasons: string[] = [];
  for (const index of openYields) {
    while (isTurnLong()) await nextTurn();
    const parsed = await parseJson(calls[index]?.input ?? "", header.limits.callInputBytes);
    reasons.push(parsed.ok && typeof parsed.value === "string" ? parsed.value : "");
  }
  return reasons;
}
