/**
 * Workload: one thing to measure, the same for every contestant.
 *
 * - `shared` workloads run in one process with all contestants, interleaved round by round. `own` workloads get a new
 *   process per contestant, case and round, since they measure memory or start-up.
 * - The first metric is the one that is compared and drawn.
 * - A wrong result counts as failed, like a refusal or an error.
 */

import type { Contestant, GuestTools } from "../contestants/contestant.ts";

export interface Metric {
  readonly key: string;
  readonly label: string;
  readonly better: "lower" | "higher";
  readonly unit: "ms" | "MB" | "KB" | "per s" | "runs" | "tokens" | "%";
}

export interface Case {
  readonly label: string;
  readonly size: number;
}

export interface Pace {
  /** How long runs are made before each block without being counted. */
  readonly warmMs: number;
  /** The shortest duration of a block, once it has `minRuns`. */
  readonly blockMs: number;
  readonly minRuns: number;
  readonly maxRuns: number;
}

export interface Sample {
  readonly metrics: Readonly<Record<string, number>>;
  readonly attempted: number;
  readonly failed: number;
  /** Message of the first failure. */
  readonly failure?: string;
}

export interface Program {
  readonly source: string;
  readonly tools: GuestTools;
  readonly expected: unknown;
}

export interface Workload {
  readonly name: string;
  readonly title: string;
  readonly process: "shared" | "own";
  readonly metrics: readonly [Metric, ...Metric[]];
  readonly cases: readonly [Case, ...Case[]];
  /** The cases of a quick run, which may be smaller; default is all cases. */
  readonly quickCases?: readonly Case[];
  readonly rounds: number;
  /** Set if `measure` opens the contestant itself. */
  readonly opens?: true;
  /** Ids of the contestants that are measured; default is all. */
  readonly only?: readonly string[];
  /** Why a contestant is not given this case; undefined if it is. */
  leavesOut?(contestant: Contestant, which: Case): string | undefined;
  measure(contestant: Contestant, which: Case, pace: Pace): Promise<Sample>;
}

export const ONLY_CASE: readonly [Case] = [{ label: "", size: 1 }];
