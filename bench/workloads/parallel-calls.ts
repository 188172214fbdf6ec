/** 32 calls at once in one run: do calls travel together, or does each cost a trip of its own? */

import { nextSalt } from "../harness/attempts.ts";
import { oneByOne } from "./one-by-one.ts";
import type { Program, Workload } from "./workload.ts";

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

export const parallelCalls: Workload = oneByOne(
  "parallel-calls",
  "32 parallel tool calls in one run, one run at a time",
  createProgram,
);
