/**
 * RunFacts of a run: what its host says of its calls in the open, for lists. Runs on the host.
 *
 * - Names are those of tools that there were: a program may call anything, and must not write into lists what it likes.
 */
import type { CallFailureCode } from "../contract/failure.ts";
import type { Ledger } from "../contract/ledger.ts";
import { type RunFacts, STORE_TEXT_BYTES, STORE_TOOL_NAMES, isStoreText } from "../contract/store.ts";
import { isYield } from "../ledger/ledger-recorder.ts";
import type { JournalEntry } from "./journal-entry.ts";

const NO_TOOL: CallFailureCode = "unknown_tool";

/** What a ledger says of its calls, and which of them wait for a decision. */
export function factsOf(
  header: Pick<Ledger, "mayYield">,
  { calls, deliveries }: Pick<Ledger, "calls" | "deliveries">,
  pending: readonly number[],
  namesTools: boolean,
): RunFacts {
  const called = new Set(pending);
  let failed = 0;
  for (const { items } of deliveries) {
    for (const item of items) {
      if (item.kind === "timer") continue;
      if (item.kind === "failure") failed++;
      if (item.kind !== "failure" || item.failure.code !== NO_TOOL) called.add(item.call);
    }
  }
  const counts = { calls: calls.length, failed, pending: pending.length };
  return namesTools ? { ...counts, tools: namesOf(header, calls, called) } : counts;
}

/** Those after an entry of the journal. */
export function addFacts(facts: RunFacts, entry: JournalEntry): RunFacts {
  if (entry.kind === "turn") return { ...facts, calls: facts.calls + entry.calls.length };
  if (entry.kind !== "delivery") return facts;
  const failures = entry.delivery.items.filter(({ kind }) => kind === "failure");
  return { ...facts, failed: facts.failed + failures.length };
}

function namesOf(
  header: Pick<Ledger, "mayYield">,
  calls: Ledger["calls"],
  called: ReadonlySet<number>,
): string[] {
  const names = new Set<string>();
  let bytes = 0;
  for (const index of called) {
    const call = calls[index];
    if (call === undefined || names.has(call.tool) || isYield(header, call)) continue;
    if (!isStoreText(call.tool)) continue;
    bytes += Buffer.byteLength(call.tool);
    if (names.size === STORE_TOOL_NAMES || bytes > STORE_TEXT_BYTES) break;
    names.add(call.tool);
  }
  return [...names];
}
