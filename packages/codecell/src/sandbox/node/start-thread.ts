/** Starts a thread of the worker script, with a port of its own. Runs on the host. */
import { MessageChannel, type MessagePort, type ResourceLimits, Worker } from "node:worker_threads";
import type { WorkerScript } from "./worker-script.ts";

export interface Thread {
  readonly worker: Worker;
  readonly port: MessagePort;
}

/**
 * Gives `setup` and the other end of the port to the thread. Throws if the process may not, or cannot, start a thread.
 */
export function startThread(
  name: string,
  { url, text }: WorkerScript,
  setup: object,
  resourceLimits: ResourceLimits,
): Thread {
  const { port1, port2 } = new MessageChannel();
  const workerData = { ...setup, port: port2, ...(text === undefined ? {} : { text }) };
  const worker = new Worker(url, {
    name,
    workerData,
    transferList: [port2],
    // The thread gets nothing of the process: no variables, no preloaded modules, no command-line options.
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits,
  });
  return { worker, port: port1 };
}
