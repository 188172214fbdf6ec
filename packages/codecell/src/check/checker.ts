/**
 * Runs on the host. The checker checks programs before they run, on a thread of its own.
 *
 * - It fails open: trouble with the compiler, its thread or its time makes a check `unavailable`, never a refusal.
 * - It does one check at a time. A check that waits too long for its turn is `unavailable` too.
 * - The thread starts with the first check, is replaced after it had to be ended, and keeps no process alive.
 */
import { fileURLToPath } from "node:url";
import { assertNames, type OptionNames } from "../contract/assert-names.ts";
import type { Diagnostic } from "../contract/diagnostic.ts";
import type { Failure } from "../contract/failure.ts";
import type { Language } from "../contract/ledger.ts";
import { ownFile } from "../sandbox/node/own-file.ts";
import { CheckThread } from "./check-thread.ts";
import { declareTools, type ToolDeclarations } from "./declare-tools.ts";
import { TYPESCRIPT_PACKAGES } from "./load-typescript.ts";
import type { Findings } from "./messages.ts";
import { toCheckFailure } from "./to-failure.ts";

export interface CheckerOptions {
  /**
   * The package or file to load the TypeScript compiler from: version 5.9 or 6, since version 7 has no API. Without
   * this option the checker tries `typescript`, then `@typescript/typescript6`, as this package and as the working
   * directory see them.
   */
  readonly typescript?: string;
  /** How long a check may take before it is given up; default 2,000. */
  readonly checkTimeMs?: number;
}

export interface CheckRequest {
  readonly source: string;
  readonly language?: Language;
  readonly declarations: ToolDeclarations;
  /** TypeScript declarations of globals beside `tools`, such as handles: `declare const connectors: { … }`. */
  readonly globals?: string;
  readonly signal?: AbortSignal | undefined;
}

export type CheckResult =
  | {
      readonly status: "passed";
      readonly advice: readonly Diagnostic[];
    }
  | {
      readonly status: "refused";
      /** Errors with which every run of the program would fail. */
      readonly problems: readonly Diagnostic[];
      readonly advice: readonly Diagnostic[];
      /** The problems, as the failure of a run. */
      readonly failure: Failure;
    }
  | {
      readonly status: "unavailable";
      /** For the host's programmer, not for a model. */
      readonly reason: string;
    };

export interface Checker extends AsyncDisposable {
  /** Never rejects. */
  check(request: CheckRequest): Promise<CheckResult>;
  /** Loads the compiler ahead of the first check. Without a compiler it rejects, and says what to install. */
  warm(): Promise<void>;
}

const CHECK_TIME_MS = 2000;
const NOT_IN_BUNDLES =
  "Cannot check programs: the file of the check's thread is missing, as in a bundle, mark codecell as external for the bundler";

const OF_CHECKER: OptionNames<CheckerOptions> = { typescript: true, checkTimeMs: true };

export function createChecker(options: CheckerOptions = {}): Checker {
  if (typeof options !== "object" || options === null) {
    throw new TypeError("Cannot create a checker: expected an object of options");
  }
  assertNames(options, OF_CHECKER, "create a checker");
  const { checkTimeMs = CHECK_TIME_MS } = options;
  if (!Number.isInteger(checkTimeMs) || checkTimeMs < 1) {
    throw new RangeError(
      `Cannot create a checker with ${String(checkTimeMs)} ms a check: expected a positive integer`,
    );
  }
  return new ThreadChecker(options.typescript, checkTimeMs);
}

class ThreadChecker implements Checker {
  readonly #typescript: readonly string[];
  readonly #checkTimeMs: number;
  #thread: CheckThread | undefined;
  /** Why there is no compiler; once set, no check tries again. */
  #broken: string | undefined;
  /** Settles when the last check in the queue has ended. */
  #queue: Promise<unknown> = Promise.resolve();
  #closed = false;
  #lastId = 0;

  constructor(typescript: string | undefined, checkTimeMs: number) {
    this.#typescript = typescript === undefined ? TYPESCRIPT_PACKAGES : [typescript];
    this.#checkTimeMs = checkTimeMs;
  }

  async warm(): Promise<void> {
    await this.#start();
  }

  async check(request: CheckRequest): Promise<CheckResult> {
    const { signal } = request;
    if (signal?.aborted === true) return unavailable("The check was aborted");
    const { promise: aborted, resolve } = Promise.withResolvers<CheckResult>();
    const onAbort = (): void => resolve(unavailable("The check was aborted"));
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      return await Promise.race([this.#afterOthers(request), aborted]);
    } finally {
      signal?.removeEventListener("abort", onAbort);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#thread?.close();
  }

  async #afterOthers(request: CheckRequest): Promise<CheckResult> {
    const before = this.#queue;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#queue = before.then(() => ended);
    try {
      // Loading the compiler uses up nobody's turn: all checks wait for it.
      await this.#start();
      if (!(await within(this.#checkTimeMs, before))) {
        return unavailable("The check was given up: others took too long");
      }
      return toResult(await this.#check(request));
    } catch (error) {
      return unavailable(error instanceof Error ? error.message : "The check failed");
    } finally {
      end();
    }
  }

  async #check({
    source,
    language = "typescript",
    globals = "",
    declarations,
    signal,
  }: CheckRequest): Promise<Findings> {
    if (signal?.aborted === true) throw new Error("The check was aborted");
    const thread = await this.#start();
    const half = this.#checkTimeMs / 2;
    this.#lastId += 1;
    return await thread.check(
      { id: this.#lastId, source, language, globals },
      (names) => declareTools(declarations, names, half),
      this.#checkTimeMs,
    );
  }

  /** A thread that is ready for a check. */
  async #start(): Promise<CheckThread> {
    if (this.#closed) throw new Error("Cannot check: the checker is closed");
    if (this.#broken !== undefined) throw new Error(this.#broken);
    if (this.#thread === undefined || this.#thread.isDead) {
      const file = ownFile("check/worker");
      if (file === undefined) throw new Error(NOT_IN_BUNDLES);
      this.#thread = new CheckThread(file, {
        typescript: this.#typescript,
        from: [fileURLToPath(new URL(".", file)), process.cwd()],
      });
    }
    const thread = this.#thread;
    try {
      await thread.ready;
    } catch (error) {
      // A thread that ended can be replaced. A compiler that is missing stays missing.
      if (!thread.isDead && error instanceof Error) this.#broken = error.message;
      throw error;
    }
    return thread;
  }
}

function unavailable(reason: string): CheckResult {
  return { status: "unavailable", reason };
}

function toResult({ problems, advice, failure }: Findings): CheckResult {
  if (problems.length === 0) return { status: "passed", advice };
  return { status: "refused", problems, advice, failure: failure ?? toCheckFailure(problems) };
}

/** Whether a promise settles in time. */
async function within(milliseconds: number, promise: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(resolve, milliseconds, false);
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
