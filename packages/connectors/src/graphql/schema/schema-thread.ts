/**
 * SchemaThread: a thread that has a schema, and answers questions about it. Runs on the host.
 *
 * - It answers one question after the other. One that takes too long ends the thread, and the next one begins another:
 *   nothing that a schema or a document says holds the host, and none takes more memory than this.
 * - A thread that nobody asks ends after a while. It keeps no process alive.
 */
import { Worker } from "node:worker_threads";
import { scriptBeside, threadOptions } from "../../description/read-apart.ts";
import type {
  Answer,
  CheckAnswer,
  CheckQuestion,
  DescribeAnswer,
  DescribeQuestion,
  Question,
  SchemaSetup,
} from "./messages.ts";

/** Far longer than the largest schemas take. */
const MOST_DESCRIBE_MS = 120_000;
/** Far longer than the largest documents take, with the reading of the schema before. */
const MOST_CHECK_MS = 10_000;
const IDLE_MS = 30_000;

/** The thread did not answer: it took too long, or too much memory. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

export class SchemaThread implements Disposable {
  readonly #setup: SchemaSetup;
  readonly #mostCheckMs: number;
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #before: Promise<unknown> = Promise.resolve();
  #isEnded = false;
  #isRetired = false;

  constructor(setup: SchemaSetup, mostCheckMs: number = MOST_CHECK_MS) {
    this.#setup = setup;
    this.#mostCheckMs = mostCheckMs;
  }

  /** Ends with the signal, too: nobody else asks yet. */
  describe(question: DescribeQuestion, signal: AbortSignal): Promise<DescribeAnswer> {
    return this.#inTurn(signal, () =>
      this.#ask(question, MOST_DESCRIBE_MS, signal),
    ) as Promise<DescribeAnswer>;
  }

  /** A check goes on when its caller has left: a new thread would take longer. */
  check(question: CheckQuestion, signal: AbortSignal): Promise<CheckAnswer> {
    return this.#inTurn(signal, () => this.#ask(question, this.#mostCheckMs)) as Promise<CheckAnswer>;
  }

  /** There is another one: this one still answers, and does not wait for questions. */
  retire(): void {
    this.#isRetired = true;
    void this.#before.then(() => this.#end());
  }

  [Symbol.dispose](): void {
    this.#isEnded = true;
    this.#end();
  }

  #inTurn(signal: AbortSignal, ask: () => Promise<Answer>): Promise<Answer> {
    const turn = this.#before.then(() => {
      signal.throwIfAborted();
      return ask();
    });
    this.#before = turn.catch(() => {});
    return turn;
  }

  async #ask(question: Question, mostMs: number, signal?: AbortSignal): Promise<Answer> {
    if (this.#isEnded) throw new NoAnswer("the thread was ended");
    clearTimeout(this.#idle);
    const worker = (this.#worker ??= this.#start());
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const onError = (cause: unknown): void => reject(new NoAnswer("the thread failed", { cause }));
    const onExit = (): void => reject(new NoAnswer("the thread ended"));
    const onAbort = (): void => reject(signal?.reason);
    const timer = setTimeout(() => reject(new NoAnswer(`it took more than ${mostMs} ms`)), mostMs);
    worker.once("message", resolve).once("error", onError).once("exit", onExit);
    signal?.addEventListener("abort", onAbort, { once: true });
    worker.ref();
    worker.postMessage(question);
    try {
      const answer = await promise;
      this.#rest(worker);
      return answer;
    } catch (error) {
      this.#end();
      throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      worker.off("message", resolve).off("error", onError).off("exit", onExit);
    }
  }

  #start(): Worker {
    const worker = new Worker(scriptBeside(import.meta.url, "worker"), {
      ...threadOptions("codecell-schema"),
      workerData: this.#setup,
    });
    // Between two questions nobody listens; the next one finds a thread that ended by itself.
    worker.on("error", () => {});
    worker.on("exit", () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    return worker;
  }

  #rest(worker: Worker): void {
    if (this.#isRetired) {
      this.#end();
      return;
    }
    worker.unref();
    this.#idle = setTimeout(() => this.#end(), IDLE_MS).unref();
  }

  #end(): void {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
  }
}
