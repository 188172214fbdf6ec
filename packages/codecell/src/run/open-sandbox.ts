/** Opens the sandbox of a host; throws for options it cannot be opened with. It owns nothing before the first run. */
import { availableParallelism } from "node:os";
import { NodePool } from "../sandbox/node-pool.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { resolveWorkerUrl } from "../sandbox/worker-script.ts";
import type { HostOptions } from "./host.ts";

const EXTRA_WORKERS = 8;

export function openSandbox(options: Pick<HostOptions, "workers" | "workerUrl">): Sandbox {
  const workers = options.workers ?? availableParallelism();
  if (!Number.isInteger(workers) || workers < 1) {
    throw new RangeError(`Cannot create a host with ${String(workers)} workers: expected a positive integer`);
  }
  const workerUrl = resolveWorkerUrl(options.workerUrl);
  return new NodePool({ workers, maxWorkers: workers + EXTRA_WORKERS, workerUrl });
}
