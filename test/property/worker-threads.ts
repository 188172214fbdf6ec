/**
 * The worker threads that hosts of this process have started, so that a test can end them or send messages for them.
 */
import { subscribe } from "node:diagnostics_channel";
import type { Worker } from "node:worker_threads";

const live = new Set<Worker>();

subscribe("worker_threads", (message) => {
  const { worker } = message as { worker: Worker };
  live.add(worker);
  worker.once("exit", () => live.delete(worker));
});

export function liveWorkers(): Worker[] {
  return [...live];
}

/** Ends every thread, as a crash would. */
export function killWorkers(): void {
  for (const worker of live) void worker.terminate();
}
