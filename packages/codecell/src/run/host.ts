/**
 * Host: owns the sandbox and starts runs in it.
 *
 * - Options and limits are resolved here, once; below this nothing is optional.
 * - Misuse by the host programmer throws; whatever the program does is a result.
 */
import { randomUUID } from "node:crypto";
import { availableParallelism } from "node:os";
import type { Authorize } from "../bridge/invoke.ts";
import type { Failure } from "../contract/failure.ts";
import type { Language, Ledger } from "../contract/ledger.ts";
import { type Limits, resolveLimits } from "../contract/limits.ts";
import type { PendingCall, RunEvent, RunResult } from "../contract/result.ts";
import type { ToolSet } from "../contract/tool.ts";
import type { Json } from "../contract/value.ts";
import { NodePool } from "../sandbox/node-pool.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import { LedgerBook, type LedgerHeader } from "../suspend/ledger-book.ts";
import type { SuspendedRun } from "../suspend/suspended-run.ts";
import { Tokens } from "../suspend/token.ts";
import { utf8Bytes } from "../value/json-text.ts";
import { type CallResolution, toCallId } from "./call-runner.ts";
import { abortedFailure } from "./failures.ts";
import { Run, type RunSetup } from "./run.ts";

export interface HostOptions {
  /** Worker threads; as many as the machine has cores unless said otherwise. */
  readonly workers?: number;
  /** Defaults for the limits of every run. */
  readonly limits?: Partial<Limits>;
  /** Runs that may be live at the same time; 100,000 unless said otherwise. */
  readonly liveRuns?: number;
  /**
   * Seals suspension tokens; at least 16 random bytes, better 32. Without it the environment's CODECELL_SEAL_KEY is
   * used, and without that tokens do not outlive this process.
   */
  readonly sealKey?: Uint8Array;
  /** Instead of `sealKey`, to replace a key: the first one seals, all of them open. */
  readonly sealKeys?: readonly Uint8Array[];
  /** Makes tokens unreadable for whoever holds them; false unless said otherwise. */
  readonly encrypt?: boolean;
}

export interface RunOptions {
  readonly tools?: ToolSet;
  readonly signal?: AbortSignal;
  /** Handed to every tool as `call.context`. */
  readonly context?: unknown;
  /** Asked before every call, with the validated input. Time spent here is not the run's. */
  readonly authorize?: Authorize;
  /** Whose run it is, for example a tenant or a user: suspended under one scope, it resumes under no other. */
  readonly scope?: string;
}

export interface StartOptions extends RunOptions {
  readonly source: string;
  readonly language?: Language;
  readonly limits?: Partial<Limits>;
}

export interface ResumeOptions extends RunOptions {
  readonly token: string;
  /** How pending calls go on, by call id. Those left out stay pending. */
  readonly resolutions?: Readonly<Record<string, CallResolution>>;
}

export interface RunHandle {
  readonly runId: string;
  readonly events: AsyncIterable<RunEvent>;
  readonly result: Promise<RunResult>;
  /** Everything that has happened so far; `host.replay` repeats it. */
  readonly ledger: () => Ledger;
}

export interface Host extends AsyncDisposable {
  start(options: StartOptions): RunHandle;
  /** Continues a suspended run. */
  resume(options: ResumeOptions): RunHandle;
  /** Repeats a recorded run without calling any tool. */
  replay(ledger: Ledger): RunHandle;
}

const LIVE_RUNS = 100_000;
const EXTRA_WORKERS = 8;

export function createHost(options: HostOptions = {}): Host {
  const workers = options.workers ?? availableParallelism();
  if (!Number.isInteger(workers) || workers < 1) {
    throw new RangeError(`Cannot create a host with ${String(workers)} workers: expected a positive integer`);
  }
  const { liveRuns = LIVE_RUNS } = options;
  if (!Number.isInteger(liveRuns) || liveRuns < 1) {
    throw new RangeError(
      `Cannot create a host for ${String(liveRuns)} live runs: expected a positive integer`,
    );
  }
  // Before anything that would have to be released.
  const tokens = new Tokens(options);
  const sandbox = new NodePool({ workers, maxWorkers: workers + EXTRA_WORKERS });
  return new SandboxHost(options, sandbox, tokens);
}

