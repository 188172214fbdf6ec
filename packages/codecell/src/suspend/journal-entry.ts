/** What a claimant writes about a run after its stored state, in the order it happened. */
import type { TimerChange } from "../bridge/protocol.ts";
import type { Delivery, DeliveryItem, LedgerCall, Progress } from "../contract/ledger.ts";
import type { CallResolution } from "../contract/result.ts";
import type { Json } from "../contract/value.ts";
import { isCount, isRecord } from "../value/shape.ts";
import type { Seen } from "./ledger-book.ts";

export type JournalEntry =
  /** What the program did in one turn. */
  | {
      readonly kind: "turn";
      /** Milliseconds since the epoch: the timers in it run from here. */
      readonly at: number;
      readonly calls: readonly LedgerCall[];
      readonly timers: readonly TimerChange[];
      readonly seen: Seen;
    }
  /** From here on a call may have happened. */
  | { readonly kind: "dispatch"; readonly call: number; readonly resolution?: CallResolution }
  /** The call's tool asked for a decision. */
  | { readonly kind: "asked"; readonly call: number; readonly payload: Json }
  /** What the guest is about to see. */
  | { readonly kind: "delivery"; readonly delivery: Delivery }
  /** The suspended run was taken up: the timers of its state run from here, milliseconds since the epoch. */
  | { readonly kind: "taken"; readonly at: number };

export type DispatchEntry = Extract<JournalEntry, { kind: "dispatch" }>;

/** What became of a call that was still executing when its run was suspended. */
export type LateOutcome =
  | Exclude<DeliveryItem, { kind: "timer" }>
  | { readonly kind: "asked"; readonly call: number; readonly payload: Json };

const KINDS: ReadonlySet<unknown> = new Set([
  "turn",
  "dispatch",
  "asked",
  "delivery",
  "taken",
  "output",
  "failure",
]);

/** Reads what was authenticated. Undefined for what this version does not understand. */
export function parseJournalEntry(bytes: Uint8Array): JournalEntry | LateOutcome | undefined {
  const value = parseJson(bytes);
  return isRecord(value) && KINDS.has(value["kind"]) ? (value as JournalEntry | LateOutcome) : undefined;
}

/** Where a snapshot that was kept beside the journal stands. Undefined for what this version does not understand. */
export function parseProgress(bytes: Uint8Array): Progress | undefined {
  const value = parseJson(bytes);
  const isProgress =
    isRecord(value) && ["deliveries", "calls", "timers", "logs"].every((name) => isCount(value[name]));
  return isProgress ? (value as unknown as Progress) : undefined;
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8"));
  } catch {
    return undefined;
  }
}
