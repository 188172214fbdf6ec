/**
 * Ledger: everything a run received and every call it made. A run is a function of its ledger.
 *
 * - Append-only. A delivery is recorded before the guest sees it; a call before it is dispatched.
 * - Calls are numbered by their creation in the guest, from 0, without gaps.
 * - Values are JSON text and never truncated: a shortened value would corrupt a rebuilt run.
 * - Not every call is one of a tool: features make some behind the tools (./feature-table.ts). A yield has its outcome when
 *   the run is resumed; the host itself serves a fetch.
 */
import type { CallFailure, Failure } from "./failure.ts";
import type { FeatureSettings } from "./features.ts";
import type { Limits } from "./limits.ts";
import type { Json } from "./value.ts";

export type Language = "javascript" | "typescript";

export interface LedgerCall {
  readonly tool: string;
  /** Input as JSON text, as the guest wrote it. */
  readonly input: string;
}

/** What the program sees of a call, and the only thing that settles it. */
export type SettledOutcome =
  /** The output is JSON text. */
  | { readonly kind: "output"; readonly call: number; readonly output: string }
  | { readonly kind: "failure"; readonly call: number; readonly failure: CallFailure };

/** The call waits for a decision; the payload says what about. */
export interface AskedOutcome {
  readonly kind: "asked";
  readonly call: number;
  readonly payload: Json;
}

/** What a call came to. It keeps this shape from the tool to the guest, and in every store on the way. */
export type CallOutcome = SettledOutcome | AskedOutcome;

export type DeliveryItem = SettledOutcome | { readonly kind: "timer"; readonly timer: number };

/** What moved the guest at one moment: everything in it is handed over before the guest's jobs run. */
export interface Delivery {
  /** Milliseconds since the epoch; the guest's clock stands at this value until the next delivery. */
  readonly clock: number;
  readonly items: readonly DeliveryItem[];
}

/** How far a run has come, as counts: what a snapshot covers of a ledger, and what a cell that goes on from it skips. */
export interface Progress {
  readonly deliveries: number;
  readonly calls: number;
  /** Changes of timers. */
  readonly timers: number;
  /** Log lines. */
  readonly logs: number;
}

/** What is written now; a ledger of another version is refused. */
export const LEDGER_VERSION = 2;

export interface Ledger {
  readonly version: typeof LEDGER_VERSION;
  readonly runId: string;
  readonly source: string;
  readonly language: Language;
  /** 32 random bytes as hex: all randomness of the guest comes from it. */
  readonly seed: string;
  /** The guest's clock at the start. */
  readonly clock: number;
  readonly limits: Limits;
  /** In the catalog profile the convenience names that the program may ask for. */
  readonly toolNames: readonly string[];
  /** What the program has beside them. */
  readonly features: FeatureSettings;
  /**
   * What tools gave before a snapshot was taken is not in it, and stands there as `null`: the run goes on from that
   * snapshot, and cannot be repeated from its start.
   */
  readonly hollow?: true;
  readonly calls: readonly LedgerCall[];
  readonly deliveries: readonly Delivery[];
  /** Why the host ended the run before the program did. */
  readonly stopped?: Failure;
}

/** Names a call; the same in every process that takes up the run. */
export function toCallId(runId: string, index: number): string {
  return `${runId}:${index}`;
}
