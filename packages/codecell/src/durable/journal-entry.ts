/**
 * JournalEntry: what a claimant writes about a run after its stored state, in the order in which it happened. Runs on
 * the host.
 *
 * - Entries are read only after their seal was verified. They are still checked, because several versions of this
 *   package share keys.
 */
import type { Steps } from "../loop/turn.ts";
import type {
  AskedOutcome,
  CallOutcome,
  Delivery,
  KeptResolution,
  LedgerCall,
  Progress,
  TimerChange,
} from "../contract/ledger.ts";
import {
  isAsked,
  isCall,
  isDelivery,
  isKeptResolution,
  isOutcome,
  isProgress,
  isTimerChange,
} from "../value/ledger-shape.ts";
import { isArrayOf, isCount, isRecord } from "../value/shape.ts";
import { fromJsonBytes, fromJsonPieces } from "./json-bytes.ts";
import { isSeen, type Seen } from "../ledger/ledger-recorder.ts";

export type JournalEntry =
  /** What was new in one report of the cell. */
  | {
      readonly kind: "report";
      /** Milliseconds since the epoch. The timers of this report run from here. */
      readonly at: number;
      readonly calls: readonly LedgerCall[];
      readonly timers: readonly TimerChange[];
      readonly seen: Seen;
    }
  /** From here on the call may have happened. */
  | { readonly kind: "dispatch"; readonly call: number; readonly resolution?: KeptResolution }
  /** The call's tool asked for a decision. */
  | AskedOutcome
  /** What the guest is about to receive. */
  | { readonly kind: "delivery"; readonly delivery: Delivery }
  /** The run was suspended here. The value is a `WaitState` once it was checked against the ledger before it. */
  | { readonly kind: "suspended"; readonly waitState: unknown }
  /** The suspended run was taken up: the timers of its wait state run from here, milliseconds since the epoch. */
  | { readonly kind: "taken"; readonly at: number };

export type DispatchEntry = Extract<JournalEntry, { kind: "dispatch" }>;

/** Parses entries that were written together. Undefined if this version does not understand them. */
export function* parseJournalEntries(bytes: Uint8Array): Steps<readonly JournalEntry[] | undefined> {
  const value = yield* fromJsonPieces(bytes);
  return isArrayOf(value, isJournalEntry) ? (value as JournalEntry[]) : undefined;
}

/** Undefined if this version does not understand the bytes. */
export function* parseOutcome(bytes: Uint8Array): Steps<CallOutcome | undefined> {
  const value = yield* fromJsonPieces(bytes);
  return isOutcome(value) ? value : undefined;
}

/**
 * The place at which a snapshot beside the journal was taken. Undefined if this version does not understand the bytes.
 */
export function parseProgress(bytes: Uint8Array): Progress | undefined {
  const value = fromJsonBytes(bytes);
  return isProgress(value) ? value : undefined;
}

function isJournalEntry(value: unknown): value is JournalEntry {
  if (!isRecord(value)) return false;
  switch (value["kind"]) {
    case "report":
      return (
        isCount(value["at"]) &&
        isArrayOf(value["calls"], isCall) &&
        isArrayOf(value["timers"], isTimerChange) &&
        isSeen(value["seen"])
      );
    case "dispatch":
      return (
        isCount(value["call"]) && (value["resolution"] === undefined || isKeptResolution(value["resolution"]))
      );
    case "asked":
      return isAsked(value);
    case "delivery":
      return isDelivery(value["delivery"]);
    case "suspended":
      return value["waitState"] !== undefined;
    case "taken":
      return isCount(value["at"]);
    default:
      return false;
  }
}
