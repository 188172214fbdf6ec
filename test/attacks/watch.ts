/**
 * Watches the host process while a case runs: how long its event loop stood still, and how much memory it took.
 *
 * - `loopGapMs` is wall time between two turns, less the time the thread wanted to run and other processes were
 *   running instead (where the system tells), so that a busy machine is not taken for a blocked loop.
 * - `delayedMs` is what all threads together have waited for a processor: zero on a quiet machine, and no time of the case.
 * - `loopCpuMs` is the main thread's own processor time between two turns: what a guest made the host do at once.
 */
import { readdirSync, readFileSync } from "node:fs";

const EVERY_MS = 5;
/** How often all threads are looked at. */
const THREADS_EVERY_MS = 100;

export interface Watched {
  readonly loopGapMs: number;
  readonly loopCpuMs: number;
  readonly rssDeltaMB: number;
}

export class Watch {
  readonly #baseRss = process.memoryUsage.rss();
  readonly #timer = setInterval(() => this.#look(), EVERY_MS);
  #at = performance.now();
  #cpuUs = threadCpuUs();
  #delayedMs = delayedMs();
  #gapMs = 0;
  #cpuMs = 0;
  #peakRss = 0;
  readonly #threadsTimer = setInterval(() => this.delayedMs(), THREADS_EVERY_MS);
  /** Of each thread, those that have ended too. */
  readonly #delays = new Map<string, number>();

  delayedMs(): number {
    for (const thread of threads()) {
      const ms = scheduled(`/proc/self/task/${thread}/schedstat`)[1] / 1e6;
      this.#delays.set(thread, Math.max(ms, this.#delays.get(thread) ?? 0));
    }
    let sum = 0;
    for (const ms of this.#delays.values()) sum += ms;
    return sum;
  }

  stop(): Watched {
    this.#look();
    clearInterval(this.#timer);
    clearInterval(this.#threadsTimer);
    return {
      loopGapMs: Math.round(this.#gapMs),
      loopCpuMs: Math.round(this.#cpuMs),
      rssDeltaMB: Math.round((this.#peakRss - this.#baseRss) / 1e6),
    };
  }

  #look(): void {
    const now = performance.now();
    const cpuUs = threadCpuUs();
    const delayed = delayedMs();
    this.#gapMs = Math.max(this.#gapMs, now - this.#at - (delayed - this.#delayedMs));
    this.#delayedMs = delayed;
    this.#cpuMs = Math.max(this.#cpuMs, (cpuUs - this.#cpuUs) / 1000);
    this.#peakRss = Math.max(this.#peakRss, process.memoryUsage.rss());
    this.#at = now;
    this.#cpuUs = cpuUs;
  }
}

/** What the main thread has computed. */
function threadCpuUs(): number {
  // Node 22.18 does not have it yet.
  const { threadCpuUsage } = process as Partial<NodeJS.Process>;
  if (threadCpuUsage === undefined) {
    const [onCpu] = mainThread();
    if (onCpu === 0)
      throw new Error("Cannot tell the processor time of a thread: run this on Node 24 or on Linux");
    return onCpu / 1e3;
  }
  const { user, system } = threadCpuUsage.call(process);
  return user + system;
}

/** How long the main thread has waited for a processor. */
function delayedMs(): number {
  return mainThread()[1] / 1e6;
}

function mainThread(): readonly [number, number] {
  return scheduled("/proc/self/schedstat");
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
