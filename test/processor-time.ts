/**
 * Processor time: how long something takes when nobody else wants the processor, however busy the machine is.
 *
 * - Linux tells how long threads have waited for a processor. Elsewhere that is zero, and the clock counts.
 */
import { readdirSync, readFileSync } from "node:fs";

/** Gives the time since, less what the threads of this process have waited for a processor. */
export function startStopwatch(): () => number {
  const startedAt = performance.now();
  const waits = new Waits();
  return () => performance.now() - startedAt - waits.sumMs();
}

/** What all threads of this process have waited since it was made; those that have ended too, as far as they were seen. */
export class Waits {
  readonly #before = waitsMs();
  readonly #latest = new Map<string, number>();

  sumMs(): number {
    for (const [thread, ms] of waitsMs()) {
      const since = ms - (this.#before.get(thread) ?? 0);
      this.#latest.set(thread, Math.max(since, this.#latest.get(thread) ?? 0));
    }
    let sum = 0;
    for (const ms of this.#latest.values()) sum += ms;
    return sum;
  }
}

/** What the main thread has computed, in microseconds. */
export function threadCpuUs(): number {
  // Node 22.18 does not have it yet.
  const { threadCpuUsage } = process as Partial<NodeJS.Process>;
  if (threadCpuUsage === undefined) {
    const [onCpu] = scheduled("/proc/self/schedstat");
    if (onCpu === 0)
      throw new Error("Cannot tell the processor time of a thread: run this on Node 24 or on Linux");
    return onCpu / 1e3;
  }
  const { user, system } = threadCpuUsage.call(process);
  return user + system;
}

/** How long the main thread has waited for a processor, in milliseconds. */
export function mainWaitMs(): number {
  return scheduled("/proc/self/schedstat")[1] / 1e6;
}

function waitsMs(): ReadonlyMap<string, number> {
  return new Map(
    threads().map((thread) => [thread, scheduled(`/proc/self/task/${thread}/schedstat`)[1] / 1e6]),
  );
}

/** None where the system does not tell. */
function threads(): readonly string[] {
  try {
    return readdirSync("/proc/self/task");
  } catch {
    return [];
  }
}

/** Nanoseconds on a processor and waiting for one; zeros where the system does not tell. */
function scheduled(file: string): readonly [number, number] {
  try {
    const [onCpu, waiting] = readFileSync(file, "latin1").split(" ");
    return [Number(onCpu), Number(waiting)];
  } catch {
    return [0, 0];
  }
}
