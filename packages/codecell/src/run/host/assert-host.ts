/** Runs on the host. Refuses options of a host that are out of bounds: misuse by the host programmer throws. */
import { assertNames, type OptionNames } from "../../contract/assert-names.ts";
import type { Store } from "../../contract/store.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import { isRecord } from "../../value/shape.ts";
import { assertLimits } from "./assert-options.ts";
import type { HostCheck } from "../check/host-check.ts";
import type { HostOptions, KeepEnded } from "./host-options.ts";
import { LONGEST_MS } from "../../loop/wait.ts";

/** The methods of a store that a host calls. */
const STORE_METHODS = [
  "put",
  "claim",
  "renew",
  "append",
  "saveSnapshot",
  "loadSnapshot",
  "post",
  "outcomes",
  "release",
  "delete",
  "readEnded",
  "expire",
  "attend",
  "attends",
  "watch",
] as const satisfies readonly (keyof Store)[];

/** The methods of a sandbox that a host calls. */
const SANDBOX_METHODS = ["place", "judgeFor"] as const satisfies readonly (keyof Sandbox)[];

const NAMES: OptionNames<HostOptions> = {
  workers: true,
  sandbox: true,
  workerUrl: true,
  limits: true,
  liveRuns: true,
  heapBudgetBytes: true,
  store: true,
  keepEnded: true,
  listToolNames: true,
  leaseMs: true,
  sealKey: true,
  sealKeys: true,
  compactTokens: true,
  encrypt: true,
  compression: true,
  onError: true,
  check: true,
};

const OF_KEEPING: OptionNames<KeepEnded> = { forMs: true, runs: true, bytes: true };
const OF_CHECK: OptionNames<HostCheck> = { checker: true, declare: true, globals: true };

export function assertHost(options: HostOptions): void {
  assertNames(options, NAMES, ACTION);
  const { workers = 1, liveRuns = 1, leaseMs = 1, heapBudgetBytes = 1 } = options;
  const { onError, limits, store, check, keepEnded, listToolNames = false } = options;
  assertLimits(limits, ACTION);
  if (store !== undefined) {
    const missing = STORE_METHODS.find((name) => !isRecord(store) || typeof store[name] !== "function");
    if (missing !== undefined) {
      throw new TypeError(
        `Cannot ${ACTION}: store must be a Store, such as createMemoryStore() gives, it has no ${missing}()`,
      );
    }
  }
  assertSandbox(options);
  if (keepEnded !== undefined) assertKeeping(keepEnded, store);
  if (typeof listToolNames !== "boolean") {
    throw new TypeError(`Cannot ${ACTION}: listToolNames must be a boolean`);
  }
  if (check !== undefined && typeof (check as Partial<HostCheck> | null)?.checker?.check !== "function") {
    throw new TypeError(`Cannot ${ACTION}: check must be an object with a checker, of createChecker()`);
  }
  if (check !== undefined) assertNames(check, OF_CHECK, ACTION, "check");
  if (onError !== undefined && typeof onError !== "function") {
    throw new TypeError(`Cannot ${ACTION}: onError must be a function`);
  }
  if (!isPositive(workers)) {
    throw new RangeError(`Cannot create a host with ${String(workers)} workers: expected a positive integer`);
  }
  if (!isPositive(liveRuns)) {
    throw new RangeError(
      `Cannot create a host for ${String(liveRuns)} live runs: expected a positive integer`,
    );
  }
  if (!isPositive(heapBudgetBytes)) {
    throw new RangeError(
      `Cannot create a host with heaps of ${String(heapBudgetBytes)} bytes: expected a positive integer`,
    );
  }
  if (!isPositive(leaseMs) || leaseMs > LONGEST_MS) {
    throw new RangeError(
      `Cannot create a host with leases of ${String(leaseMs)} ms: expected a positive integer, at most ${LONGEST_MS}`,
    );
  }
}

/** For times and bytes: up to here, sums with a clock or with each other stay exact. */
const MOST_KEPT = 2 ** 48;
/** A store looks through this many ended runs at once to find those that are too many. */
const MOST_ENDED_RUNS = 100_000;
const ACTION = "create a host";

/** `action` is what the host is needed for. */
export function assertIsHost(host: unknown, action: string): void {
  if (isRecord(host) && typeof host["start"] === "function" && typeof host["resume"] === "function") return;
  throw new TypeError(`Cannot ${action}: host must be a host, as createHost() of codecell gives it`);
}

/** The options of a pool of threads have no effect on a sandbox that exists already. */
function assertSandbox(options: HostOptions): void {
  const { sandbox } = options;
  if (sandbox === undefined) return;
  const missing = SANDBOX_METHODS.find((name) => !isRecord(sandbox) || typeof sandbox[name] !== "function");
  if (missing !== undefined) {
    throw new TypeError(`Cannot ${ACTION}: sandbox must be a Sandbox, it has no ${missing}()`);
  }
  const other = (["workers", "workerUrl", "heapBudgetBytes"] as const).find(
    (name) => options[name] !== undefined,
  );
  if (other !== undefined) {
    throw new TypeError(`Cannot ${ACTION} with ${other} and a sandbox: make the sandbox with it`);
  }
}

function assertKeeping(keepEnded: unknown, store: Store | undefined): void {
  if (store === undefined) throw new TypeError(`Cannot ${ACTION}: keepEnded needs a store`);
  if (!isRecord(keepEnded)) throw new TypeError(`Cannot ${ACTION}: keepEnded must be an object`);
  assertNames(keepEnded, OF_KEEPING, ACTION, "keepEnded");
  const { forMs, runs = 1, bytes = 1 } = keepEnded;
  for (const [name, value] of Object.entries({ forMs, runs, bytes })) {
    const most = name === "runs" ? MOST_ENDED_RUNS : MOST_KEPT;
    if (!isPositive(value) || value > most) {
      throw new RangeError(
        `Cannot ${ACTION} with keepEnded.${name} of ${String(value)}: expected a positive integer, at most ${most}`,
      );
    }
  }
}

function isPositive(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1;
}
