/**
 * StoredBytes: the sealed bytes that a store holds of a run: state, journal, snapshot, outcomes of calls. Runs on the
 * host.
 *
 * - Every seal is bound to its run and its place, and verified before a byte behind it is interpreted.
 * - Entries and snapshots are also bound to the state that they follow: after another state they do not open.
 * - Outcomes carry the time at which they came, because a store does not keep their order.
 */
import type { CellSnapshot } from "../protocol/messages.ts";
import { inTurns } from "../loop/turn.ts";
import type { Failure } from "../contract/failure.ts";
import type { CallOutcome } from "../contract/ledger.ts";
import { LIMIT_BOUNDS } from "../contract/limits.ts";
import type { StoredRun } from "../contract/store.ts";
import { foldJournal } from "./fold-journal.ts";
import { type JournalEntry, parseJournalEntries, parseOutcome, parseProgress } from "./journal-entry.ts";
import { isRecord } from "../value/shape.ts";
import { fromJsonBytes, toJsonBytes, toJsonPieces } from "./json-bytes.ts";
import { type Sealable, sizeOf } from "../seal/seal.ts";
import type { RecoverableRun } from "./recovery.ts";
import { parseHeader, parseSuspendedRun, type SuspendedRun } from "./suspended-run.ts";
import { type Vault, versionFailure } from "../seal/vault.ts";

/** The most bytes that one seal may decompress to. */
const MAX_BYTES = LIMIT_BOUNDS.suspensionBytes.max;
/** Decompressing a smaller entry takes as long as reading it, and a long journal has hundreds of entries. */
const COMPRESS_ENTRIES_FROM_BYTES = 16_384;
const NOTHING = new Uint8Array();

/** The journal of a stored run, as far as it is written. */
export interface WrittenJournal {
  readonly bytes: JournalBytes;
  /** How many places of the journal are taken already. */
  readonly length: number;
  /** Bytes of the state and the entries, decompressed. */
  readonly size: number;
  /**
   * Whether the journal may stay when the run is given back. It may not if the next process might be unable to open its
   * seals.
   */
  readonly mayStay: boolean;
}

interface Unpacked extends Sealable {
  readonly isCurrent: boolean;
}

/** Sealed bytes, and how many bytes they had before sealing. */
export interface SealedEntries {
  readonly bytes: Uint8Array;
  readonly size: number;
}

/** How a call ended or what it asked, and when: milliseconds since the epoch. */
interface Posted {
  readonly outcome: CallOutcome;
  readonly at: number;
}

export class StoredBytes {
  readonly #vault: Vault;

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  /** Seals the state of a run that has just begun. */
  sealFirst(runId: string, sealable: Sealable): Uint8Array {
    return this.#vault.sealer.sealBytes(sealable, stateOf(runId));
  }

  async sealState(runId: string, sealable: Sealable): Promise<Uint8Array> {
    return this.#vault.sealer.sealInTurns(sealable, stateOf(runId));
  }

  /** For the entries and snapshots that follow the state with this id. */
  following(runId: string, epoch: string): JournalBytes {
    return new JournalBytes(this.#vault, runId, epoch);
  }

  async sealOutcome(runId: string, outcome: CallOutcome): Promise<Uint8Array> {
    // A store does not keep the order in which outcomes came.
    const header = toJsonBytes({ at: performance.timeOrigin + performance.now() });
    const sealable = { header, content: Buffer.concat(await inTurns(toJsonPieces(outcome))) };
    return this.#vault.sealer.sealInTurns(sealable, outcomeOf(runId, outcome.call));
  }

  /** Works in turns: a run may have written much, and all of it is read. */
  async open({
    id,
    state: sealed,
    journal,
    snapshot,
    outcomes: posted,
  }: StoredRun): Promise<(RecoverableRun & { readonly written: WrittenJournal }) | Failure> {
    const state = await this.#openState(id, sealed);
    if ("code" in state) return state;
    // What would be sealed in another way now must not stay: the next process may be unable to open it.
    let { size, isCurrent: mayStay } = state;
    const epoch = state.run.id;
    const { length } = journal;
    const entries: JournalEntry[] = [];
    for (const [place, bytes] of journal.entries()) {
      const unpacked = await this.#unpack(bytes, placeOf(id, epoch, place));
      if ("code" in unpacked) return unpacked;
      const together = await inTurns(parseJournalEntries(unpacked.content));
      if (together === undefined) return versionFailure("stored run");
      for (const entry of together) entries.push(entry);
      size += unpacked.content.length;
      mayStay &&= unpacked.isCurrent;
    }
    const came: Posted[] = [];
    for (const [call, bytes] of posted) {
      const one = await this.#openPosted(id, call, bytes);
      if ("code" in one) return one;
      came.push(one);
    }
    came.sort((one, other) => one.at - other.at);
    const outcomes = new Map(came.map(({ outcome }) => [outcome.call, outcome]));
    const following = this.following(id, epoch);
    const saved = snapshot === undefined ? undefined : await following.openSnapshot(snapshot);
    if (saved !== undefined && "code" in saved) return saved;
    const folded = foldJournal(state.run, entries);
    if (folded === undefined) return versionFailure("stored run");
    return { ...folded, outcomes, saved, written: { bytes: following, length, size, mayStay } };
  }

  async openOutcome(runId: string, call: number, sealed: Uint8Array): Promise<CallOutcome | Failure> {
    const posted = await this.#openPosted(runId, call, sealed);
    return "code" in posted ? posted : posted.outcome;
  }

  async #openPosted(runId: string, call: number, sealed: Uint8Array): Promise<Posted | Failure> {
    const unpacked = await this.#unpack(sealed, outcomeOf(runId, call));
    if ("code" in unpacked) return unpacked;
    const outcome = await inTurns(parseOutcome(unpacked.content));
    if (outcome === undefined) return versionFailure("stored run");
    const header = fromJsonBytes(unpacked.header);
    const at = isRecord(header) ? header["at"] : undefined;
    // Earlier versions did not record when.
    return { outcome, at: typeof at === "number" ? at : 0 };
  }

