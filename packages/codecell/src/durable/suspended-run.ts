/**
 * SuspendedRun: what Codecell keeps of a run that waits, and its bytes. Runs on the host.
 *
 * - Its wait state is what it waits for, beside its ledger: pending calls, timers, resolutions.
 * - A header says whose run it is and when it expires, and names the sections that follow. It is read before anything
 *   else.
 * - Section `run` is JSON. Section `outputs` holds long outputs unescaped, because JSON would escape every quote in
 *   them. Section `snapshot` is binary. Both may be missing. Readers skip unknown sections, which may only make
 *   resuming faster.
 * - A limit bounds the number of these bytes, whether they go into a token or a store.
 * - Bytes are parsed only after their seal was verified, and still checked: several versions of this package share
 *   keys.
 */
import type { CellSnapshot } from "../protocol/messages.ts";
import type { Steps } from "../loop/turn.ts";
import type {
  Asked,
  BeforeAsking,
  Delivery,
  DeliveryItem,
  KeptResolution,
  Ledger,
  TimerChange,
} from "../contract/ledger.ts";
import { LIMIT_BOUNDS, type Limits, resolveLimits } from "../contract/limits.ts";
import type { Json } from "../contract/value.ts";
import { isBefore, isKeptResolution, isLedger, isTimerChange, isWhole } from "../value/ledger-shape.ts";
import { isArrayOf, isCount, isRecord, isText } from "../value/shape.ts";
import { fromJsonBytes, fromJsonPieces, toJsonBytes, toJsonPieces } from "./json-bytes.ts";
import { isSeen, type Past, type Seen } from "../ledger/ledger-recorder.ts";
import type { Sealable } from "../seal/seal.ts";

/**
 * A pending call: its index, what it asked for and, if anything is known of it, how far it had come. A version that
 * does not know the third part refuses the run.
 */
export type PendingAtRest = readonly [number, Json, (BeforeAsking | undefined)?];

export function toPendingAtRest([index, { payload, before }]: readonly [number, Asked]): PendingAtRest {
  return before === undefined ? [index, payload] : [index, payload, before];
}

export function fromPendingAtRest([index, payload, before]: PendingAtRest): [number, Asked] {
  return [index, before === undefined ? { payload } : { payload, before }];
}

/** What a suspended run waits for, beside its ledger. Its size does not depend on the length of the ledger. */
export interface WaitState {
  /** The id of this suspension. A run that is suspended again gets another. */
  readonly id: string;
  readonly expiresAt: number;
  readonly seen: Seen;
  /** Timers that were set, with the time they had left. */
  readonly timers: readonly TimerChange[];
  /** Each pending call. */
  readonly pending: readonly PendingAtRest[];
  /** Calls whose tools went on executing, each with the executor that has it. */
  readonly executing: readonly (readonly [number, string])[];
  /** Resolutions of calls that had no outcome yet. */
  readonly resolutions: readonly (readonly [number, KeptResolution])[];
}

export interface SuspendedRun extends WaitState, Pick<Past, "isRepeated"> {
  /** Whose run it is; empty if it belongs to nobody in particular. */
  readonly scope: string;
  readonly ledger: Ledger;
  /** The memory of the cell; without it the run is rebuilt from its ledger. */
  readonly snapshot?: Uint8Array;
}

/** What a run that nothing moves still waits for. */
export interface RunAtRest {
  /** Calls that wait for a decision, with what was asked. */
  readonly pending: ReadonlyMap<number, Asked>;
  readonly timers: readonly TimerChange[];
  /**
   * Calls whose tools go on executing: in this process (undefined), or with the executor to which they were left
   * before.
   */
  readonly executing: ReadonlyMap<number, string | undefined>;
  /** Stops the calls that this run made itself and that still execute. */
  readonly abort: AbortController;
  /** Resolutions of calls that have no outcome yet. */
  readonly resolutions: readonly (readonly [number, KeptResolution])[];
  /** The memory of its cell, if going on from it is cheaper than repeating the ledger. */
  readonly snapshot: CellSnapshot | undefined;
}

const NOTHING = new Uint8Array();

