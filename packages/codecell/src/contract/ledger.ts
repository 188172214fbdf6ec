/**
 * Ledger: everything a run received and every call it made. A run is a function of its ledger.
 *
 * - Append-only. A delivery is recorded before the guest sees it; a call before it is dispatched.
 * - Calls are numbered by their creation in the guest, from 0, without gaps.
 * - Values are JSON text and never truncated: a shortened value would corrupt a rebuilt run.
 * - A yield is a call that no tool serves: it has its outcome when the run is resumed. A fetch is a call that the host
 *   itself serves.
 */
import type { CallFailure, Failure } from "./failure.ts";
import type { Limits } from "./limits.ts";
import type { Json } from "./value.ts";

export type Language = "javascript" | "typescript";

/** What a yield is recorded as a call of; no tool of a run that may yield has this name. */
export const YIELD_CONTROL = "yield_control";

/** What the helpers of the catalog profile are recorded as calls of; they are tools of the run. */
export const CATALOG_TOOLS = {
  search: "catalog.search",
  describe: "catalog.describe",
  load: "catalog.load",
} as const;

/** What a fetch is recorded as a call of; no tool of a run whose program has `fetch` has this name. */
export const FETCH_TOOL = "globalThis.fetch";

/** Behind the tools of a run, as their calls are numbered inside the guest. */
export const BEHIND_TOOL_NAMES: readonly string[] = [
  YIELD_CONTROL,
  CATALOG_TOOLS.search,
  CATALOG_TOOLS.describe,
  CATALOG_TOOLS.load,
  FETCH_TOOL,
];

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

export interface Ledger {
  readonly version: 1;
  readonly runId: string;
  readonly source: string;
  readonly language: Language;
  /** 32 random bytes as hex: all randomness of the guest comes from it. */
  readonly seed: string;
  /** The guest's clock at the start. */
  readonly clock: number;
  readonly limits: Limits;
  readonly toolNames: readonly string[];
  /** The program has `yield_control`; absent when it has not. */
  readonly mayYield?: true;
  /** The program has to wait for its calls before it returns; absent when the run waits for them. */
  readonly detachedCalls?: "fail";
  /** The program has `fetch`; absent when it has not. What it may reach is not recorded: each host has its own policy. */
  readonly fetch?: true;
  /**
   * The program has the globals of the catalog profile; absent when it has those of the direct one. What `ALL_TOOLS` holds,
   * as JSON text; empty for a program that cannot ask for it. `toolNames` are the convenience names it may ask for.
   */
  readonly allTools?: string;
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
