/**
 * Three tool calls, each with the output of the one before: what most programs of a model look like.
 */

import { measureOneByOne, nextSalt } from "../harness/attempts.ts";
import { ONLY_CASE, type Program, type Workload } from "./workload.ts";

const tools = { step: ({ n = 0 }) => ({ n: n + 1 }) };

export function createThreeRoundTrips(): Program {
  const salt = nextSalt();
  const source = `
const first = await tools.step({ n: ${salt} });
const second = await tools.step({ n: first.n });
const third = await tools.step({ n: second.n });
return third.n;`;
  return { source, tools, expected: salt + 3 };
}

export const threeRoundTrips: Workload = {
  name: "three-round-trips",
  title: "Three sequential tool calls, one run at a time",
  process: "shared",
  metrics: [
    { key: "p50", label: "p50", better: "lower", unit: "ms" },
    { key: "p95", label: "p95", better: "lower", unit: "ms" },
    { key: "cpu", label: "CPU/run", better: "lower", unit: "ms" },
  ],
  cases: ONLY_CASE,
  rounds: 5,
  measure: (contestant, _which, pace) => measureOneByOne(contestant, createThreeRoundTrips, pace),
};
