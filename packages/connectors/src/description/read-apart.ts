/**
 * Reads a description on a thread of its own. Runs on the host.
 *
 * - The thread ends with its answer, with whoever waits for it, or with its time: nothing that a description says holds
 *   the host, and none takes more memory than this.
 */
import { Worker, type WorkerOptions } from "node:worker_threads";
import { ConnectorError, type ConnectorErrorCode } from "../contract/connector-error.ts";
import type { Answered, DescribedApi, ReadingSetup, ThreadAnswer } from "./messages.ts";

const HEAP_MB = 2048;
const STACK_MB = 8;
/** Far longer than the largest descriptions take. */
export const MOST_MS = 120_000;

/** A script that answers with `answerFrom`, and what it is told. */
export interface Reading {
  readonly script: URL;
  /** The bytes of a first document move to the thread. */
  readonly setup: ReadingSetup;
}

export async function readApart<Described extends DescribedApi>(
  connector: string,
  reading: Reading,
  signal: AbortSignal,
): Promise<Answered<Described>> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Answered<Described>>();
  const fail = (code: ConnectorErrorCode, problem: string, cause?: unknown): void =>
    reject(unreadable(connector, code, problem, cause));
  const worker = startThread(reading);
  const onAbort = (): void => reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(
    () => fail("SERVER_START_TIMEOUT", `its description took more than ${MOST_MS} ms`),
    MOST_MS,
  );
  worker.on("message", (answer: ThreadAnswer<Described>) => {
    if (answer.kind === "described") resolve(answer);
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

export function unreadable(
  connector: string,
  code: ConnectorErrorCode,
  problem: string,
  cause?: unknown,
): ConnectorError {
  const message = `Cannot use connector "${connector}": ${problem}`;
  return new ConnectorError(connector, code, message, { cause, hasNoEffect: true });
}

/** The script of a thread, in the folder of whoever starts it. */
export function scriptBeside(moduleUrl: string, name: string): URL {
  return new URL(moduleUrl.endsWith(".ts") ? `./${name}.ts` : `./${name}.js`, moduleUrl);
}

function startThread({ script, setup }: Reading): Worker {
  const { first } = setup;
  return new Worker(script, {
    ...threadOptions("codecell-description"),
    workerData: setup,
    transferList: first === undefined ? [] : [first.buffer],
  });
}

/** Of every thread that works on a description. It gets nothing of the process: no variables, modules or options. */
export function threadOptions(name: string): WorkerOptions {
  return {
    name,
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, stackSizeMb: STACK_MB },
  };
}
