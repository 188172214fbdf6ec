/**
 * JournalEntry: what a claimant writes about a run after its stored state, in the order it happened.
 *
 * - Read only once authenticated. Checked all the same: keys are shared between versions of this package.
 */
import type { Steps } from "../loop/turn.ts";
import type { TimerChange } from "../protocol/messages.ts";
import type { AskedOutcome, CallOutcome, Delivery, LedgerCall, Progress } from "../contract/ledger.ts";
import type { CallResolution } from "../contract/result.ts";
import {
  isAsked,
  isCall,
  isDelivery,
  isOutcome,
  isProgress,
  isResolution,
  isTimerChange,
} from "../value/ledger-shape.ts";
import { isArrayOf, isCount, isRecord } from "../value/shape.ts";
import { fromJsonBytes, fromJsonPieces } from "./json-bytes.ts";
import { isSeen, type Seen } from "../ledger/ledger-recorder.ts";

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
  | AskedOutcome
  /** What the guest is about to see. */
  | { readonly kind: "delivery"; readonly delivery: Delivery }
  /** The run was suspended here: a `WaitState`, once it is checked against the ledger it ends. */
  | { readonly kind: "suspended"; readonly waitState: unknown }
  /** The suspended run was taken up: the timers of its wait state run from here, milliseconds since the epoch. */
  | { readonly kind: "taken"; readonly at: number };

export type DispatchEntry = Extract<JournalEntry, { kind: "dispatch" }>;

/** Those that were written together. Undefined for what this version does not understand. */
export function* parseJournalEntries(bytes: Uint8Array): Steps<readonly JournalEntry[] | undefined> {
  const value = yield* fromJsonPieces(bytes);
  return isArrayOf(value, isJournalEntry) ? (value as JournalEntry[]) : undefined;
}

/** Undefined for what this version does not understand. */
export function parseOutcome(bytes: Uint8Array): CallOutcome | undefined {
  const value = fromJsonBytes(bytes);
  return isOutcome(value) ? value : undefined;
}

/** Where a snapshot that was kept beside the journal stands. Undefined for what this version does not understand. */
export function parseProgress(bytes: Uint8Array): Progress | undefined {
  const value = fromJsonBytes(bytes);
  return isProgress(value) ? value : undefined;
}

function isJournalEntry(value: unknown): value is JournalEntry {
  if (!isRecord(value)) return false;
  switch (value["kind"]) {
    case "turn":
      return (
        isCount(value["at"]) &&
        isArrayOf(value["calls"], isCall) &&
        isArrayOf(value["timers"], isTimerChange) &&
        isSeen(value["seen"])
      );
    case "dispatch":
      return (
        isCount(value["call"]) && (value["resolution"] === undefined || isResolution(value["resolution"]))
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
