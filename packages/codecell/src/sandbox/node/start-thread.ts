/** Starts a thread of the worker script, with a port of its own. On the host. */
import { MessageChannel, type MessagePort, type ResourceLimits, Worker } from "node:worker_threads";
import type { WorkerScript } from "./worker-script.ts";

export interface Thread {
  readonly worker: Worker;
  readonly port: MessagePort;
}

/** Gives `setup` to the thread, with the other end of the port. Throws where the process may not, or cannot, start one. */
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
    // Nothing of the process is the thread's: no variables, no preloaded modules, no other flags.
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits,
  });
  return { worker, port: port1 };
}
