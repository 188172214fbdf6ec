/**
 * The program of three round trips, with 64 runs always in flight.
 *
 * 64 lanes start one run after the other. A lane whose run is refused or fails stops. So a contestant that admits 32
 * is measured with these 32, and its refusals are shown instead of being retried in a loop.
 */

import { Attempts } from "../harness/attempts.ts";
import { createThreeRoundTrips } from "./three-round-trips.ts";
import { ONLY_CASE, type Workload } from "./workload.ts";

const LANES = 64;

export const throughput: Workload = {
  name: "throughput",
  title: `Three sequential tool calls, ${LANES} runs in flight`,
  process: "shared",
  metrics: [
    { key: "rate", label: "runs/s", better: "higher", unit: "per s" },
    { key: "cpu", label: "CPU/run", better: "lower", unit: "ms" },
  ],
  cases: ONLY_CASE,
  rounds: 3,
  measure: async (contestant, _which, pace) => {
    contestant.prepare?.({ inFlight: LANES, mostly: "computing" });
    await runLanes(pace.warmMs, 1);
    const { attempts, right, elapsedMs, cpuMs } = await runLanes(pace.blockMs, LANES);
    return attempts.sample(
      right === 0 ? {} : { rate: (right / elapsedMs) * 1000, cpu: cpuMs / attempts.attempted },
    );

    async function runLanes(forMs: number, atLeast: number) {
      const counted = new Attempts();
      let rightInTime = 0;
      let lastRightMs = 0;
      const cpu = process.cpuUsage();
      const begun = performance.now();
      const isOver = () => performance.now() - begun >= forMs && rightInTime >= atLeast;
      const lane = async (): Promise<void> => {
        while (!isOver() && (await counted.run(contestant, createThreeRoundTrips()))) {
          rightInTime++;
          lastRightMs = performance.now() - begun;
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
      const { user, system } = process.cpuUsage(cpu);
      // the time after the last start counts too: every run that was begun has ended
      return { attempts: counted, right: rightInTime, elapsedMs: lastRightMs, cpuMs: (user + system) / 1000 };
    }
  },
};
