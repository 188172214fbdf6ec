/** What a claimant writes about a run after its stored state, in the order it happened. */
import type { TimerChange } from "../bridge/protocol.ts";
import type { Delivery, DeliveryItem, LedgerCall } from "../contract/ledger.ts";
import type { CallResolution } from "../contract/result.ts";
import type { Json } from "../contract/value.ts";
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
  | { readonly kind: "delivery"; readonly delivery: Delivery };

export type DispatchEntry = Extract<JournalEntry, { kind: "dispatch" }>;

/** What became of a call that was still executing when its run was suspended. */
export type LateOutcome =
  | Exclude<DeliveryItem, { kind: "timer" }>
  | { readonly kind: "asked"; readonly call: number; readonly payload: Json };
