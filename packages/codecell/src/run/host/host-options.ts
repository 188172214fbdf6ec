/** The options of a host and its runs, and what they give back. Used on the host. */
import type { MapCallFailure } from "../../calls/call-failure.ts";
import type { Authorize, CallMiddleware } from "../../calls/middleware.ts";
import type { Compression } from "../../contract/compression.ts";
import type { OnEvent, RunEvent } from "../../contract/events.ts";
import type { OnError } from "../../contract/host-error.ts";
import type { Language, Ledger } from "../../contract/ledger.ts";
import type { Limits } from "../../contract/limits.ts";
import type { ForkOutcome, Resolutions, RunResult } from "../../contract/result.ts";
import type { Store } from "../../contract/store.ts";
import type { ToolSet } from "../../contract/tool.ts";
import type { EndedRecord } from "../../durable/ended-runs.ts";
import type { FetchPolicy } from "../../fetch/policy.ts";
import type { Sandbox } from "../../sandbox/sandbox.ts";
import type { ConnectorHandles } from "./connector-handles.ts";
import type { GuestCatalog } from "./guest-catalog.ts";
import type { HostCheck } from "../check/host-check.ts";

export interface HostOptions {
  /**
   * Number of worker threads. Default: the number of the machine's cores. Runs that compute while others wait get
   * further threads: one fewer than `workers`, at least one. While programs hold threads in native loops, up to
   * `workers` more are started.
   */
  readonly workers?: number;
  /**
   * Where programs run. Default: a pool of worker threads that this host owns. A given sandbox is made with its own
   * `workers`, `workerUrl` and `heapBudgetBytes`, and the caller closes it.
   */
  readonly sandbox?: Sandbox;
  /**
   * The script of the worker threads: a `file:` or `data:` URL, or an absolute path, of the text that
   * `loadWorkerText()` of codecell/bundle gave. Default: the script in this package. For environments that can start neither this
   * package's files nor `data:` URLs.
   */
  readonly workerUrl?: URL | string | undefined;
  /** Default limits of every run. */
  readonly limits?: Partial<Limits>;
  /** Number of runs that may be live at the same time. Default: 100,000. */
  readonly liveRuns?: number;
  /**
   * Bytes that the heaps of all programs may have together; beyond that programs wait for their turn. Default: half of
   * the memory of the machine or the container, shared by all hosts of the process.
   */
  readonly heapBudgetBytes?: number;
  /** Keeps runs, so that they outlive this process. Without a store only tokens do. The caller closes the store. */
  readonly store?: Store;
  /** Keeps ended runs in the store, sealed, to be read with `readEnded`. Default: ended runs are not kept. */
  readonly keepEnded?: KeepEnded;
  /** Lets lists of the store name the tools that programs called. Default: false. */
  readonly listToolNames?: boolean;
  /** Milliseconds for which a run still belongs to this process after the process stops answering. Default: 30,000. */
  readonly leaseMs?: number;
  /**
   * Seals suspension tokens and stored runs: at least 16 random bytes, better 32. Default: the key in the environment
   * variable CODECELL_SEAL_KEY. Without either, a random key is made, and nobody can open tokens after this process.
   */
  readonly sealKey?: Uint8Array;
  /** Used instead of `sealKey` to replace a key: the first key seals, all keys open. */
  readonly sealKeys?: readonly Uint8Array[];
  /**
   * Lets a token hold the program's memory in place of the outputs that the program got, if the memory is far smaller.
   * Such a token is small, but only hosts with the same build of the engine can resume it. Default: false.
   */
  readonly compactTokens?: boolean;
  /** Encrypts tokens and stored runs, so that nobody who holds them can read them. Default: false. */
  readonly encrypt?: boolean;
  /**
   * How suspended runs are compressed, in tokens, in the store and in snapshots; "zstd" by default. Pages cannot read zstd:
   * choose "deflate" where a page is to read them. Every host opens both.
   */
  readonly compression?: Compression;
  /** Is told of errors in the host's own code, for all runs without their own `onError`; see `onError` of a run. */
  readonly onError?: OnError;
  /** Checks programs before they start. A program that can only fail is not started. Default: no check. */
  readonly check?: HostCheck;
}

/** Bounds of what is kept of ended runs. If several hosts share a store, the tightest bounds hold. */
export interface KeepEnded {
  readonly forMs: number;
  /** How many ended runs are kept in the whole store, the newest first. Default: 10,000. */
  readonly runs?: number;
  /** How many bytes all of them may take together. Default: 268,435,456. */
  readonly bytes?: number;
}

