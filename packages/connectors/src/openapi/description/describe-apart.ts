/**
 * Reads a description on a thread of its own. Runs on the host.
 *
 * - The thread ends with its answer, with whoever waits for it, or with its time: nothing that a description says holds
 *   the host, and none takes more memory than this.
 */
import { Worker } from "node:worker_threads";
import { ConnectorError, type ConnectorErrorCode } from "../../contract/connector-error.ts";
import type { Described, ThreadAnswer, ThreadSetup } from "./messages.ts";

const HEAP_MB = 2048;
const STACK_MB = 8;
/** Far longer than the largest descriptions take. */
const MOST_MS = 120_000;

export async function describeApart(
  connector: string,
  setup: ThreadSetup,
  signal: AbortSignal,
): Promise<Described> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Described>();
  const fail = (code: ConnectorErrorCode, problem: string, cause?: unknown): void =>
    reject(
      new ConnectorError(connector, code, `Cannot use connector "${connector}": ${problem}`, {
        cause,
        hasNoEffect: true,
      }),
    );
  const worker = startThread(setup);
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(
    () => fail("SERVER_START_TIMEOUT", `its description took more than ${MOST_MS} ms`),
    MOST_MS,
  );
  worker.on("message", (answer: ThreadAnswer) => {
    if (answer.kind === "described") resolve(answer.described);
    else fail(answer.code, answer.message);
  });
  worker.on("error", (error) =>
    fail("CONFIG_INVALID", "its description cannot be read, or takes too much memory", error),
  );
  worker.on("exit", () => fail("CONFIG_INVALID", "the thread that read its description ended"));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    void worker.terminate();
  }
}

function startThread(workerData: ThreadSetup): Worker {
  const script = import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js";
  return new Worker(new URL(script, import.meta.url), {
    name: "codecell-description",
    workerData,
    // The thread gets nothing of the process: no variables, no preloaded modules, no command-line options.
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, stackSizeMb: STACK_MB },
  });
}
