/** What a host and its runs are asked for, and what they give back. */
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
import type { GuestCatalog } from "./guest-catalog.ts";
import type { HostCheck } from "../check/host-check.ts";

export interface HostOptions {
  /**
   * Worker threads; as many as the machine has cores unless said otherwise. Runs that compute while others wait have one
   * fewer, at least one, beside them; where programs hold threads in native loops, as many again are started meanwhile.
   */
  readonly workers?: number;
  /**
   * Where programs run, in place of a pool of worker threads of this host's own; `workers`, `workerUrl` and `heapBudgetBytes`
   * are its affair then. It stays the caller's to close.
   */
  readonly sandbox?: Sandbox;
  /**
   * A worker of one's own in place of the one that comes with this package: a `file:` or `data:` URL, or an absolute
   * path, of what `loadWorkerText()` of codecell/bundle gave. For where neither this package's files nor `data:` URLs can be started.
   */
  readonly workerUrl?: URL | string | undefined;
  /** Defaults for the limits of every run. */
  readonly limits?: Partial<Limits>;
  /** Runs that may be live at the same time; 100,000 unless said otherwise. */
  readonly liveRuns?: number;
  /**
   * Bytes that the heaps of all programs may have together; beyond that programs wait for their turn. Half of what the
   * machine or the container has, shared by all hosts of the process, unless said otherwise.
   */
  readonly heapBudgetBytes?: number;
  /** Keeps runs, so that they outlive this process; without one only tokens do. It stays the caller's to close. */
  readonly store?: Store;
  /** Keeps runs that have ended in the store, sealed, to be read with `readEnded`; none are kept unless said otherwise. */
  readonly keepEnded?: KeepEnded;
  /** Lets lists of the store name the tools that programs called; false unless said otherwise. */
  readonly listToolNames?: boolean;
  /** How long a run stays ours after this process stops answering; 30,000 unless said otherwise. */
  readonly leaseMs?: number;
  /**
   * Seals suspension tokens; at least 16 random bytes, better 32. Without it the environment's CODECELL_SEAL_KEY is
   * used, and without that tokens do not outlive this process.
   */
  readonly sealKey?: Uint8Array;
  /** Instead of `sealKey`, to replace a key: the first one seals, all of them open. */
  readonly sealKeys?: readonly Uint8Array[];
  /**
   * Tokens of runs that were given far more than their memory holds have that memory and not what they were given: small,
   * and good only for hosts with the same build of the engine. False unless said otherwise.
   */
  readonly compactTokens?: boolean;
  /** Makes tokens and what the store keeps unreadable for whoever holds them; false unless said otherwise. */
  readonly encrypt?: boolean;
  /**
   * How suspended runs are compressed, in tokens, in the store and in snapshots; "zstd" by default. Pages cannot read zstd:
   * choose "deflate" where a page is to read them. Every host opens both.
   */
  readonly compression?: Compression;
  /** Told of errors in the host's own code, for all runs that have no `onError` of their own; see there. */
  readonly onError?: OnError;
  /** Checks programs before they are started; those that can only fail are not. No check unless said otherwise. */
  readonly check?: HostCheck;
}

/** Bounds of what is kept of ended runs. Of all hosts that share a store, the tightest bounds hold. */
export interface KeepEnded {
  readonly forMs: number;
  /** Of all runs in the store the newest that ended; 10,000 unless said otherwise. */
  readonly runs?: number;
  /** What they take together; 268,435,456 unless said otherwise. */
  readonly bytes?: number;
}

