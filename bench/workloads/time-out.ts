/**
 * `while (true) {}` with a limit of 100 ms: when its end is reported, what the next run costs, and how long the
 * host's own event loop was blocked meanwhile.
 */

import { Attempts, nextSalt } from "../harness/attempts.ts";
import { percentile } from "../harness/statistics.ts";
import { ONLY_CASE, type Program, type Workload } from "./workload.ts";

const LIMIT_MS = 100;
const TIMES = 5;
const tools = { step: ({ n = 0 }) => ({ n: n + 1 }) };

function createProgram(): Program {
  const salt = nextSalt();
  return { source: `const { n } = await tools.step({ n: ${salt} });\nreturn n;`, tools, expected: salt + 1 };
}

export const timeOut: Workload = {
  name: "time-out",
  title: `An endless loop with a limit of ${LIMIT_MS} ms`,
  process: "own",
  metrics: [
    { key: "next", label: "next run", better: "lower", unit: "ms" },
    { key: "usual", label: "usual run", better: "lower", unit: "ms" },
    { key: "end", label: "end reported", better: "lower", unit: "ms" },
    { key: "blocked", label: "host blocked", better: "lower", unit: "ms" },
  ],
  cases: ONLY_CASE,
  rounds: 3,
  leavesOut: (contestant) => (contestant.stopsLoops ? undefined : "cannot stop a loop"),
  measure: async (contestant) => {
    contestant.prepare?.({ inFlight: 1, mostly: "computing" });
    const attempts = new Attempts();
    const timed = async (): Promise<number> => {
      const begun = performance.now();
      await attempts.run(contestant, createProgram());
      return performance.now() - begun;
    };
    const ends: number[] = [];
    const nexts: number[] = [];
    const usuals: number[] = [];
    let blocked = 0;
    for (let time = 0; time < TIMES; time++) {
      await timed();
      usuals.push(await timed());
      const gaps = watchEventLoop();
      const begun = performance.now();
      const stopped = await contestant
        .run(`while (true) {}\n// ${nextSalt()}`, tools, { timeoutMs: LIMIT_MS })
        .then(() => false)
        .catch(() => true);
      ends.push(performance.now() - begun);
      nexts.push(await timed());
      await new Promise((resolve) => setTimeout(resolve, 5));
      blocked = Math.max(blocked, gaps.stop());
      if (!stopped) attempts.fail("the loop ended without a failure");
    }
    const [end, next, usual] = [ends, nexts, usuals].map((list) => percentile(list, 0.5));
    return attempts.sample({ end: end ?? 0, next: next ?? 0, usual: usual ?? 0, blocked });
  },
};

/** The longest time between two turns of the event loop. */
function watchEventLoop(): { stop(): number } {
  let last = performance.now();
  let longest = 0;
  const tick = (): void => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(tick, 1);
  return {
    stop: () => {
      tick();
      clearInterval(timer);
      return longest;
    },
  };
}
