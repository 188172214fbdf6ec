/**
 * Yields: how a program gives control back. A yield is a call that no tool serves.
 *
 * - Open from when it was made until its run is resumed. Nothing is kept of it but the ledger.
 */
import type { DeliveryItem } from "../contract/ledger.ts";
import type { LedgerBook } from "../suspend/ledger-book.ts";
import { parseJsonText } from "../value/json-text.ts";

export function endOfYield(call: number): DeliveryItem {
  return { kind: "output", call, output: "null" };
}

/** What a run's open yields say. */
export function reasonsOf({ openYields, calls, header }: LedgerBook): string[] {
  return [...openYields].map((index) => {
    const parsed = parseJsonText(calls[index]?.input ?? "", header.limits.callInputBytes);
    return parsed.ok && typeof parsed.value === "string" ? parsed.value : "";
  });
}
