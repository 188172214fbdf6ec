/** Runs in tests. Ends worker threads, as crashes would. */
import type { Worker } from "node:worker_threads";
import { killWorkers, liveWorkers } from "../property/worker-threads.ts";
import { until } from "./fixtures.ts";

/** Kills every worker, each once, until a promise has settled. */
export async function killUntil<T>(result: Promise<T>): Promise<T> {
  const killed = new Set<Worker>();
  let isOver = false;
  const over = (): void => void (isOver = true);
  result.then(over, over);
  await until(() => {
    for (const worker of liveWorkers()) {
      if (!killed.has(worker)) void worker.terminate();
      killed.add(worker);
    }
    return isOver;
  });
  return result;
}

/** Kills the workers that exist now. New workers may appear meanwhile. */
export async function killOnce(): Promise<void> {
  const workers = liveWorkers();
  killWorkers();
  await until(() => liveWorkers().every((worker) => !workers.includes(worker)));
}
