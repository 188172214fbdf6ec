/**
 * Runs on the host. Trajectory is what a host may keep of one agent run: each exec and wait word for word, and a record
 * per nested call.
 *
 * - A trajectory is data for the host. Nothing in it is a message to a provider.
 * - An entry's texts are what the model wrote and was given, byte for byte, or they are left out and counted: a changed
 *   text could not be replayed.
 * - A call belongs to the exec that started its program, whenever the call ends. A call ends once.
 * - A trajectory is bounded. When it grows too large, it first shortens the oldest results, then inputs, then leaves
 *   out texts of entries. At last it drops the oldest ended records and only counts them.
 * - It makes room in turns, because a large record may need the room of many. An export waits for that.
 * - Every record that leaves goes through the host's `redact`. If `redact` fails, the values stay here.
 * - Programs choose the values, and thousands of them take seconds to build. So an export is made in turns, of the
 *   records as they were when it began.
 */
import type { Json } from "../../contract/value.ts";
import { inTurns, isTurnLong, nextTurn, type Steps } from "../../loop/turn.ts";
import { exportCall, exportEntry, type Redact } from "./redact-record.ts";
import {
  type CallEnd,
  type CallRecord,
  type CallStart,
  type EntryRecord,
  KeptCall,
  KeptEntry,
  SHORT_BYTES,
} from "./trajectory-record.ts";

export interface TrajectoryOptions {
  /** Bytes of the export as JSON text, before redaction. Each field or item of a value counts as 24 at least. */
  readonly maxBytes?: number;
  /** Bytes of one input or result of a call. */
  readonly maxValueBytes?: number;
  /** How many calls and entries are kept. Beyond that, they are only counted. */
  readonly maxRecords?: number;
  readonly redact?: Redact;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** Plain JSON. Records are in the order they started. */
export interface TrajectoryExport {
  readonly version: 1;
  readonly entries: readonly EntryRecord[];
  readonly calls: readonly CallRecord[];
  /** How many records there were in all. */
  readonly counts: { readonly entries: number; readonly calls: number };
  /** How many records had to make room. */
  readonly omitted: { readonly entries: number; readonly calls: number };
}

const DEFAULTS = { maxBytes: 8 * 1024 * 1024, maxValueBytes: 16 * 1024, maxRecords: 10_000 };
/** More than an export has beside its records. */
const FIXED_BYTES = 256;
/** Bytes that are exported at once. Even the slowest values of this size take only some milliseconds. */
const SMALL_BYTES = 32 * 1024;

type KeptRecord = KeptEntry | KeptCall;

export class Trajectory {
  readonly #maxBytes: number;
  readonly #maxValueBytes: number;
  readonly #maxRecords: number;
  readonly #redact: Redact | undefined;
  readonly #now: () => number;
  /** By index, oldest first. */
  readonly #entries = new Map<number, KeptEntry>();
  readonly #calls = new Map<number, KeptCall>();
  readonly #byCallId = new Map<string, KeptCall>();
  readonly #counts = { entries: 0, calls: 0 };
  readonly #omitted = { entries: 0, calls: 0 };
  /** All records before these indexes have made room. */
  readonly #shortened = { results: 0, inputs: 0, texts: 0 };
  #bytes = FIXED_BYTES;
  #isMakingRoom = false;
  #roomMade: Promise<void> = Promise.resolve();

  constructor({ maxBytes, maxValueBytes, maxRecords, redact, now }: TrajectoryOptions = {}) {
    this.#maxBytes = maxBytes ?? DEFAULTS.maxBytes;
    this.#maxValueBytes = Math.max(SHORT_BYTES, maxValueBytes ?? DEFAULTS.maxValueBytes);
    this.#maxRecords = maxRecords ?? DEFAULTS.maxRecords;
    this.#redact = redact;
    this.#now = now ?? Date.now;
  }