export interface SuspensionHeader {
  readonly version: 1;
  readonly id: string;
  readonly scope: string;
  readonly expiresAt: number;
  /** Missing in headers of earlier versions. */
  readonly runId?: string;
  /** Names and lengths of the sections, in order. */
  readonly sections: readonly (readonly [string, number])[];
}

/** The bytes of a suspended run. Throws if there would be more than `mostBytes`. */
export function* sealableSteps(run: SuspendedRun, mostBytes: number = Infinity): Steps<Sealable> {
  const { id, scope, expiresAt, ledger, seen, timers, pending, executing, resolutions, snapshot } = run;
  const outputs: Buffer[] = [];
  const deliveries: object[] = [];
  let left = mostBytes;
  for (const delivery of ledger.deliveries) {
    const before = outputs.length;
    deliveries.push(withoutOutputs(delivery, outputs));
    left -= lengthOf(outputs.slice(before));
    if (left < 0) throw new RangeError("The run is larger than it may be");
    yield;
  }
  const repeated = run.isRepeated === true ? { isRepeated: true } : {};
  const state = {
    ledger: { ...ledger, deliveries },
    seen,
    timers,
    pending,
    executing,
    resolutions,
    ...repeated,
  };
  const json = yield* toJsonPieces(state, left);
  const sections: [string, number][] = [["run", lengthOf(json)]];
  if (outputs.length > 0) sections.push(["outputs", lengthOf(outputs)]);
  if (snapshot !== undefined) sections.push(["snapshot", snapshot.length]);
  const header: SuspensionHeader = { version: 1, id, scope, expiresAt, runId: ledger.runId, sections };
  return {
    header: toJsonBytes(header),
    // Joined once: there may be megabytes of outputs, and each copy costs time and memory.
    content: Buffer.concat([...json, ...outputs, snapshot ?? NOTHING]),
  };
}

/** Stands for a long output, whose bytes come next in section `outputs`. */
interface OutputApart {
  readonly kind: "output";
  readonly call: number;
  readonly bytes: number;
}

/** Shorter outputs gain nothing by being apart. */
const APART_FROM = 256;

function withoutOutputs({ clock, items }: Delivery, outputs: Buffer[]): object {
  const kept = items.map((item): DeliveryItem | OutputApart => {
    // Text that is not well-formed would change on its way through UTF-8.
    if (item.kind !== "output" || item.output.length < APART_FROM || !item.output.isWellFormed()) return item;
    const bytes = Buffer.from(item.output, "utf8");
    outputs.push(bytes);
    return { kind: "output", call: item.call, bytes: bytes.length };
  });
  return { clock, items: kept };
}

function lengthOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** Puts the long outputs back. False if section `outputs` does not match the places for them. */
function* putBackOutputs(state: unknown, outputs: Uint8Array): Steps<boolean> {
  const ledger = isRecord(state) ? state["ledger"] : undefined;
  const deliveries = isRecord(ledger) ? ledger["deliveries"] : undefined;
  if (!Array.isArray(deliveries)) return false;
  const texts = Buffer.from(outputs.buffer, outputs.byteOffset, outputs.length);
  let at = 0;
  for (const delivery of deliveries as unknown[]) {
    const items = isRecord(delivery) ? delivery["items"] : undefined;
    if (!Array.isArray(items)) return false;
    for (const [index, item] of (items as unknown[]).entries()) {
      if (!isRecord(item) || item["bytes"] === undefined) continue;
      const { kind, call, bytes } = item;
      if (!isCount(bytes) || at + bytes > texts.length) return false;
      items[index] = { kind, call, output: texts.toString("utf8", at, at + bytes) };
      at += bytes;
    }
    yield;
  }
  return at === texts.length;
}

/** Undefined if this version does not understand the header. */
export function parseHeader(bytes: Uint8Array): SuspensionHeader | undefined {
  const value = fromJsonBytes(bytes);
  return isHeader(value) ? value : undefined;
}

