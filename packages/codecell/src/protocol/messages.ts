/**
 * Protocol: the messages between host and worker, and their validation.
 *
 * - Both sides send arrays: everything that is ready together travels together.
 * - The host trusts nothing a worker sends: a worker may have been taken over by its guest. A message that does not
 *   parse is a crash of that worker.
 * - Cells are named by the number of their placement, never reused, so late messages find nobody.
 */
import { type Compression, isCompression } from "../contract/compression.ts";
import type { FeatureSettings } from "../contract/features.ts";
import type { Language, Delivery, Progress } from "../contract/ledger.ts";
import { FAILURE_CODES, type Failure } from "../contract/failure.ts";
import type { LogLevel, LogLine } from "../contract/result.ts";
import {
  isCall,
  isDelivery,
  isFeatures,
  isLanguage,
  isProgress,
  isTimerChange,
} from "../value/ledger-shape.ts";
import { isArrayOf, isCount, isDuration, isRecord } from "../value/shape.ts";

export { isProgress };

/** The limits a worker enforces. */
export interface CellLimits {
  readonly cpuTimeMs: number;
  readonly memoryBytes: number;
  readonly stackBytes: number;
  readonly resultBytes: number;
  readonly logBytes: number;
  readonly callInputBytes: number;
  readonly calls: number;
  readonly timers: number;
}

export type Command =
  /** The beginning of the history of a cell that is started next; of a long one there are several. */
  | { readonly type: "history"; readonly cell: number; readonly deliveries: readonly Delivery[] }
  | {
      readonly type: "start";
      readonly cell: number;
      readonly source: string;
      readonly language: Language;
      readonly seed: string;
      readonly clock: number;
      /** The names as JSON text. */
      readonly toolNames: string;
      readonly features: FeatureSettings;
      readonly limits: CellLimits;
      /** How often the cell has left a thread because it computes; 0 unless said otherwise. */
      readonly moves?: number;
      /**
       * Deliveries to repeat at once, behind those told before: empty for a new run, the ledger's for a rebuilt one, those after the snapshot for
       * one that goes on from there.
       */
      readonly history: readonly Delivery[];
      /** Where to go on instead of evaluating the source. */
      readonly snapshot?: CellSnapshot | undefined;
      /** How its snapshots are compressed; a worker that does not have the method, or is told none, uses its best. */
      readonly compression?: Compression;
    }
  | { readonly type: "deliver"; readonly cell: number; readonly delivery: Delivery }
  /** Answered by a `SnapshotAnswer`, after the reports on all that was commanded before. */
  | { readonly type: "snapshot"; readonly cell: number }
  | { readonly type: "drop"; readonly cell: number };

/** The memory of a cell, and where in its ledger the run stood when it was taken: one that stands elsewhere is refused. */
export interface CellSnapshot {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly progress: Progress;
}

/** More than any snapshot that a worker gives or takes. */
export const MAX_SNAPSHOT_BYTES: number = 32 * 1024 * 1024;

/** A timer that was set (a delay) or cleared (null). */
export interface TimerChange {
  readonly timer: number;
  readonly delayMs: number | null;
}

export interface CallRequest {
  readonly tool: string;
  readonly input: string;
}

/** How the program ended. */
export type CellEnd =
  | { readonly status: "returned"; readonly result: string }
  | { readonly status: "failed"; readonly failure: CellFailure };

/** A failure, with the call it came from: a failed one of an uncaught error, or one that is detached. */
export interface CellFailure {
  readonly failure: Failure;
  readonly call: number | null;
  readonly detached?: Detached;
}

/** Nobody ever looked at its promise, or it had not ended when the program returned. */
export type Detached = "unawaited" | "pending";

/** What one cell did since its last report. */
export interface Report {
  readonly kind?: undefined;
  readonly cell: number;
  readonly calls: readonly CallRequest[];
  readonly timers: readonly TimerChange[];
  readonly logs: readonly LogLine[];
  readonly logsDropped: number;
  /** In total, over this placement. */
  readonly cpuTimeMs: number;
  readonly end: CellEnd | null;
  /** A rejection nobody has handled so far; said only when the cell itself has nothing to wait for. */
  readonly unhandled: CellFailure | null;
  /** The worker has forgotten the cell: it ended and waits for nothing. */
  readonly isOver: boolean;
  /** Memory of its vm, said when it is more than the image's. */
  readonly heapBytes?: number;
}

/** To a `snapshot` command; null when there is none to give. To the host the bytes are opaque. */
export interface SnapshotAnswer {
  readonly kind: "snapshot";
  readonly cell: number;
  readonly bytes: Uint8Array<ArrayBuffer> | null;
}

/** In place of the report on a start: the snapshot is of another build or run, or is none. The cell does not exist. */
export interface SnapshotRefusal {
  readonly kind: "snapshot_refused";
  readonly cell: number;
}

/** In place of a report: the cell computes and others wait. It does not exist any more, and nothing of its turn was told. */
export interface Leave {
  readonly kind: "computes";
  readonly cell: number;
}

export type Answer = Report | SnapshotAnswer | SnapshotRefusal | Leave;

