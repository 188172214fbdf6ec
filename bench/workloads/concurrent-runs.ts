/**
 * Many runs started together, each awaiting one tool of 50 ms: an agent server under load.
 *
 * Measures wall time until the last run has ended, and the peak of resident memory of a process that did nothing
 * else.
 */

import { Attempts, nextSalt } from "../harness/attempts.ts";
import { peakResidentMb, residentMb } from "../harness/resident-memory.ts";
import type { Program, Workload } from "./workload.ts";

const TOOL_MS = 50;
const PATIENCE_MS = 90_000;

const tools = {
  wait: ({ n = 0 }) =>
    new Promise<{ n: number }>((resolve) => {
      setTimeout(() => resolve({ n: n + 1 }), TOOL_MS);
    }),
};

function createProgram(): Program {
  const salt = nextSalt();
  return { source: `const { n } = await tools.wait({ n: ${salt} });\nreturn n;`, tools, expected: salt + 1 };
}

export const concurrentRuns: Workload = {
  name: "concurrent-runs",
  title: `Runs started together, each awaiting one tool of ${TOOL_MS} ms`,
  process: "own",
  metrics: [
    { key: "wall", label: "wall", better: "lower", unit: "ms" },
    { key: "peak", label: "peak RSS", better: "lower", unit: "MB" },
    { key: "grown", label: "RSS grown", better: "lower", unit: "MB" },
  ],
  cases: [
    { label: "8 runs", size: 8 },
    { label: "64 runs", size: 64 },
    { label: "512 runs", size: 512 },
    { label: "2000 runs", size: 2000 },
  ],
  quickCases: [
    { label: "64 runs", size: 64 },
    { label: "2000 runs", size: 2000 },
  ],
  rounds: 3,
  measure: async (contestant, which) => {
    contestant.prepare?.({ inFlight: which.size, mostly: "waiting" });
    const attempts = new Attempts();
    for (let run = 0; run < 3; run++) await new Attempts().run(contestant, createProgram());
    const before = residentMb();
    let ended = 0;
    const begun = performance.now();
    const all = Promise.all(
      Array.from({ length: which.size }, async () => {
        await attempts.run(contestant, createProgram());
        ended++;
      }),
    );
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, PATIENCE_MS);
    });
    await Promise.race([all, patience]);
    clearTimeout(timer);
    const wall = performance.now() - begun;
    const peak = peakResidentMb();
    for (let run = ended; run < which.size; run++) attempts.fail(`no result within ${PATIENCE_MS / 1000} s`);
    return attempts.sample({ wall, peak, grown: peak - before });
  },
};
