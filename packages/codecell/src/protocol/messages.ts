/**
 * Protocol: the messages between host and worker, and their parsers. Known to both sides.
 *
 * - The host sends commands. The worker sends answers: a report, a snapshot, a refusal of a snapshot, or that a cell
 *   computes.
 * - The status board is memory in which a worker says which cell it is in, and the host what it wants of the worker.
 * - Both sides send arrays: everything that is ready at the same time goes into one message.
 * - The host trusts nothing that a worker sends, because a guest may have taken the worker over. A message that does
 *   not parse counts as a crash of that worker.
 * - A message names a cell by the number of its placement. Numbers are never reused, so a late message reaches no other
 *   cell.
 * - A large first report comes in pieces. The worker sends a piece only when the host has asked for it, so the host
 *   decides how much of a turn goes into reading.
 */
import { type Compression, isCompression } from "../contract/compression.ts";
import type { FeatureSettings } from "../contract/features.ts";
import type { Delivery, Language, LedgerCall, Progress, TimerChange } from "../contract/ledger.ts";
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

/** The limits that a worker enforces. */
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
  /** The beginning of the history of a cell whose `start` follows; a long history needs several of these. */
  | { readonly type: "history"; readonly cell: number; readonly deliveries: readonly Delivery[] }
  | {
      readonly type: "start";
      readonly cell: number;
      readonly source: string;
      readonly language: Language;
      readonly seed: string;
      readonly clock: number;
      /** The names of the tools as JSON text. */
      readonly toolNames: string;
      readonly features: FeatureSettings;
      readonly limits: CellLimits;
      /** How often the cell has left a thread because it computes; absent means 0. */
      readonly moves?: number;
      /**
       * Deliveries to repeat at once, after those of `history` commands: empty for a new run, the ledger's deliveries
       * for a rebuilt run, the deliveries after the snapshot for a cell that continues from a snapshot.
       */
      readonly history: readonly Delivery[];
      /** Continue from this snapshot instead of evaluating the source. */
      readonly snapshot?: CellSnapshot | undefined;
      /** How its snapshots are compressed; a worker without this method, or without an order, uses its best method. */
      readonly compression?: Compression;
    }
  | { readonly type: "deliver"; readonly cell: number; readonly delivery: Delivery }
  /** The worker answers with a `SnapshotAnswer`, after its reports on all earlier commands. */
  | { readonly type: "snapshot"; readonly cell: number }
  /** The host has read a `ReportPiece`. The worker answers with what follows: another piece, or the report. */
  | { readonly type: "next"; readonly cell: number }
  | { readonly type: "drop"; readonly cell: number };

/** The memory of a cell, and the progress at which it was taken. It is refused at any other progress. */
export interface CellSnapshot {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly progress: Progress;
}

/** No worker gives or takes a larger snapshot. */
export const MAX_SNAPSHOT_BYTES: number = 32 * 1024 * 1024;

/** How the program ended. */
export type CellEnd =
  | { readonly status: "returned"; readonly result: string }
  | { readonly status: "failed"; readonly failure: CellFailure };

/** A failure with its call: the failed call behind an uncaught error, or the detached call. */
export interface CellFailure {
  readonly failure: Failure;
  readonly call: number | null;
  readonly detached?: Detached;
}

/**
 * A detached call is a call that the program has not waited for when it returns: the program never looked at the
 * promise (`unawaited`), or returned before the call ended (`pending`).
 */
export type Detached = "unawaited" | "pending";

/** What one cell did since its last report. */
export interface Report {
  readonly kind?: undefined;
  readonly cell: number;
  readonly calls: readonly LedgerCall[];
  readonly timers: readonly TimerChange[];
  readonly logs: readonly LogLine[];
  readonly logsDropped: number;
  /** The total over this placement. */
  readonly cpuTimeMs: number;
  readonly end: CellEnd | null;
  /** A rejection that is unhandled so far; reported only if the cell itself has nothing to wait for. */
  readonly unhandled: CellFailure | null;
  /** The worker has removed the cell: the program ended and waits for nothing. */
  readonly isOver: boolean;
  /** The memory of the cell's vm, reported if it is larger than the image. */
  readonly heapBytes?: number;
}