export interface RunOptions {
  readonly tools?: ToolSet;
  /** Ends the run; too late for one that is being suspended. */
  readonly signal?: AbortSignal;
  /** Handed to every tool as `call.context`. */
  readonly context?: unknown;
  /** Whose run it is: tenant, user or session. A run is resumed only under the scope it was started with. */
  readonly scope?: string;
  /** What happens when limits.wallTimeMs is over and the run waits for calls or timers; it fails unless said otherwise. */
  readonly atDeadline?: "fail" | "suspend";
  /** What stands between calls and their tools, in this order: see `CallMiddleware`. */
  readonly middleware?: readonly CallMiddleware[];
  /** Asked before every call, after all middleware, with the input that the tool will get. Time spent here is not the run's. */
  readonly authorize?: Authorize;
  /**
   * Told of errors in the host's own code, as they were thrown: by tools, schemas, `authorize`, the sandbox, the store. For
   * the host alone: programs, models, tokens and stores get nothing of it. What it throws is ignored.
   */
  readonly onError?: OnError;
  /**
   * Hears each event of the run as it happens, and the steps of its calls, which `events` does not have. Nothing waits for it:
   * it must not be asynchronous. `onError` is told what it throws. It hears calls that go on after a suspension too.
   */
  readonly onEvent?: OnEvent;
  /** Makes the run's token compact, although the host's are not; see there. */
  readonly compactTokens?: boolean;
  /** Makes the run's token unreadable for whoever holds it, although the host's are not. */
  readonly encrypt?: boolean;
  /** Puts the failure of a call into an adapter's words before the program sees it; the code stays. */
  readonly mapCallFailure?: MapCallFailure;
  /**
   * Gives the program `fetch`, and says what it may reach; there is none unless said otherwise. Whether a program has it
   * is decided at the start: a run that is resumed or forked needs a policy again for its further fetches.
   */
  readonly fetchPolicy?: FetchPolicy | undefined;
}

export interface StartOptions extends RunOptions {
  readonly source: string;
  readonly language?: Language;
  readonly limits?: Partial<Limits>;
  /** Gives the program `yield_control(reason?)`, which suspends the run until it is resumed; false unless said otherwise. */
  readonly mayYield?: boolean;
  /** What becomes of calls that the program has not waited for when it returns; the run waits unless said otherwise. */
  readonly detachedCalls?: "wait" | "fail";
  /** Gives the program the globals of the catalog profile; those of the direct profile unless said otherwise. */
  readonly catalog?: GuestCatalog;
}

export interface ResumeOptions extends RunOptions {
  /** A suspension's token. */
  readonly token?: string | undefined;
  /** Or the id of a run in the host's store: suspended, or left behind by a process that died. */
  readonly id?: string | undefined;
  /** How pending calls go on, by call id. Those left out stay pending. */
  readonly resolutions?: Resolutions;
}

/** A suspended run, by one of both. */
export interface DiscardOptions extends Pick<ResumeOptions, "token" | "id" | "scope"> {}

/** A run that has ended. */
export interface ReadEndedOptions {
  readonly id: string;
  readonly scope?: string;
}

export interface ForkOptions extends RunOptions {
  /** Index of the call. */
  readonly atCall: number;
  /** What the call gives; without it the call is made anew. */
  readonly outcome?: ForkOutcome;
  /** Another program; up to the call it must do what the old one did. */
  readonly source?: string;
}

export interface RunHandle {
  readonly runId: string;
  readonly events: AsyncIterable<RunEvent>;
  readonly result: Promise<RunResult>;
  /** Everything that has happened so far; `host.replay` repeats it. */
  readonly ledger: () => Ledger;
}

export interface Host extends AsyncDisposable {
  /** Whether its runs outlive it, in a store. */
  readonly isDurable: boolean;
  /** The limits that it was created with; the others have their defaults. */
  readonly limits: Readonly<Partial<Limits>>;
  start(options: StartOptions): RunHandle;
  /** Continues a suspended run. */
  resume(options: ResumeOptions): RunHandle;
  /**
   * Gives a suspended run up: nobody can resume it any more. False when there is none that could be. Rejects with a
   * StoreError when the store failed: it may be there still.
   */
  discard(options: DiscardOptions): Promise<boolean>;
  /**
   * What a run of the store came to that has ended and was kept, with its ledger; undefined when there is none of this id and
   * scope. Rejects with a CodecellError for what this host's keys do not open, and with a StoreError when the store failed.
   */
  readEnded(options: ReadEndedOptions): Promise<EndedRecord | undefined>;
  /**
   * Deletes what the store kept of a run that has ended, before its time. False when there is none of this id and scope.
   * Rejects with a StoreError when the store failed: it may be there still.
   */
  deleteEnded(options: ReadEndedOptions): Promise<boolean>;
  /** Repeats a recorded run without calling any tool. */
  replay(ledger: Ledger): RunHandle;
  /** Starts a new run that shares the past of another up to the outcome of one of its calls. */
  fork(ledger: Ledger, options: ForkOptions): RunHandle;
}
