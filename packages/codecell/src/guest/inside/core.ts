/**
 * Core: PLACEHOLDER for the lead's module (tools, calls, deliveries, timers, value encoding, completion).
 *
 * - The seam is `createCore`: it gets the host function, installs its own globals, and gives back the
 *   functions that the worker keeps, and a timer for AbortSignal.timeout.
 */
import { startClock } from "./clock.ts";
import { exposeGlobal } from "./expose.ts";
import { queueMicrotask } from "./primordials.ts";
import { seedRandom } from "./random.ts";

export type HostFunction = (kind: number, a?: unknown, b?: unknown) => unknown;

export type CoreFunctions = {
  readonly setTimer: (callback: () => void, delayMs: number) => number;
  readonly functions: readonly unknown[];
};

export function createCore(_host: HostFunction): CoreFunctions {
  const setTimer = (callback: () => void, _delayMs: number): number => {
    queueMicrotask(callback);
    return 1;
  };
  exposeGlobal("setTimeout", setTimer);
  const start = (seed: string): void => {
    seedRandom(seed);
    startClock();
  };
  return { setTimer, functions: [start] };
}
