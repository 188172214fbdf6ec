/** Opens the sandbox of a host; throws for options it cannot be opened with. It owns nothing before the first run. */
import { availableParallelism } from "node:os";
import { useJudgeScript } from "../sandbox/judges.ts";
import { NodePool } from "../sandbox/node-pool.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { resolveWorkerUrl } from "../sandbox/worker-script.ts";
import type { HostOptions } from "./host-options.ts";

const EXTRA_WORKERS = 8;

export function openSandbox(options: Pick<HostOptions, "workers" | "workerUrl">): Sandbox {
  const workers = options.workers ?? availableParallelism();
  const workerUrl = resolveWorkerUrl(options.workerUrl);
  useJudgeScript(workerUrl);
  return new NodePool({ workers, maxWorkers: workers + EXTRA_WORKERS, workerUrl });
}
