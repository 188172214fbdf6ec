/**
 * Runs anywhere. The ledger holds everything a run received and every call it made. A run is a function of its
 * ledger.
 *
 * - Append-only. A delivery is recorded before the guest sees it, a call before it is dispatched.
 * - Calls are numbered in the order in which the guest made them, from 0, without gaps.
 * - Values are JSON text and never truncated: a shortened value would corrupt a rebuilt run. Only a hollow ledger has
 *   no outputs, and its run cannot be rebuilt from it.
 * - Not every call is a call of a tool: features make some calls behind the tools (./feature-table.ts). A yield gets
 *   its outcome when the run is resumed; the host itself serves a fetch.
 */
import type { CallFailure, Failure } from "./failure.ts";
import type { FeatureSettings } from "./features.ts";
import type { Limits } from "./limits.ts";
import type { CallResolution } from "./result.ts";
import type { Json } from "./value.ts";

export type Language = "javascript" | "typescript";

export interface LedgerCall {
  readonly tool: string;
  /** JSON text, exactly as the guest wrote it. */
  readonly input: string;
}

/** A timer that was set (`delayMs` is its delay) or cleared (`delayMs` is null). */
export interface TimerChange {
  readonly timer: number;
  readonly delayMs: number | null;
}

/** How a call ended, as the program sees it. Nothing else settles a call. */
export type SettledOutcome =
  /** The output is JSON text. */
  | { readonly kind: "output"; readonly call: number; readonly output: string }
  | { readonly kind: "failure"; readonly call: number; readonly failure: CallFailure };

/** What a call that waits for a decision asked, and how far it had come. */
export interface Asked {
  /** Says what the decision is about. */
  readonly payload: Json;
  readonly before?: BeforeAsking;
}

/**
 * How far a call had come when it asked. It is kept beside the payload, where no tool and no program can write, and the
 * call has it when it comes again.
 */
export interface BeforeAsking {
  /** All who decide about the call had allowed it. Then its tool asked. */
  readonly isAllowed?: true;
  /** The input that was decided on, where middleware has it kept; without `json` if it is not JSON. */
  readonly input?: { readonly json?: Json };
}

/** The call waits for a decision. */
export interface AskedOutcome extends Asked {
  readonly kind: "asked";
  readonly call: number;
}

/** The resolution of a call that asked, as a run keeps it. */
export type KeptResolution = CallResolution & { readonly before?: BeforeAsking };

/** The outcome of a call. It has this shape from the tool to the guest, and in every store on the way. */
export type CallOutcome = SettledOutcome | AskedOutcome;

export type DeliveryItem = SettledOutcome | { readonly kind: "timer"; readonly timer: number };

/** What moves the guest at one moment. All items are handed over before the guest's jobs run. */
export interface Delivery {
  /** Milliseconds since the epoch; the guest's clock stands at this value until the next delivery. */
  readonly clock: number;
  readonly items: readonly DeliveryItem[];
}

/**
 * How far a run has come, as counts: how much of a ledger a snapshot covers, and how much a cell that goes on from it
 * skips.
 */
export interface Progress {
  readonly deliveries: number;
  readonly calls: number;
  /** Number of changes of timers. */
  readonly timers: number;
  /** Number of log lines. */
  readonly logs: number;
}

/** The version of new ledgers. A ledger of another version is refused. */
export const LEDGER_VERSION = 2;

export interface Ledger {
  readonly version: typeof LEDGER_VERSION;
  readonly runId: string;
  readonly source: string;
  readonly language: Language;
  /** 32 random bytes as hex. All randomness of the guest comes from them. */
  readonly seed: string;
  /** The guest's clock at the start. */
  readonly clock: number;
  readonly limits: Limits;
  /** Names of the tools. In the catalog profile: the convenience names that the program may ask for. */
  readonly toolNames: readonly string[];
  /** What the program has beside the tools. */
  readonly features: FeatureSettings;
  /**
   * Set if the outcomes before a snapshot are missing: `null` is in their place. The run goes on from the snapshot,
   * and cannot be repeated from its start.
   */
  readonly hollow?: true;
  readonly calls: readonly LedgerCall[];
  readonly deliveries: readonly Delivery[];
  /** Why the host ended the run, if it ended the run before the program did. */
  readonly stopped?: Failure;
}

/** The id of a call; the same in every process that resumes the run. */
export function toCallId(runId: string, index: number): string {
  return `${runId}:${index}`;
}
