/** PoolCell: a cell as the pool knows it, from waiting for a worker to its end. Runs on the host. */
import { VM_BYTES } from "./heap-budget.ts";
import type { NodeWorker } from "./node-worker.ts";
import type { CellListener } from "../sandbox.ts";

export interface PoolCell {
  readonly cell: number;
  readonly listener: CellListener;
  readonly cpuTimeMs: number;
  /** After this much processor time its worker has to be free for others, if need be by force. */
  readonly quantumMs: number;
  /** Whether it has ended a burst; before that nobody knows whether it ever will. */
  isKnown: boolean;
  readonly memoryBytes: number;
  /** Its bytes beyond those of a vm, as last reported. */
  heapBytes: number;
  /** The bytes that it may still get while it owes an answer; else 0. */
  dueBytes: number;
  /** Starts and deliveries, sent or queued, without an answer yet. */
  unanswered: number;
  /** Whether the worker may still refuse the start because of its snapshot. */
  mayBeRefused: boolean;
  pieces: Pieces;
  /** Requested snapshots without an answer yet, in order. */
  readonly snapshots: SnapshotRequest[];
  /** Its worker; undefined while it waits for one, and after it was lost or dropped. */
  worker: NodeWorker | undefined;
}

/** Pieces of the report that the cell owes. */
export type Pieces =
  /** The report comes as a whole, or its last piece has come. */
  | "none"
  /** The start has a history, or the next piece was asked for: a piece may come, or the report. */
  | "asked"
  /** A piece has come and the next was not asked for yet: until then nothing of the cell may come. */
  | "unread";

/** Settles a request; only the first call counts. */
export type SnapshotRequest = (bytes: Uint8Array<ArrayBuffer> | undefined) => void;

/** The bytes that a cell without open answers may still get when it runs. */
export function neededBytes({ memoryBytes, heapBytes }: PoolCell): number {
  return Math.max(0, memoryBytes + VM_BYTES - heapBytes);
}

/** Settles open requests with undefined. They stay in the list, so that late answers still find their request. */
export function giveUpSnapshots(poolCell: PoolCell): void {
  for (const request of poolCell.snapshots) request(undefined);
}