/** Indices into the Int32Array that is a worker's status board. */
export const STATUS = {
  /** The cell being executed, 0 for none. */
  cell: 0,
  /** Counts entries, so that a host can tell a long stay from many short ones. */
  entries: 1,
  /** The cell whose guest code must stop. */
  cancel: 2,
  /** Counts how often guest code was asked whether to go on: it grows only while that code gets processor time. */
  polls: 3,
  /** Counts messages to the worker: one that waits on it wakes faster than through its event loop. */
  posted: 4,
  /** Counts messages of the worker. */
  reported: 5,
  /** Whether the thread may be ended, see `fragile.ts`. */
  fragile: 6,
  /** Cells that wait for a thread and are on none yet. */
  wanted: 7,
  /** What all cells hold, in KiB. */
  held: 8,
  /** Counts cells dropped as commanded. */
  dropped: 9,
} as const;

export const STATUS_BYTES: number = 4 * Object.keys(STATUS).length;

const LOG_LEVELS: ReadonlySet<string> = new Set<LogLevel>([
  "debug",
  "log",
  "info",
  "warn",
  "error",
  "text",
  "json",
]);

/** Reads a host's message. Undefined when it is not one. */
export function parseCommands(message: unknown): Command[] | undefined {
  return isArrayOf(message, isCommand) ? (message as Command[]) : undefined;
}

function isCommand(value: unknown): boolean {
  if (!isRecord(value) || !isCount(value["cell"])) return false;
  switch (value["type"]) {
    case "drop":
    case "snapshot":
      return true;
    case "deliver":
      return isDelivery(value["delivery"]);
    case "history":
      return isArrayOf(value["deliveries"], isDelivery);
    case "start":
      return (
        ["source", "seed", "toolNames"].every((name) => typeof value[name] === "string") &&
        isLanguage(value["language"]) &&
        isDuration(value["clock"]) &&
        isFeatures(value["features"]) &&
        (value["moves"] === undefined || isCount(value["moves"])) &&
        isRecord(value["limits"]) &&
        Object.values(value["limits"]).every(isCount) &&
        isArrayOf(value["history"], isDelivery) &&
        (value["snapshot"] === undefined || isCellSnapshot(value["snapshot"])) &&
        (value["compression"] === undefined || isCompression(value["compression"]))
      );
    default:
      return false;
  }
}

function isCellSnapshot(value: unknown): boolean {
  return isRecord(value) && isSnapshot(value["bytes"]) && isProgress(value["progress"]);
}

/** Bytes of their own: nobody else can change them later, and nothing else came along with them. */
function isSnapshot(value: unknown): boolean {
  return (
    value instanceof Uint8Array &&
    value.buffer instanceof ArrayBuffer &&
    value.byteLength === value.buffer.byteLength &&
    value.byteLength <= MAX_SNAPSHOT_BYTES
  );
}

/** Reads a worker's message. Undefined when it is not one. */
export function parseAnswers(message: unknown): Answer[] | undefined {
  return isArrayOf(message, isAnswer) ? (message as Answer[]) : undefined;
}

function isAnswer(value: unknown): boolean {
  if (!isRecord(value) || !isCount(value["cell"])) return false;
  switch (value["kind"]) {
    case undefined:
      return isReport(value);
    case "snapshot":
      return value["bytes"] === null || isSnapshot(value["bytes"]);
    case "snapshot_refused":
    case "computes":
      return true;
    default:
      return false;
  }
}

function isReport(value: Record<string, unknown>): boolean {
  return (
    isArrayOf(value["calls"], isCall) &&
    isArrayOf(value["timers"], isTimerChange) &&
    isArrayOf(value["logs"], isLogLine) &&
    isCount(value["logsDropped"]) &&
    isDuration(value["cpuTimeMs"]) &&
    typeof value["isOver"] === "boolean" &&
    (value["heapBytes"] === undefined || isCount(value["heapBytes"])) &&
    (value["end"] === null || isEnd(value["end"])) &&
    (value["unhandled"] === null || isCellFailure(value["unhandled"]))
  );
}

function isLogLine(value: unknown): boolean {
  return isRecord(value) && LOG_LEVELS.has(value["level"] as string) && typeof value["text"] === "string";
}

function isEnd(value: unknown): boolean {
  if (!isRecord(value)) return false;
  if (value["status"] === "returned") return typeof value["result"] === "string";
  return value["status"] === "failed" && isCellFailure(value["failure"]);
}

export function isCellFailure(value: unknown): value is CellFailure {
  return (
    isRecord(value) &&
    (value["call"] === null || isCount(value["call"])) &&
    [undefined, "unawaited", "pending"].includes(value["detached"] as string | undefined) &&
    isRecord(value["failure"]) &&
    isFailure(value["failure"])
  );
}

function isFailure({ code, message, position, error, details }: Record<string, unknown>): boolean {
  return (
    typeof code === "string" &&
    Object.hasOwn(FAILURE_CODES, code) &&
    typeof message === "string" &&
    details === undefined &&
    (position === undefined ||
      (isRecord(position) && isCount(position["line"]) && isCount(position["column"]))) &&
    (error === undefined ||
      (isRecord(error) &&
        typeof error["name"] === "string" &&
        typeof error["message"] === "string" &&
        (error["stack"] === undefined || typeof error["stack"] === "string")))
  );
}
