/**
 * RunFacts of a run: what its host shows about its calls without a seal, for lists. Runs on the host.
 *
 * - Only names of tools that existed are shown: a program may call any name, and must not write into lists.
 */
import type { CallFailureCode } from "../contract/failure.ts";
import type { Ledger, LedgerCall } from "../contract/ledger.ts";
import { isStoreText, type RunFacts, STORE_TEXT_BYTES, STORE_TOOL_NAMES } from "../contract/store.ts";
import { isYield } from "../ledger/ledger-recorder.ts";
import type { Steps } from "../loop/turn.ts";
import type { JournalEntry } from "./journal-entry.ts";

/** A call with one of these failures may have named no tool: the input is checked before the tool is found. */
const MAY_BE_NONE: ReadonlySet<CallFailureCode> = new Set(["unknown_tool", "invalid_input"]);

/**
 * Counts the calls of a ledger, in steps, because there may be a million. `pending` are the calls that wait for a
 * decision.
 */
export function* factsSteps(
  header: Pick<Ledger, "features">,
  { calls, deliveries }: Pick<Ledger, "calls" | "deliveries">,
  pending: readonly number[],
  namesTools: boolean,
): Steps<RunFacts> {
  const names = new Set<string>();
  let failed = 0;
  for (const { items } of deliveries) {
    for (const item of items) {
      if (item.kind === "timer") continue;
      if (item.kind === "failure") failed++;
      const isKnown = item.kind !== "failure" || !MAY_BE_NONE.has(item.failure.code);
      if (namesTools && isKnown) addName(names, header, calls[item.call]);
    }
    yield;
  }
  const counts = { calls: calls.length, failed, pending: pending.length };
  if (!namesTools) return counts;
  for (const index of pending) addName(names, header, calls[index]);
  return { ...counts, tools: [...names] };
}

/** The facts after one more entry of the journal. */
export function addFacts(facts: RunFacts, entry: JournalEntry): RunFacts {
  if (entry.kind === "report") return { ...facts, calls: facts.calls + entry.calls.length };
  if (entry.kind !== "delivery") return facts;
  const failures = entry.delivery.items.filter(({ kind }) => kind === "failure");
  return { ...facts, failed: facts.failed + failures.length };
}

/** Adds the name of the call's tool while there is room. */
function addName(names: Set<string>, header: Pick<Ledger, "features">, call: LedgerCall | undefined): void {
  if (call === undefined || names.size === STORE_TOOL_NAMES || names.has(call.tool)) return;
  if (isYield(header, call) || !isStoreText(call.tool)) return;
  const bytes = [...names, call.tool].reduce((sum, name) => sum + Buffer.byteLength(name), 0);
  if (bytes <= STORE_TEXT_BYTES) names.add(call.tool);
}
