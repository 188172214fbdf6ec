/**
 * Printing: makes the bytes of a suspended run of a run that nothing moves. Runs on the host, in turns.
 *
 * - A run that takes more bytes than its limits allow is refused before anything is compressed or sealed.
 * - A snapshot that makes the run too large is left out; then resuming takes longer. Only a hollow ledger needs its
 *   snapshot.
 */
import { randomUUID } from "node:crypto";
import type { Failure } from "../contract/failure.ts";
import type { Ledger } from "../contract/ledger.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import { inTurns } from "../loop/turn.ts";
import { type Sealable, sizeOf } from "../seal/seal.ts";
import {
  type RunAtRest,
  sealableSteps,
  type SuspendedRun,
  toPendingAtRest,
  type WaitState,
} from "./suspended-run.ts";

/** The bytes of a suspended run, with the id and the expiry of its suspension. */
export interface PrintedRun extends Sealable, Pick<SuspendedRun, "id" | "expiresAt"> {}

/** The printed run has at least this part of the recorder's size: a timer counts for more than its text has. */
const PRINTED_PART = 1 / 3;

/** In a compact token, a snapshot replaces all outputs if it is this many times smaller than the ledger. */
const HOLLOW_TIMES = 4;
/** A smaller ledger gains nothing by being hollow. */
const HOLLOW_FROM = 16_384;

/** `executor` goes on with the calls that execute in this process. */
export async function printRun(
  recorder: LedgerRecorder,
  scope: string,
  executor: string,
  rest: RunAtRest,
  isCompact = false,
): Promise<PrintedRun | Failure> {
  const { snapshot } = rest;
  const isHollow =
    recorder.header.hollow === true ||
    (isCompact && recorder.size > Math.max(HOLLOW_FROM, HOLLOW_TIMES * (snapshot?.bytes.length ?? Infinity)));
  if (isHollow) {
    return snapshot === undefined ? noSnapshot() : printWhole(recorder, scope, executor, rest, isCompact);
  }
  const printed = await printWhole(recorder, scope, executor, rest, false);
  const isTooMuch = "code" in printed && snapshot !== undefined;
  return isTooMuch ? printWhole(recorder, scope, executor, { ...rest, snapshot: undefined }, false) : printed;
}

function noSnapshot(): Failure {
  return {
    code: "suspension_limit",
    message:
      "Cannot suspend the run: it was resumed from a compact token, and its memory has become too large to keep",
  };
}

async function printWhole(
  recorder: LedgerRecorder,
  scope: string,
  executor: string,
  rest: RunAtRest,
  isHollowed: boolean,
): Promise<PrintedRun | Failure> {
  const { suspensionBytes } = recorder.header.limits;
  const { snapshot } = rest;
  const ledger = recorder.toLedger();
  const run: SuspendedRun = {
    ...toWaitState(recorder, executor, rest),
    scope,
    ledger: isHollowed ? hollowed(ledger) : ledger,
    ...(snapshot === undefined ? {} : { snapshot: snapshot.bytes }),
  };
  // A run that is far too large is not even printed.
  const least = isHollowed ? 0 : Math.ceil(recorder.size * PRINTED_PART);
  const sealable = least > suspensionBytes ? undefined : await tryPrint(run, suspensionBytes);
  const bytes = sealable === undefined ? Math.max(least, suspensionBytes + 1) : sizeOf(sealable);
  if (sealable !== undefined && bytes <= suspensionBytes) {
    return { ...sealable, id: run.id, expiresAt: run.expiresAt };
  }
  return {
    code: "suspension_limit",
    message: `Cannot suspend the run: it takes ${bytes} bytes or more, at most ${suspensionBytes} are allowed`,
  };
}

/** The ledger without the outputs that the program got: the snapshot has what the program kept of them. */
function hollowed(ledger: Ledger): Ledger {
  const deliveries = ledger.deliveries.map(({ clock, items }) => ({
    clock,
    items: items.map((item) =>
      item.kind === "output" ? { kind: item.kind, call: item.call, output: "null" } : item,
    ),
  }));
  return { ...ledger, deliveries, hollow: true };
}

/** Undefined if the run has more bytes than allowed, or than a buffer can have. Printing stops at that point. */
async function tryPrint(run: SuspendedRun, mostBytes: number): Promise<Sealable | undefined> {
  try {
    return await inTurns(sealableSteps(run, mostBytes));
  } catch {
    return undefined;
  }
}

/** The run can be resumed for as long as its limits say. */
export function toWaitState(
  recorder: LedgerRecorder,
  executor: string,
  { pending, timers, executing, resolutions }: RunAtRest,
): WaitState {
  return {
    id: randomUUID(),
    expiresAt: Date.now() + recorder.header.limits.suspensionTimeMs,
    seen: recorder.seen,
    timers,
    pending: [...pending].map(toPendingAtRest),
    executing: [...executing].map(([call, left]) => [call, left ?? executor]),
    resolutions,
  };
}
