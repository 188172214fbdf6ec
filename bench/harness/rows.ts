/**
 * Rows: what was measured of one contestant in one case, over all rounds.
 */

import type { Sample } from "../workloads/workload.ts";
import { median } from "./statistics.ts";

export interface Row {
  readonly contestant: string;
  readonly caseLabel: string;
  /** Median over the rounds. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Lowest and highest of the rounds. */
  readonly spread: Readonly<Record<string, readonly [number, number]>>;
  readonly rounds: number;
  readonly attempted: number;
  readonly failed: number;
  readonly failure?: string;
  /** Why there is nothing measured. */
  readonly leftOut?: string;
}

export function toRow(contestant: string, caseLabel: string, samples: readonly Sample[]): Row {
  const metrics: Record<string, number> = {};
  const spread: Record<string, readonly [number, number]> = {};
  for (const key of new Set(samples.flatMap((sample) => Object.keys(sample.metrics)))) {
    const values = samples.flatMap((sample) => sample.metrics[key] ?? []).filter(Number.isFinite);
    if (values.length === 0) continue;
    metrics[key] = median(values);
    spread[key] = [Math.min(...values), Math.max(...values)];
  }
  const sum = (key: "attempted" | "failed") => samples.reduce((total, sample) => total + sample[key], 0);
  const failure = samples.find((sample) => sample.failure !== undefined)?.failure;
  return {
    contestant,
    caseLabel,
    metrics,
    spread,
    rounds: samples.length,
    attempted: sum("attempted"),
    failed: sum("failed"),
    ...(failure === undefined ? {} : { failure }),
  };
}

export function toEmptyRow(contestant: string, caseLabel: string, leftOut: string): Row {
  return { contestant, caseLabel, metrics: {}, spread: {}, rounds: 0, attempted: 0, failed: 0, leftOut };
}