/**
 * The beginning of the first report of a cell with a history. After each piece the worker waits for `next`, and serves
 * no other command of the cell meanwhile. Nobody acts on a piece before the report is there: the cell may be lost
 * between the two.
 */
export interface ReportPiece {
  readonly kind: "piece";
  readonly cell: number;
  readonly calls: readonly LedgerCall[];
  readonly timers: readonly TimerChange[];
}

/** The answer to a `snapshot` command; null if there is no snapshot to give. The host does not read the bytes. */
export interface SnapshotAnswer {
  readonly kind: "snapshot";
  readonly cell: number;
  readonly bytes: Uint8Array<ArrayBuffer> | null;
}

/** The answer to a `start` whose snapshot is of another build or run, or is damaged. The cell does not exist. */
export interface SnapshotRefusal {
  readonly kind: "snapshot_refused";
  readonly cell: number;
}

/** Instead of a report: the cell computes while others wait. It no longer exists, and its burst is not reported. */
export interface ComputesAnswer {
  readonly kind: "computes";
  readonly cell: number;
}

export type Answer = Report | ReportPiece | SnapshotAnswer | SnapshotRefusal | ComputesAnswer;

/** Indices into the Int32Array that is a worker's status board. */
export const STATUS = {
  /** The cell that the worker is in, 0 for none. */
  cell: 0,
  /** Counts entries into cells, so that the host can tell one long stay from many short ones. */
  entries: 1,
  /** The cell whose guest code must stop. */
  cancel: 2,
  /** Counts interrupt checks of guest code; it grows only while that code gets processor time. */
  polls: 3,
  /** Counts messages to the worker, which wakes faster by waiting on this than through its event loop. */
  posted: 4,
  /** Counts messages from the worker. */
  reported: 5,
  /** Whether the thread may be ended; see `fragile.ts`. */
  fragile: 6,
  /** How many cells wait for a thread and have none yet. */
  wanted: 7,
  /** The memory that all cells hold, in KiB. */
  held: 8,
  /** Counts the cells that were dropped on command. */
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

/** Parses a host's message; undefined if it is invalid. */
export function parseCommands(message: unknown): Command[] | undefined {
  return isArrayOf(message, isCommand) ? (message as Command[]) : undefined;
}

function isCommand(value: unknown): boolean {
  if (!isRecord(value) || !isCount(value["cell"])) return false;
  switch (value["type"]) {
    case "drop":
    case "snapshot":
    case "next":
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

/** Accepts only bytes with a buffer of their own: nobody can change them later, and no other bytes came along. */
function isSnapshot(value: unknown): boolean {
  return (
    value instanceof Uint8Array &&
    value.buffer instanceof ArrayBuffer &&
    value.byteLength === value.buffer.byteLength &&
    value.byteLength <= MAX_SNAPSHOT_BYTES
  );
}

/** Parses a worker's message; undefined if it is invalid. */
export function parseAnswers(message: unknown): Answer[] | undefined {
  return isArrayOf(message, isAnswer) ? (message as Answer[]) : undefined;
}

function isAnswer(value: unknown): boolean {
  if (!isRecord(value) || !isCount(value["cell"])) return false;
  switch (value["kind"]) {
    case undefined:
      return isReport(value);
    case "piece":
      return isPiece(value);
    case "snapshot":
      return value["bytes"] === null || isSnapshot(value["bytes"]);
    case "snapshot_refused":
    case "computes":
      return true;
    default:
      return false;
  }
}

/** A piece has something in it: as what a cell may report is bounded, so is the number of its pieces. */
function isPiece({ calls, timers }: Record<string, unknown>): boolean {
  return isArrayOf(calls, isCall) && isArrayOf(timers, isTimerChange) && calls.length + timers.length > 0;
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
