/** The job of a measuring process, and its reports. */

import type { Pace, Sample } from "../workloads/workload.ts";

export interface Job {
  readonly workload: string;
  readonly contestants: readonly string[];
  /** Labels of the cases. */
  readonly cases: readonly string[];
  readonly rounds: number;
  readonly pace: Pace;
}

export type Report =
  | { readonly type: "begun"; readonly contestant: string; readonly caseLabel: string }
  | {
      readonly type: "measured";
      readonly contestant: string;
      readonly caseLabel: string;
      readonly sample: Sample;
    }
  | { readonly type: "unavailable"; readonly contestant: string; readonly reason: string };