  /** Call when the model calls exec or wait. `input` is the arguments as text. Returns the entry's number. */
  begin(name: EntryRecord["name"], toolCallId: string, input: string): number {
    const index = this.#counts.entries++;
    const entry = new KeptEntry({ toolCallId, name, index, startedAt: this.#time() }, input);
    this.#entries.set(index, entry);
    this.#bytes += entry.bytes;
    this.#fit();
    return index;
  }

  /** `result` is exactly the text that the model is given. */
  end(entry: number, status: Exclude<EntryRecord["status"], "running">, result: string): void {
    const open = this.#entries.get(entry);
    if (open?.isOpen !== true) return;
    this.#change(open, () => open.end(status, this.#time(), result));
    this.#fit();
  }

  /** Does not start a call again that is known already. */
  startCall(start: CallStart): void {
    if (this.#byCallId.has(start.callId)) return;
    const index = this.#counts.calls++;
    const call = new KeptCall(start, { index, startedAt: this.#time() }, this.#maxValueBytes);
    this.#calls.set(index, call);
    this.#byCallId.set(start.callId, call);
    this.#bytes += call.bytes;
    this.#fit();
  }

  /** The call waits for a decision. */
  holdCall(callId: string): void {
    const call = this.#byCallId.get(callId);
    if (call?.isOpen === true) call.hold();
  }

  /** The call's tool is called, perhaps after the call waited. */
  executeCall(callId: string): void {
    const call = this.#byCallId.get(callId);
    if (call?.isOpen === true) call.execute();
  }

  /** A hook gave the call another input. `inputBytes` is the size of its text, if known. */
  rewriteCall(callId: string, input: Json, inputBytes?: number): void {
    const call = this.#byCallId.get(callId);
    if (call?.isOpen !== true) return;
    // The input of an early call has made room already.
    const maxBytes = call.index < this.#shortened.inputs ? SHORT_BYTES : this.#maxValueBytes;
    this.#change(call, () => call.rewrite(input, maxBytes, inputBytes));
    this.#fit();
  }

  endCall(callId: string, end: CallEnd): void {
    const call = this.#byCallId.get(callId);
    if (call?.isOpen !== true) return;
    // A late result of an early call counts as old too.
    const maxBytes = call.index < this.#shortened.results ? SHORT_BYTES : this.#maxValueBytes;
    this.#change(call, () => call.end(end, this.#time(), maxBytes));
    this.#fit();
  }

  /** Aborts the calls of a program that nobody will hear of any more. Calls that have ended stay as they are. */
  abortCalls(callIds: Iterable<string>): void {
    for (const callId of callIds) this.endCall(callId, { status: "aborted" });
  }

  async export(): Promise<TrajectoryExport> {
    while (this.#isMakingRoom) await this.#roomMade;
    const redact = this.#redact;
    const counts = { ...this.#counts };
    const omitted = { ...this.#omitted };
    const entryRecords = [...this.#entries.values()].map((entry) => entry.toRecord());
    const unbuiltCalls = [...this.#calls.values()].map((call) => call.toUnbuilt());
    // A small trajectory is exported at once.
    const isSmall = this.#bytes <= SMALL_BYTES;
    const entries: EntryRecord[] = [];
    for (const record of entryRecords) {
      if (!isSmall) while (isTurnLong()) await nextTurn();
      entries.push(await exportEntry(record, redact));
    }
    const calls: CallRecord[] = [];
    for (const call of unbuiltCalls) {
      if (!isSmall) while (isTurnLong()) await nextTurn();
      calls.push(await exportCall(call, redact));
    }
    return { version: 1, entries, calls, counts, omitted };
  }

  #time(): string {
    return new Date(this.#now()).toISOString();
  }

  #change(record: KeptRecord, action: () => void): void {
    this.#bytes -= record.bytes;
    action();
    this.#bytes += record.bytes;
  }

  get #isTooMuch(): boolean {
    return this.#bytes > this.#maxBytes;
  }

  get #areTooMany(): boolean {
    return this.#calls.size + this.#entries.size > this.#maxRecords;
  }

  #fit(): void {
    if (this.#isMakingRoom || !(this.#isTooMuch || this.#areTooMany)) return;
    this.#isMakingRoom = true;
    this.#roomMade = inTurns(this.#makeRoom());
  }

  /** Records may come and end between two steps. */
  *#makeRoom(): Steps<void> {
    try {
      while (this.#isTooMuch || this.#areTooMany) {
        if (!(this.#isTooMuch && this.#shortenOldest()) && !this.#countOldest()) break;
        yield;
      }
    } finally {
      this.#isMakingRoom = false;
    }
  }

  /** Shortens the oldest value or text that has not made room. False if all of them have. */
  #shortenOldest(): boolean {
    const shortened = this.#shortened;
    if (shortened.results < this.#counts.calls) {
      const call = this.#calls.get(shortened.results++);
      if (call !== undefined) this.#change(call, () => call.shortenResult());
    } else if (shortened.inputs < this.#counts.calls) {
      const call = this.#calls.get(shortened.inputs++);
      if (call !== undefined) this.#change(call, () => call.shortenInput());
    } else if (shortened.texts < this.#counts.entries) {
      const entry = this.#entries.get(shortened.texts++);
      if (entry !== undefined) this.#change(entry, () => entry.omitTexts());
    } else return false;
    return true;
  }

  /** Drops and counts the oldest ended record, calls before entries. False when all records are open. */
  #countOldest(): boolean {
    for (const [index, call] of this.#calls) {
      if (call.isOpen) continue;
      this.#calls.delete(index);
      this.#byCallId.delete(call.callId);
      this.#bytes -= call.bytes;
      this.#omitted.calls++;
      return true;
    }
    for (const [index, entry] of this.#entries) {
      if (entry.isOpen) continue;
      this.#entries.delete(index);
      this.#bytes -= entry.bytes;
      this.#omitted.entries++;
      return true;
    }
    return false;
  }
}
