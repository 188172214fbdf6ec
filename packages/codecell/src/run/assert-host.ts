/** Refuses options of a host that are out of bounds: misuse by the host programmer throws. */
import type { HostOptions } from "./host-options.ts";
import { LONGEST_MS } from "./timers.ts";

export function assertHost({ workers = 1, liveRuns = 1, leaseMs = 1, onError }: HostOptions): void {
  if (onError !== undefined && typeof onError !== "function") {
    throw new TypeError("Cannot create a host: onError must be a function");
  }
  if (!isPositive(workers)) {
    throw new RangeError(`Cannot create a host with ${String(workers)} workers: expected a positive integer`);
  }
  if (!isPositive(liveRuns)) {
    throw new RangeError(
      `Cannot create a host for ${String(liveRuns)} live runs: expected a positive integer`,
    );
  }
  if (!isPositive(leaseMs) || leaseMs > LONGEST_MS) {
    throw new RangeError(
      `Cannot create a host with leases of ${String(leaseMs)} ms: expected a positive integer, at most ${LONGEST_MS}`,
    );
  }
}

function isPositive(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1;
}
