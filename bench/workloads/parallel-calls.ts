/**
 * 32 calls at once in one run: does the bridge batch, or does it pay per call?
 */

import { measureOneByOne, nextSalt } from "../harness/attempts.ts";
import { ONLY_CASE, type Program, type Workload } from "./workload.ts";

const CALLS = 32;
const tools = { step: ({ n = 0 }) => ({ n: n + 1 }) };

function createProgram(): Program {
  const salt = nextSalt();
  const source = `
const calls = Array.from({ length: ${CALLS} }, (_, index) => tools.step({ n: ${salt} + index }));
const outputs = await Promise.all(calls);
return outputs.reduce((sum, output) => sum + output.n, 0);`;
  return { source, tools, expected: CALLS * (salt + 1) + (CALLS * (CALLS - 1)) / 2 };
}

export const parallelCalls: Workload = {
  name: "parallel-calls",
  title: "32 parallel tool calls in one run, one run at a time",
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
