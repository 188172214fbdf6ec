/** A workload of one program that runs again and again, with nothing beside it. */

import { measureOneByOne } from "../harness/attempts.ts";
import { ONLY_CASE, type Program, type Workload } from "./workload.ts";

export function oneByOne(name: string, title: string, createProgram: () => Program): Workload {
  return {
    name,
    title,
    process: "shared",
    metrics: [
      { key: "p50", label: "p50", better: "lower", unit: "ms" },
      { key: "p95", label: "p95", better: "lower", unit: "ms" },
      { key: "cpu", label: "CPU/run", better: "lower", unit: "ms" },
    ],
    cases: ONLY_CASE,
    rounds: 5,
    measure: (contestant, _which, pace) => measureOneByOne(contestant, createProgram, pace),
  };
}
