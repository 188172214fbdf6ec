/**
 * From `import` of the library to the first result, in a process that has loaded nothing of it.
 *
 * The start of Node.js is not counted, since it is the same for all.
 */

import { Attempts } from "../harness/attempts.ts";
import type { Workload } from "./workload.ts";

const tools = { step: ({ n = 0 }) => ({ n: n + 1 }) };
const PROGRAMS = [
  { source: "return 1 + 1;", tools, expected: 2 },
  { source: "const { n } = await tools.step({ n: 1 });\nreturn n;", tools, expected: 2 },
] as const;

export const coldStart: Workload = {
  name: "cold-start",
  title: "Cold start: from import to the first result",
  process: "own",
  opens: true,
  metrics: [
    { key: "total", label: "total", better: "lower", unit: "ms" },
    { key: "import", label: "import", better: "lower", unit: "ms" },
  ],
  cases: [
    { label: "return 1 + 1", size: 0 },
    { label: "one tool call", size: 1 },
  ],
  rounds: 7,
  measure: async (contestant, which) => {
    const attempts = new Attempts();
    const program = PROGRAMS[which.size] ?? PROGRAMS[0];
    const begun = performance.now();
    await contestant.open();
    const opened = performance.now();
    const right = await attempts.run(contestant, program);
    const ended = performance.now();
    return attempts.sample(right ? { total: ended - begun, import: opened - begun } : {});
  },
};
