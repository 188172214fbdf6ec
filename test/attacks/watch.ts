/**
 * Watches the host process while a case runs: how long its event loop was blocked, and how much memory it took.
 *
 * - `loopGapMs` is wall time between two turns, without the time in which the thread wanted to run and other
 *   processes ran instead (if the system tells). So a busy machine does not count as a blocked loop.
 * - `delayedMs` is how long all threads together have waited for a processor: zero on a quiet machine, and not the
 *   case's time.
 * - `loopCpuMs` is the main thread's own processor time between two turns: the work that a guest caused in one turn.
 */
import { mainWaitMs, threadCpuUs, Waits } from "../processor-time.ts";

const EVERY_MS = 5;
/** How often all threads are measured. */
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
  #delayedMs = mainWaitMs();
  #gapMs = 0;
  #cpuMs = 0;
  #peakRss = 0;
  readonly #threadsTimer = setInterval(() => this.delayedMs(), THREADS_EVERY_MS);
  readonly #waits = new Waits();

  delayedMs(): number {
    return this.#waits.sumMs();
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
    const delayed = mainWaitMs();
    this.#gapMs = Math.max(this.#gapMs, now - this.#at - (delayed - this.#delayedMs));
    this.#delayedMs = delayed;
    this.#cpuMs = Math.max(this.#cpuMs, (cpuUs - this.#cpuUs) / 1000);
    this.#peakRss = Math.max(this.#peakRss, process.memoryUsage.rss());
    this.#at = now;
    this.#cpuUs = cpuUs;
  }
}