export interface RunOptions {
  readonly tools?: ToolSet;
  /** Ends the run. It has no effect on a run that is being suspended. */
  readonly signal?: AbortSignal;
  /** Every tool gets it as `call.context`. */
  readonly context?: unknown;
  /** Whose run it is: a tenant, a user or a session. A run can be resumed only under the scope it was started with. */
  readonly scope?: string;
  /** What happens when limits.wallTimeMs is over and the run still waits for calls or timers. Default: "fail". */
  readonly atDeadline?: "fail" | "suspend";
  /** Stands between calls and their tools, in this order; see `CallMiddleware`. */
  readonly middleware?: readonly CallMiddleware[];
  /**
   * Decides about every call, after all middleware, with the input that the tool will get. Time spent here does not
   * count as the run's.
   */
  readonly authorize?: Authorize;
  /**
   * Is told of errors in the host's own code, as they were thrown: by tools, schemas, `authorize`, the sandbox, the
   * store. For the host alone: programs, models, tokens and stores get nothing of it. If `onError` throws, its error is
   * ignored.
   */
  readonly onError?: OnError;
  /**
   * Hears each event of the run as it happens, and the steps of its calls, which `events` does not have. Nothing waits for it:
   * it must not be asynchronous. `onError` is told what it throws. It hears calls that go on after a suspension too.
   */
  readonly onEvent?: OnEvent;
  /** Makes the run's token compact, even if the host's tokens are not; see `compactTokens` of a host. */
  readonly compactTokens?: boolean;
  /** Encrypts the run's token, even if the host does not encrypt. */
  readonly encrypt?: boolean;
  /** Puts the failure of a call into an adapter's words before the program sees it. The code stays. */
  readonly mapCallFailure?: MapCallFailure;
  /**
   * Gives the program `fetch`, and says what it may reach. Default: the program has no `fetch`. Whether a program has
   * it is decided at the start: a run that is resumed or forked needs a policy again for its further fetches.
   */
  readonly fetchPolicy?: FetchPolicy | undefined;
  /**
   * Gives the program handles of backends, as `createHandles` of @codecell/connectors makes them. Default: the program has
   * none. Which handles it has is decided at the start: a run that is resumed or forked needs them again for its further
   * calls.
   */
  readonly connectors?: ConnectorHandles | undefined;
}

export interface StartOptions extends RunOptions {
  readonly source: string;
  readonly language?: Language;
  readonly limits?: Partial<Limits>;
  /** Gives the program `yield_control(reason?)`, which suspends the run until it is resumed. Default: false. */
  readonly mayYield?: boolean;
  /**
   * Gives the program `Blob`, `File`, `FormData`, `Request`, `Response`, streams and `Buffer`: data only, they reach nothing.
   * Default: true for a program with `connectors`, else false.
   */
  readonly webGlobals?: boolean;
  /** What happens to calls that the program has not waited for when it returns. Default: "wait". */
  readonly detachedCalls?: "wait" | "fail";
  /** Gives the program the globals of the catalog profile. Default: the globals of the direct profile. */
  readonly catalog?: GuestCatalog;
}

export interface ResumeOptions extends RunOptions {
  /** A suspension's token. */
  readonly token?: string | undefined;
  /** Or the id of a run in the host's store, which is suspended or was left behind by a process that died. */
  readonly id?: string | undefined;
  /** How pending calls go on, by call id. Calls that are left out stay pending. */
  readonly resolutions?: Resolutions;
}

/** A suspended run, named by its token or by its id. */
export interface DiscardOptions extends Pick<ResumeOptions, "token" | "id" | "scope"> {}

/** A run that has ended. */
export interface ReadEndedOptions {
  readonly id: string;
  readonly scope?: string;
}

export interface ForkOptions extends RunOptions {
  /** The index of the call. */
  readonly atCall: number;
  /** What the call gives. Without it the call is made again. */
  readonly outcome?: ForkOutcome;
  /** Another program. Up to the call it must do what the old program did. */
  readonly source?: string;
}

export interface RunHandle {
  readonly runId: string;
  readonly events: AsyncIterable<RunEvent>;
  readonly result: Promise<RunResult>;
  /** Everything that has happened so far. `host.replay` repeats it. */
  readonly ledger: () => Ledger;
}

export interface Host extends AsyncDisposable {
  /** Whether runs outlive this host, in a store. */
  readonly isDurable: boolean;
  /** The limits that it was created with; the others have their defaults. */
  readonly limits: Readonly<Partial<Limits>>;
  start(options: StartOptions): RunHandle;
  /** Continues a suspended run. */
  resume(options: ResumeOptions): RunHandle;
  /**
   * Gives a suspended run up: nobody can resume it any more. False if there is no such run to resume. Rejects with a
   * StoreError if the store failed; then the run may still be there.
   */
  discard(options: DiscardOptions): Promise<boolean>;
  /**
   * The result and the ledger of an ended run that the store kept. Undefined if there is none with this id and scope.
   * Rejects with a CodecellError if this host's keys do not open the run, and with a StoreError if the store failed.
   */
  readEnded(options: ReadEndedOptions): Promise<EndedRecord | undefined>;
  /**
   * Deletes what the store kept of an ended run, before its time. False if there is no such run with this id and scope.
   * Rejects with a StoreError when the store failed: it may be there still.
   */
  deleteEnded(options: ReadEndedOptions): Promise<boolean>;
  /** Repeats a recorded run without calling any tool. */
  replay(ledger: Ledger): RunHandle;
  /** Starts a new run that shares the past of another run up to the outcome of one of its calls. */
  fork(ledger: Ledger, options: ForkOptions): RunHandle;
}
