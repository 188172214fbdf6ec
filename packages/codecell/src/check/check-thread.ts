/**
 * Runs on the host. Owns one worker thread with a compiler.
 *
 * - The thread does one check at a time. A check that takes too long ends the thread: nothing else can stop a
 *   compiler.
 * - The thread keeps no process alive.
 */
import { Worker } from "node:worker_threads";
import type {
  CheckCommand,
  Declared,
  Findings,
  ThreadAnswer,
  ThreadCommand,
  ThreadSetup,
} from "./messages.ts";

const HEAP_MB = 512;
const STACK_MB = 8;
/** Loading the compiler and its library takes a second on a slow machine. */
const LOAD_MS = 30_000;

export type DeclareTools = (names: readonly string[]) => Promise<Declared>;

interface Pending {
  readonly id: number;
  readonly declare: DeclareTools;
  readonly resolve: (findings: Findings) => void;
  readonly reject: (error: Error) => void;
}

export class CheckThread {
  /** Rejects with what to install, or why the thread ended. */
  readonly ready: Promise<void>;
  isDead = false;
  readonly #worker: Worker;
  readonly #onReady: () => void;
  readonly #onBroken: (error: Error) => void;
  #pending: Pending | undefined;

  constructor(file: URL, setup: ThreadSetup) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.ready = promise;
    // Whoever waits for `ready` hears of the error. Perhaps nobody waits, and an unhandled rejection would end the
    // process.
    promise.catch(() => {});
    const timer = setTimeout(() => this.kill("loading the compiler took too long"), LOAD_MS);
    this.#onReady = () => {
      clearTimeout(timer);
      resolve();
    };
    this.#onBroken = (error) => {
      clearTimeout(timer);
      reject(error);
    };
    this.#worker = new Worker(file, {
      name: "codecell-check",
      workerData: setup,
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, stackSizeMb: STACK_MB },
    });
    this.#worker.on("message", (answer: ThreadAnswer) => this.#receive(answer));
    this.#worker.on("error", ({ message }) => this.kill(message));
    this.#worker.on("exit", () => this.kill("its thread ended"));
    this.#worker.unref();
  }

  /** Rejects when the compiler fails, or when the check takes longer than `mostMs`, which ends the thread. */
  async check(command: Omit<CheckCommand, "kind">, declare: DeclareTools, mostMs: number): Promise<Findings> {
    const { promise, resolve, reject } = Promise.withResolvers<Findings>();
    this.#pending = { id: command.id, declare, resolve, reject };
    const timer = setTimeout(() => this.kill(`it took more than ${mostMs} ms`), mostMs);
    try {
      this.#post({ kind: "check", ...command });
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#pending = undefined;
    }
  }

  kill(why: string): void {
    if (this.isDead) return;
    this.isDead = true;
    const error = new Error(`The check was given up: ${why}`);
    this.#onBroken(error);
    this.#pending?.reject(error);
    void this.#worker.terminate();
  }

  async close(): Promise<void> {
    this.kill("the checker was closed");
    await this.#worker.terminate();
  }

  #post(command: ThreadCommand): void {
    if (this.isDead) this.#pending?.reject(new Error("The check was given up: its thread ended"));
    else this.#worker.postMessage(command);
  }

  #receive(answer: ThreadAnswer): void {
    const pending = this.#pending;
    switch (answer.kind) {
      case "ready":
        this.#onReady();
        return;
      case "broken":
        this.#onBroken(new Error(answer.reason));
        return;
      case "wanted":
        if (pending?.id === answer.id) void this.#declare(pending, answer.names);
        return;
      case "checked":
        if (pending?.id === answer.id) pending.resolve(answer.findings);
        return;
      case "failed":
        if (pending?.id === answer.id) pending.reject(new Error(answer.reason));
        return;
      default:
        answer satisfies never;
    }
  }

  async #declare({ id, declare, reject }: Pending, names: readonly string[]): Promise<void> {
    try {
      const declared = await declare(names);
      if (this.#pending?.id === id) this.#post({ kind: "declare", id, declared });
    } catch (error) {
      // The host's own functions failed, or gave something that cannot be sent to a thread.
      reject(error instanceof Error ? error : new Error("The declarations of tools are unusable"));
    }
  }
}