class SandboxHost implements Host {
  readonly #options: HostOptions;
  readonly #sandbox: Sandbox;
  readonly #tokens: Tokens;
  readonly #limits: Limits;
  readonly #runs = new Set<Run>();
  #closed = false;

  constructor(options: HostOptions, sandbox: Sandbox, tokens: Tokens) {
    this.#options = options;
    this.#limits = resolveLimits(options.limits);
    this.#sandbox = sandbox;
    this.#tokens = tokens;
  }

  start(options: StartOptions): RunHandle {
    const { source, language = "typescript", tools = {} } = options;
    if (typeof source !== "string") throw new TypeError("Cannot start a run: source must be a string");
    if (language !== "javascript" && language !== "typescript") {
      throw new TypeError(`Cannot start a run: no such language "${String(language)}"`);
    }
    assertTools(tools, "start");
    assertScope(options.scope, "start");
    const limits =
      options.limits === undefined ? this.#limits : resolveLimits({ ...this.#limits, ...options.limits });
    const bytes = utf8Bytes(source);
    const refusal: Failure | undefined =
      bytes > limits.sourceBytes
        ? {
            code: "source_limit",
            message: `The source has ${bytes} bytes, at most ${limits.sourceBytes} are allowed`,
          }
        : undefined;
    const header: LedgerHeader = {
      runId: randomUUID(),
      source: refusal === undefined ? source : "",
      language,
      seed: newSeed(),
      clock: Date.now(),
      limits,
      toolNames: Object.keys(tools),
    };
    return this.#begin(new LedgerBook(header), options, { tools, refusal });
  }

  resume(options: ResumeOptions): RunHandle {
    const { token, scope = "", resolutions = {} } = options;
    if (typeof token !== "string") throw new TypeError("Cannot resume a run: token must be a string");
    assertTools(options.tools ?? {}, "resume");
    assertScope(options.scope, "resume");
    assertResolutions(resolutions);
    // Whatever would end the run at once must not use up its token.
    const refusal = this.#admissionRefusal() ?? abortRefusal(options.signal);
    const claimed = refusal ?? this.#tokens.claim(token, scope, (held) => assertPending(held, resolutions));
    if ("code" in claimed) {
      return this.#begin(new LedgerBook(emptyHeader()), options, { refusal: claimed });
    }
    const { ledger, seen, timers, pending } = claimed;
    const { calls, deliveries } = ledger;
    return this.#begin(new LedgerBook(ledger, { calls, deliveries, seen }), options, {
      tools: options.tools ?? {},
      pending: resolvePending(claimed, pending, resolutions),
      timers,
    });
  }

  replay(ledger: Ledger): RunHandle {
    if (ledger.version !== 1) {
      throw new TypeError(`Cannot replay a ledger of version ${String(ledger.version)}: only 1 is known`);
    }
    const book = new LedgerBook({ ...ledger, limits: resolveLimits(ledger.limits) }, ledger);
    book.stopped = ledger.stopped;
    return this.#begin(book, {}, {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const live of this.#runs) live.stop("the host was closed");
    await this.#sandbox[Symbol.asyncDispose]();
  }

  #begin(
    book: LedgerBook,
    options: RunOptions,
    how: {
      readonly tools?: ToolSet;
      readonly pending?: RunSetup["pending"];
      readonly timers?: RunSetup["timers"];
      readonly refusal?: Failure | undefined;
    },
  ): RunHandle {
    const { runId } = book.header;
    const begun = new Run({
      book,
      sandbox: this.#sandbox,
      tools: how.tools,
      signal: options.signal,
      context: options.context,
      authorize: options.authorize,
      pending: how.pending ?? new Map(),
      timers: how.timers ?? [],
      suspend: (pending, timers) =>
        this.#tokens.issue(book, options.scope ?? "", pending, timers, (index, payload) =>
          toPendingCall(book, index, payload),
        ),
    });
    const refusal = how.refusal ?? this.#admissionRefusal();
    if (refusal === undefined) {
      this.#runs.add(begun);
      void begun.result.then(() => this.#runs.delete(begun));
    }
    begun.start(refusal);
    return { runId, events: begun.events, result: begun.result, ledger: () => begun.ledger() };
  }

  #admissionRefusal(): Failure | undefined {
    if (this.#closed) return { code: "aborted", message: "Cannot start a run: the host is closed" };
    const liveRuns = this.#options.liveRuns ?? LIVE_RUNS;
    if (this.#runs.size < liveRuns) return undefined;
    return {
      code: "too_many_runs",
      message: `Cannot start a run: ${liveRuns} are live already, try again later`,
    };
  }
}

