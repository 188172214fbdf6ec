/** Resident: a cell as the pool knows it, from its place in line to its end. On the host. */
import { VM_BYTES } from "./heap-budget.ts";
import type { NodeWorker } from "./node-worker.ts";
import type { CellListener } from "../sandbox.ts";

export interface Resident {
  readonly cell: number;
  readonly listener: CellListener;
  readonly cpuTimeMs: number;
  /** After so much processor time its worker is free for others again, if need be by force. */
  readonly quantumMs: number;
  /** Whether it has made a turn; before that nobody knows whether it ever will. */
  isKnown: boolean;
  readonly memoryBytes: number;
  /** What it has beyond a vm of its own, as it said last. */
  heapBytes: number;
  /** What it may still get while it owes an answer; else 0. */
  dueBytes: number;
  /** Starts and deliveries, sent or queued, that have not been answered. */
  unanswered: number;
  /** Whether the start, not yet answered, may be refused for its snapshot. */
  mayBeRefused: boolean;
  /** Snapshots asked for and not yet answered, in order. */
  readonly snapshots: SnapshotRequest[];
  /** Where it lives; undefined while it waits for a place and after it was lost or dropped. */
  worker: NodeWorker | undefined;
}

/** Settled once; what comes later is not heard. */
export type SnapshotRequest = (bytes: Uint8Array<ArrayBuffer> | undefined) => void;

/** What a cell that does not owe an answer may still get when it is moved. */
export function neededBytes({ memoryBytes, heapBytes }: Resident): number {
  return Math.max(0, memoryBytes + VM_BYTES - heapBytes);
}

/** Nobody waits any longer; answers that come all the same still find their request. */
export function giveUpSnapshots(resident: Resident): void {
  for (const request of resident.snapshots) request(undefined);
}
