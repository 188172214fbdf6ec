/**
 * Runs anywhere. Limits is the one table of the bounds of a run, with units in the names.
 *
 * - Limits are resolved once, when a run starts; below that point nothing is optional.
 * - A number outside its bounds is clamped to them. A negative number, a value that is not an integer, and an unknown
 *   name throw.
 */

const KiB = 1024;
const MiB = 1024 * KiB;
const HOUR_MS = 3_600_000;

export interface Bound {
  readonly default: number;
  readonly min: number;
  readonly max: number;
}

export interface Limits {
  /** Time from start or resume to the result. Waiting for a person does not count. */
  readonly wallTimeMs: number;
  /** Processor time of guest code and of preparing its source. Waiting for tools or for a thread does not count. */
  readonly cpuTimeMs: number;
  /** Heap of the guest. */
  readonly memoryBytes: number;
  /** Native stack of the guest. Above 256 KiB the worker's own stack would overflow first. */
  readonly stackBytes: number;
  /** UTF-8 bytes of the source. */
  readonly sourceBytes: number;
  /** UTF-8 bytes of the result's JSON text. */
  readonly resultBytes: number;
  /** UTF-8 bytes of all log lines, plus 16 for each line. Lines beyond this are dropped and counted. */
  readonly logBytes: number;
  /** UTF-8 bytes of one call's input as JSON text. */
  readonly callInputBytes: number;
  /** UTF-8 bytes of one call's output as JSON text. */
  readonly callOutputBytes: number;
  /** Calls of a run in total. */
  readonly calls: number;
  /**
   * Calls that execute at the same time, with inputs of 65,536 characters on average. Further calls wait in the
   * queue.
   */
  readonly callsInFlight: number;
  /** Calls that wait for their turn. A batch that does not fit is refused as a whole. */
  readonly callsQueued: number;
  /**
   * UTF-16 units of all inputs, outputs and failures of a run, plus 64 for each outcome, timer and delivery: a host
   * keeps them until the run ends.
   */
  readonly ledgerSize: number;
  /** Timers that may be set at the same time. */
  readonly timers: number;
  /** Bytes of a suspended run before it is compressed and sealed. Its token is at most a third larger. */
  readonly suspensionBytes: number;
  /** How long a suspended run can be resumed. */
  readonly suspensionTimeMs: number;
}

export type LimitName = keyof Limits;

export const LIMIT_BOUNDS: Readonly<Record<LimitName, Bound>> = {
  wallTimeMs: { default: 30_000, min: 10, max: 24 * HOUR_MS },
  cpuTimeMs: { default: 30_000, min: 1, max: 24 * HOUR_MS },
  memoryBytes: { default: 64 * MiB, min: 2 * MiB, max: 1024 * MiB },
  stackBytes: { default: 256 * KiB, min: 32 * KiB, max: 256 * KiB },
  sourceBytes: { default: 256 * KiB, min: 1, max: 4 * MiB },
  resultBytes: { default: MiB, min: 2, max: 64 * MiB },
  logBytes: { default: 256 * KiB, min: 1, max: 16 * MiB },
  callInputBytes: { default: MiB, min: 2, max: 64 * MiB },
  callOutputBytes: { default: 4 * MiB, min: 2, max: 64 * MiB },
  calls: { default: 4096, min: 1, max: 1_000_000 },
  callsInFlight: { default: 32, min: 1, max: 4096 },
  callsQueued: { default: 4096, min: 0, max: 1_000_000 },
  ledgerSize: { default: 64 * MiB, min: KiB, max: 4096 * MiB },
  timers: { default: 1024, min: 1, max: 65_536 },
  suspensionBytes: { default: 16 * MiB, min: KiB, max: 256 * MiB },
  suspensionTimeMs: { default: HOUR_MS, min: 1000, max: 30 * 24 * HOUR_MS },
};

const LIMIT_NAMES = Object.keys(LIMIT_BOUNDS) as LimitName[];

export function resolveLimits(given: Partial<Limits> = {}): Limits {
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(LIMIT_BOUNDS, name)) {
      throw new RangeError(`Cannot set limit "${name}": no such limit, known are ${LIMIT_NAMES.join(", ")}`);
    }
  }
  const resolved: Record<string, number> = {};
  for (const name of LIMIT_NAMES) {
    const bound = LIMIT_BOUNDS[name];
    const value = given[name] === undefined ? bound.default : given[name];
    if (!Number.isInteger(value) || value < 0) {
      throw new RangeError(`Cannot set limit "${name}" to ${String(value)}: expected a positive integer`);
    }
    resolved[name] = Math.min(bound.max, Math.max(bound.min, value));
  }
  return Object.freeze(resolved) as unknown as Limits;
}