  async #openState(
    runId: string,
    sealed: Uint8Array,
  ): Promise<{ readonly run: SuspendedRun; readonly size: number; readonly isCurrent: boolean } | Failure> {
    const unpacked = await this.#unpack(sealed, stateOf(runId));
    if ("code" in unpacked) return unpacked;
    const header = parseHeader(unpacked.header);
    const run = header && (await inTurns(parseSuspendedRun(header, unpacked.content)));
    if (run === undefined) return versionFailure("stored run");
    return { run, size: sizeOf(unpacked), isCurrent: unpacked.isCurrent };
  }

  async #unpack(sealed: Uint8Array, purpose: string): Promise<Unpacked | Failure> {
    const opened = await this.#vault.sealer.openInTurns(sealed, purpose, MAX_BYTES);
    if (!opened.ok) return this.#vault.refusal(opened.problem, "stored run");
    const content = await opened.contentAside();
    if (content === undefined) return versionFailure("stored run");
    return { header: opened.header, content, isCurrent: opened.isCurrent };
  }
}

/** The seals of a journal, and of the snapshot beside it. */
export class JournalBytes {
  readonly #vault: Vault;
  readonly #runId: string;
  readonly #epoch: string;

  constructor(vault: Vault, runId: string, epoch: string) {
    this.#vault = vault;
    this.#runId = runId;
    this.#epoch = epoch;
  }

  /** Seals entries that are written together, at one place of the journal. */
  async sealEntries(place: number, entries: readonly JournalEntry[]): Promise<SealedEntries> {
    const content = Buffer.concat(await inTurns(toJsonPieces(entries)));
    const sealable = { header: NOTHING, content };
    const purpose = placeOf(this.#runId, this.#epoch, place);
    const bytes = await this.#vault.sealer.sealInTurns(sealable, purpose, COMPRESS_ENTRIES_FROM_BYTES);
    return { bytes, size: sizeOf(sealable) };
  }

  async sealSnapshot({ bytes, progress }: CellSnapshot): Promise<Uint8Array> {
    const sealable = { header: toJsonBytes(progress), content: bytes };
    return this.#vault.sealer.sealInTurns(sealable, snapshotOf(this.#runId, this.#epoch));
  }

  /** Undefined if this version does not understand the snapshot. */
  async openSnapshot(sealed: Uint8Array): Promise<CellSnapshot | Failure | undefined> {
    const purpose = snapshotOf(this.#runId, this.#epoch);
    const opened = await this.#vault.sealer.openInTurns(sealed, purpose, MAX_BYTES);
    if (!opened.ok) return this.#vault.refusal(opened.problem, "stored run");
    const progress = parseProgress(opened.header);
    const content = progress === undefined ? undefined : await opened.contentAside();
    if (progress === undefined || content === undefined) return undefined;
    // A copy with a buffer of its own: a worker thread takes it over.
    return { bytes: new Uint8Array(content), progress };
  }
}

function stateOf(runId: string): string {
  return `${runId}:state`;
}

function placeOf(runId: string, epoch: string, place: number): string {
  return `${runId}:${epoch}:${place}`;
}

function snapshotOf(runId: string, epoch: string): string {
  return `${runId}:${epoch}:snapshot`;
}

function outcomeOf(runId: string, call: number): string {
  return `${runId}:outcome:${call}`;
}
