/**
 * Runs on the host. Yields: how a program gives control back.
 *
 * - A yield is a call that no tool serves. It is open from the moment it is made until its run is resumed.
 * - The ledger holds everything about a yield; nothing else is kept.
 */
import { parseJson } from "../value/parse-json.ts";
import { isTurnLong, nextTurn } from "../loop/turn.ts";
import type { SettledOutcome } from "../contract/ledger.ts";
import type { LedgerRecorder } from "./ledger-recorder.ts";

export function endOfYield(call: number): SettledOutcome {
  return { kind: "output", call, output: "null" };
}

/** The reasons that the program gave for its open yields. */
export async function reasonsOf({ openYields, calls, header }: LedgerRecorder): Promise<string[]> {
  const reasons: string[] = [];
  for (const index of openYields) {
    while (isTurnLong()) await nextTurn();
    const parsed = await parseJson(calls[index]?.input ?? "", header.limits.callInputBytes);
    reasons.push(parsed.ok && typeof parsed.value === "string" ? parsed.value : "");
  }
  return reasons;
}
