/** Attempts runs programs, checks each value and counts failures. */

import { isDeepStrictEqual } from "node:util";
import type { Contestant, RunOptions } from "../contestants/contestant.ts";
import type { Pace, Program, Sample } from "../workloads/workload.ts";
import { percentile } from "./statistics.ts";

let salt = 0;

/** A number that no other run of this process gets. It is in the source, so that no cache of sources can answer. */
export function nextSalt(): number {
  salt += 1000;
  return salt;
}

export class Attempts {
  attempted = 0;
  failed = 0;
  #failure: string | undefined;

  /** Runs one program. True if its value was right. */
  run(contestant: Contestant, program: Program, options?: RunOptions): Promise<boolean> {
    return this.check(program.expected, () => contestant.run(program.source, program.tools, options));
  }

  /** Whether an attempt gives the expected value. */
  async check(expected: unknown, attempt: () => Promise<unknown>): Promise<boolean> {
    this.attempted++;
    try {
      const value = await attempt();
      if (isSame(value, expected)) return true;
      this.fail(`wrong value: ${JSON.stringify(value)?.slice(0, 80)}`);
    } catch (error) {
      this.fail(error instanceof Error ? error.message : String(error));
    }
    return false;
  }

  fail(message: string): void {
    this.failed++;
    this.#failure ??= message.split("\n", 1)[0]?.slice(0, 200) ?? "";
  }

  sample(metrics: Readonly<Record<string, number>>): Sample {
    const failure = this.#failure === undefined ? {} : { failure: this.#failure };
    return { metrics, attempted: this.attempted, failed: this.failed, ...failure };
  }
}

function isSame(value: unknown, expected: unknown): boolean {
  if (value === expected) return true;
  // compared through JSON, since objects of a node:vm context have prototypes of their own
  return typeof value === "object" && isDeepStrictEqual(JSON.parse(JSON.stringify(value)), expected);
}

/** Runs programs one after the other, after a warm-up, and gives latency and CPU time per run. */
export async function measureOneByOne(
  contestant: Contestant,
  createProgram: () => Program,
  pace: Pace,
): Promise<Sample> {
  const attempts = new Attempts();
  contestant.prepare?.({ inFlight: 1, mostly: "computing" });
  const warmUntil = performance.now() + pace.warmMs;
  for (let run = 0; run < 2 || performance.now() < warmUntil; run++) {
    if (!(await attempts.run(contestant, createProgram())) && run > 0) return attempts.sample({});
  }
  const durations: number[] = [];
  const cpu = process.cpuUsage();
  const until = performance.now() + pace.blockMs;
  let runs = 0;
  while (runs < pace.minRuns || (performance.now() < until && runs < pace.maxRuns)) {
    const program = createProgram();
    const begun = performance.now();
    const right = await attempts.run(contestant, program);
    if (right) durations.push(performance.now() - begun);
    runs++;
  }
  const { user, system } = process.cpuUsage(cpu);
  return attempts.sample({
    p50: percentile(durations, 0.5),
    p95: percentile(durations, 0.95),
    cpu: (user + system) / 1000 / runs,
  });
}
