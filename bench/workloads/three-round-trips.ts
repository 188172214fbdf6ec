/** Three tool calls, each with the output of the call before, like most programs of a model. */

import { nextSalt } from "../harness/attempts.ts";
import { oneByOne } from "./one-by-one.ts";
import type { Program, Workload } from "./workload.ts";

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

export const threeRoundTrips: Workload = oneByOne(
  "three-round-trips",
  "Three sequential tool calls, one run at a time",
  createThreeRoundTrips,
);