/** Undefined if this version does not understand the content. */
export function* parseSuspendedRun(
  { id, scope, expiresAt, sections }: SuspensionHeader,
  content: Uint8Array,
  piece?: number,
): Steps<SuspendedRun | undefined> {
  const parts = new Map<string, Uint8Array>();
  let at = 0;
  for (const [name, length] of sections) {
    if (parts.has(name)) return undefined;
    parts.set(name, content.subarray(at, at + length));
    at += length;
  }
  const json = parts.get("run");
  if (at !== content.length || json === undefined) return undefined;
  const state = yield* fromJsonPieces(json, piece);
  const isComplete = yield* putBackOutputs(state, parts.get("outputs") ?? NOTHING);
  yield;
  if (!isComplete || !isState(state)) return undefined;
  const { ledger, seen, timers, pending, executing, resolutions, isRepeated } = state;
  const snapshot = parts.get("snapshot");
  return {
    id,
    scope,
    expiresAt,
    ledger: { ...ledger, limits: knownLimits(ledger.limits) },
    seen,
    timers,
    pending,
    executing,
    resolutions,
    ...(isRepeated === undefined ? {} : { isRepeated }),
    ...(snapshot === undefined ? {} : { snapshot }),
  };
}

/** Another version may have other limits: unknown limits are left out, and missing ones get their defaults. */
function knownLimits(given: Limits): Limits {
  return resolveLimits(
    Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(LIMIT_BOUNDS, name))),
  );
}

function isHeader(value: unknown): value is SuspensionHeader {
  return (
    isRecord(value) &&
    value["version"] === 1 &&
    isText(value["id"]) &&
    isText(value["scope"]) &&
    isCount(value["expiresAt"]) &&
    (value["runId"] === undefined || isText(value["runId"])) &&
    isArrayOf(value["sections"], isSection)
  );
}

function isSection(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 && isText(value[0]) && isCount(value[1]);
}

/** Section `run`: all that is not in the header and in no other section. */
function isState(value: unknown): value is Omit<SuspendedRun, "id" | "scope" | "expiresAt" | "snapshot"> {
  if (!isRecord(value)) return false;
  const { ledger, isRepeated } = value;
  if (isRepeated !== undefined && isRepeated !== true) return false;
  return isLedger(ledger) && isWhole(ledger) && ledger.stopped === undefined && isWaiting(value, ledger);
}

/** Whether a run with this ledger can wait in this state. */
export function isWaitState(value: unknown, ledger: Ledger): value is WaitState {
  return isRecord(value) && isText(value["id"]) && isCount(value["expiresAt"]) && isWaiting(value, ledger);
}

function isWaiting(
  { seen, timers, pending, executing, resolutions }: Readonly<Record<string, unknown>>,
  ledger: Ledger,
): boolean {
  return (
    isSeen(seen) &&
    isArrayOf(timers, (one) => isTimerChange(one) && one.delayMs !== null) &&
    isArrayOf(executing, (one) => isExecuting(one, ledger.calls.length)) &&
    isArrayOf(resolutions, (one) => isResolved(one, ledger.calls.length)) &&
    isArrayOf(pending, (one) => isPending(one, ledger.calls.length)) &&
    isUnique(pending.map((one) => (one as readonly unknown[])[0])) &&
    isOpen(pending as WaitState["pending"], ledger.deliveries)
  );
}

/** An index of a call in the ledger, with any payload. */
function isPending(value: unknown, calls: number): boolean {
  if (!Array.isArray(value) || (value.length !== 2 && value.length !== 3)) return false;
  return isIndex(value[0], calls) && isBefore(value[2]);
}

function isExecuting(value: unknown, calls: number): boolean {
  return Array.isArray(value) && value.length === 2 && isIndex(value[0], calls) && isText(value[1]);
}

function isResolved(value: unknown, calls: number): boolean {
  return Array.isArray(value) && value.length === 2 && isIndex(value[0], calls) && isKeptResolution(value[1]);
}

function isIndex(value: unknown, calls: number): boolean {
  return isCount(value) && value < calls;
}

function isUnique(indices: readonly unknown[]): boolean {
  return new Set(indices).size === indices.length;
}

/** No pending call may have an outcome already: it would get a second one. */
function isOpen(pending: WaitState["pending"], deliveries: readonly Delivery[]): boolean {
  const open = new Set(pending.map(([index]) => index));
  return deliveries.every(({ items }) =>
    items.every((item) => item.kind === "timer" || !open.has(item.call)),
  );
}
