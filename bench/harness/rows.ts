/** A row has what was measured of one contestant in one case, over all rounds. */

import type { Sample } from "../workloads/workload.ts";
import { median } from "./statistics.ts";

export interface Row {
  readonly contestant: string;
  readonly caseLabel: string;
  /** Median over the rounds. */
  readonly metrics: Readonly<Record<string, number>>;
  /** One value per round, in order; null if a round gave none. */
  readonly values: Readonly<Record<string, readonly (number | null)[]>>;
  readonly rounds: number;
  readonly attempted: number;
  readonly failed: number;
  readonly failure?: string;
  /** Why nothing was measured. */
  readonly leftOut?: string;
}

export function toRow(contestant: string, caseLabel: string, samples: readonly Sample[]): Row {
  const metrics: Record<string, number> = {};
  const values: Record<string, readonly (number | null)[]> = {};
  for (const key of new Set(samples.flatMap((sample) => Object.keys(sample.metrics)))) {
    const ofRounds = samples.map((sample) => sample.metrics[key] ?? Number.NaN);
    const measured = ofRounds.filter(Number.isFinite);
    if (measured.length === 0) continue;
    metrics[key] = median(measured);
    values[key] = ofRounds.map((value) => (Number.isFinite(value) ? value : null));
  }
  const sum = (key: "attempted" | "failed") => samples.reduce((total, sample) => total + sample[key], 0);
  const failure = samples.find((sample) => sample.failure !== undefined)?.failure;
  return {
    contestant,
    caseLabel,
    metrics,
    values,
    rounds: samples.length,
    attempted: sum("attempted"),
    failed: sum("failed"),
    ...(failure === undefined ? {} : { failure }),
  };
}

export function toEmptyRow(contestant: string, caseLabel: string, leftOut: string): Row {
  return { contestant, caseLabel, metrics: {}, values: {}, rounds: 0, attempted: 0, failed: 0, leftOut };
}

/**
 * How many times larger the metric of one row is than another's. This is the median of the ratios round by round,
 * since a disturbance of the machine affects both in the same round. Undefined if they share no round.
 */
export function ratioOf(row: Row | undefined, base: Row | undefined, metric: string): number | undefined {
  const bases = base?.values[metric] ?? [];
  const ratios = (row?.values[metric] ?? []).flatMap((value, round) => {
    const other = bases[round] ?? 0;
    return value === null || other === 0 ? [] : [value / other];
  });
  return ratios.length === 0 ? undefined : median(ratios);
}