function abortRefusal(signal: AbortSignal | undefined): Failure | undefined {
  return signal?.aborted === true ? abortedFailure(signal.reason) : undefined;
}

function assertTools(tools: ToolSet, purpose: "start" | "resume"): void {
  for (const name of Object.keys(tools)) {
    if (typeof tools[name]?.execute !== "function") {
      throw new TypeError(`Cannot ${purpose} a run: tool "${name}" has no execute function`);
    }
  }
}

function assertScope(scope: unknown, purpose: "start" | "resume"): void {
  if (scope !== undefined && typeof scope !== "string") {
    throw new TypeError(`Cannot ${purpose} a run: scope must be a string`);
  }
}

type Resolutions = Readonly<Record<string, CallResolution>>;

/** They often come from a client. */
function assertResolutions(resolutions: unknown): asserts resolutions is Resolutions {
  if (typeof resolutions !== "object" || resolutions === null) {
    throw new TypeError("Cannot resume a run: resolutions must be an object of call ids");
  }
  for (const [callId, resolution] of Object.entries(resolutions as Record<string, unknown>)) {
    const given = typeof resolution === "object" && resolution !== null ? resolution : {};
    const isDenied = "deny" in given && typeof given.deny === "string";
    if (!isDenied && !("resolution" in given && given.resolution !== undefined)) {
      throw new TypeError(
        `Cannot resume a run: resolutions["${callId}"] has neither a resolution nor a text in deny`,
      );
    }
  }
}

function assertPending({ ledger, pending }: SuspendedRun, resolutions: Resolutions): void {
  const known = new Set(pending.map(([index]) => toCallId(ledger.runId, index)));
  for (const callId of Object.keys(resolutions)) {
    if (!known.has(callId)) {
      throw new TypeError(
        `Cannot resume a run: no call "${callId}" is pending, there are ${[...known].join(", ")}`,
      );
    }
  }
}

function resolvePending(
  { ledger }: SuspendedRun,
  pending: SuspendedRun["pending"],
  resolutions: Readonly<Record<string, CallResolution>>,
): RunSetup["pending"] {
  return new Map(
    pending.map(([index, payload]) => {
      const callId = toCallId(ledger.runId, index);
      return [
        index,
        { payload, resolution: Object.hasOwn(resolutions, callId) ? resolutions[callId] : undefined },
      ];
    }),
  );
}

function toPendingCall(book: LedgerBook, index: number, payload: Json): PendingCall {
  const call = book.calls[index];
  return {
    callId: toCallId(book.header.runId, index),
    tool: call?.tool ?? "",
    input: JSON.parse(call?.input ?? "null") as Json,
    payload,
  };
}

function emptyHeader(): LedgerHeader {
  return {
    runId: randomUUID(),
    source: "",
    language: "javascript",
    seed: "",
    clock: Date.now(),
    limits: resolveLimits(),
    toolNames: [],
  };
}

/** 64 hexadecimal digits; random ids are drawn in batches, so this is much cheaper than asking for bytes. */
function newSeed(): string {
  return `${randomUUID()}${randomUUID()}`.replaceAll("-", "");
}

let defaultHost: Host | undefined;

/** Runs one program on a host shared by the whole process. */
export function run(options: StartOptions): Promise<RunResult> {
  defaultHost ??= createHost();
  return defaultHost.start(options).result;
}
