/**
 * Runs in a worker thread. A snapshot is a waiting cell as bytes, from which another worker or process of the same
 * build can go on.
 *
 * - It holds the granules of the cell's memory that differ from the image, as differences to it, and what the worker
 *   knows of the cell. The same state gives the same bytes.
 * - It begins with a digest of the engine, the image, this format and what the run was started with. A snapshot with
 *   another digest does not fit.
 * - It says how it is compressed. A reader accepts the methods that its platform has, and refuses the rest.
 * - Reading is strict: if any part does not fit, the reader gives undefined before a vm has seen any of it. Nobody
 *   checks, or can check, that the memory means no harm: whoever stores snapshots authenticates them, and the vm
 *   contains the rest.
 */
import { isArrayOf, isCount, isDuration, isRecord } from "../value/shape.ts";
import { type CellFailure, isCellFailure, isProgress, MAX_SNAPSHOT_BYTES } from "../protocol/messages.ts";
import type { Progress } from "../contract/ledger.ts";
import { PARTS_DIGEST } from "../guest/prelude.generated.ts";
import { GRANULE_BYTES, GRANULE_WORDS, type Image, type ParkedMemory } from "./image.ts";
import type { Compression } from "../contract/compression.ts";
import { type Eventual, whenThere, type WorkerPlatform } from "./platform.ts";

/** What the worker knows of a waiting cell besides its memory. */
export interface CellState {
  readonly progress: Progress;
  readonly settledCalls: number;
  /** Timers that are set. */
  readonly timers: readonly number[];
  readonly clock: number;
  readonly cpuTimeMs: number;
  readonly logBytes: number;
  readonly logsDropped: number;
  /** The result as JSON text, if the program has returned. */
  readonly returned: string | null;
  readonly unhandled: CellFailure | null;
}

export interface Snapshot {
  readonly state: CellState;
  readonly memory: ParkedMemory;
}

/** Change this with the layout below, and whenever a cell's state gets another meaning. */
const FORMAT = "codecell snapshot 2";
const DIGEST_BYTES = 32;
const METHOD_AT = DIGEST_BYTES + 4;
/** Digest, length of the body, method of compression. */
const HEAD_BYTES = METHOD_AT + 4;
/** A method's number is its index here. */
const METHODS = ["none", "zstd", "deflate"] as const satisfies readonly (Compression | "none")[];
/** Lengths of the state and of the list of runs, pages of memory, number of granules. */
const BODY_HEAD_BYTES = 16;
const PAGE_BYTES = 65_536;
/** Size before compression. Compressing this much takes some 50 ms, in which the worker's other cells wait. */
const MAX_BODY_BYTES = 24 * 1024 * 1024;

/** No run counts this far. From here a count can still grow and stay exact. */
const MOST_COUNT = 2 ** 48;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export class SnapshotCodec {
  readonly #image: Image;
  readonly #platform: WorkerPlatform;
  #build: Uint8Array | undefined;

  constructor(image: Image, platform: WorkerPlatform) {
    this.#image = image;
    this.#platform = platform;
  }

  /**
   * Undefined when the cell is larger than a snapshot may be. `origin` is what the run was started with. When this
   * returns, it has read all of the cell, even if it gives a promise of the snapshot.
   */
  encode(
    snapshot: Snapshot,
    origin: string,
    wanted?: Compression,
  ): Eventual<Uint8Array<ArrayBuffer> | undefined> {
    const body = this.#write(snapshot);
    if (body === undefined) return undefined;
    const [best] = this.#platform.compressions;
    const method = wanted !== undefined && this.#has(wanted) ? wanted : best;
    return whenThere(this.#platform.compress(body, method), (packed) => {
      const [kept, how] =
        packed.length < body.length ? ([packed, method] as const) : ([body, "none"] as const);
      if (HEAD_BYTES + kept.length > MAX_SNAPSHOT_BYTES) return undefined;
      return whenThere(this.#digest(origin), (digest) => {
        // An array with a buffer of its own, so that the worker can transfer it instead of copying it.
        const bytes = new Uint8Array(HEAD_BYTES + kept.length);
        bytes.set(digest);
        const head = new DataView(bytes.buffer);
        head.setUint32(DIGEST_BYTES, body.length, true);
        head.setUint32(METHOD_AT, METHODS.indexOf(how), true);
        bytes.set(kept, HEAD_BYTES);
        return bytes;
      });
    });
  }

  /**
   * Undefined if the bytes are not a snapshot of this build and origin, or if the cell needs more than `memoryBytes`.
   */
  decode(bytes: Uint8Array, origin: string, memoryBytes: number): Eventual<Snapshot | undefined> {
    if (bytes.length < HEAD_BYTES) return undefined;
    return whenThere(this.#digest(origin), (digest) => this.#unpack(bytes, digest, memoryBytes));
  }

  #unpack(bytes: Uint8Array, digest: Uint8Array, memoryBytes: number): Eventual<Snapshot | undefined> {
    if (!digest.every((byte, index) => byte === bytes[index])) return undefined;
    const head = new DataView(bytes.buffer, bytes.byteOffset);
    const length = head.getUint32(DIGEST_BYTES, true);
    if (length < BODY_HEAD_BYTES || length > MAX_BODY_BYTES) return undefined;
    const method = METHODS[head.getUint32(METHOD_AT, true)];
    const packed = bytes.subarray(HEAD_BYTES);
    // Copy: reading changes the bytes.
    if (method === "none") return this.#read(packed.slice(), length, memoryBytes);
    if (method === undefined || !this.#has(method)) return undefined;
    return whenThere(this.#platform.decompress(packed, method, length), (body) =>
      this.#read(body, length, memoryBytes),
    );
  }

  #has(method: Compression): boolean {
    return this.#platform.compressions.includes(method);
  }

  #write({ state, memory }: Snapshot): Uint8Array<ArrayBuffer> | undefined {
    const { granules, words } = memory;
    if (words.byteLength > MAX_BODY_BYTES) return undefined;
    const text = encoder.encode(JSON.stringify(state));
    const runs = encodeRuns(granules);
    const wordsAt = aligned(BODY_HEAD_BYTES + text.length + runs.length);
    const body = new Uint8Array(wordsAt + words.byteLength);
    if (body.length > MAX_BODY_BYTES) return undefined;
    const head = new DataView(body.buffer);
    head.setUint32(0, text.length, true);
    head.setUint32(4, runs.length, true);
    head.setUint32(8, memory.byteLength / PAGE_BYTES, true);
    head.setUint32(12, granules.length, true);
    body.set(text, BODY_HEAD_BYTES);
    body.set(runs, BODY_HEAD_BYTES + text.length);
    const difference = new Int32Array(body.buffer, wordsAt);
    difference.set(words);
    this.#image.xor({ ...memory, words: difference });
    return body;
  }

  #read(unpacked: Uint8Array | undefined, length: number, memoryBytes: number): Snapshot | undefined {
    if (unpacked?.length !== length) return undefined;
    // The body has to be aligned, whatever array it came in.
    const body = unpacked.byteOffset % 4 === 0 ? unpacked : new Uint8Array(unpacked);
    const head = new DataView(body.buffer, body.byteOffset);
    const runsAt = BODY_HEAD_BYTES + head.getUint32(0, true);
    const runsEnd = runsAt + head.getUint32(4, true);
    const byteLength = head.getUint32(8, true) * PAGE_BYTES;
    const count = head.getUint32(12, true);
    const wordsAt = aligned(runsEnd);
    if (wordsAt + count * GRANULE_BYTES !== body.length) return undefined;
    const state = parseState(body.subarray(BODY_HEAD_BYTES, runsAt));
    const granules = decodeRuns(body.subarray(runsAt, runsEnd), count, byteLength / GRANULE_BYTES);
    if (state === undefined || granules === undefined) return undefined;
    const words = new Int32Array(body.buffer, body.byteOffset + wordsAt, count * GRANULE_WORDS);
    const memory = { byteLength, granules, words };
    if (!this.#image.isParked(memory, memoryBytes)) return undefined;
    this.#image.xor(memory);
    return { state, memory };
  }

  #digest(origin: string): Eventual<Uint8Array> {
    return whenThere(this.#buildDigest(), (build) => this.#platform.digest([build, encoder.encode(origin)]));
  }

  /** Computes the digest once. */
  #buildDigest(): Eventual<Uint8Array> {
    if (this.#build !== undefined) return this.#build;
    const taken = this.#platform.digest([
      encoder.encode(`${FORMAT} ${PARTS_DIGEST}`),
      ...this.#image.identity(),
    ]);
    return whenThere(taken, (digest) => (this.#build = digest));
  }
}

/**
 * Writes neighbouring granules as pairs of numbers: how many granules to skip, how many follow. A byte has 7 bits of a
 * number, low bits first.
 */
function encodeRuns(granules: Uint32Array): Uint8Array {
  const bytes: number[] = [];
  let next = 0;
  for (let index = 0; index < granules.length;) {
    const first = granules[index] as number;
    const start = index;
    while (index < granules.length && granules[index] === first + index - start) index++;
    pushNumber(bytes, first - next);
    pushNumber(bytes, index - start);
    next = first + index - start;
  }
  return Uint8Array.from(bytes);
}

function pushNumber(bytes: number[], value: number): void {
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
}

/** Undefined unless the bytes give exactly `count` granules below `end`. */
function decodeRuns(bytes: Uint8Array, count: number, end: number): Uint32Array | undefined {
  const granules = new Uint32Array(count);
  let at = 0;
  let found = 0;
  let next = 0;
  const read = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++];
      // This is far beyond any granule, so numbers stay exact. Bytes that are cut off end here too.
      if (byte === undefined || scale > 2 ** 28) return Infinity;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const first = next + read();
    const length = read();
    // Only the first run may have no skipped granules before it.
    if (length === 0 || (first === next && found > 0) || found + length > count || first + length > end) {
      return undefined;
    }
    for (let index = 0; index < length; index++) granules[found++] = first + index;
    next = first + length;
  }
  return found === count ? granules : undefined;
}

function parseState(bytes: Uint8Array): CellState | undefined {
  let state: unknown;
  try {
    state = JSON.parse(decoder.decode(bytes));
  } catch {
    return undefined;
  }
  return isState(state) ? state : undefined;
}

function isState(value: unknown): value is CellState {
  return (
    isRecord(value) &&
    isProgress(value["progress"]) &&
    Object.values(value["progress"]).every(isRealCount) &&
    ["settledCalls", "logBytes", "logsDropped"].every((name) => isRealCount(value[name])) &&
    (value["settledCalls"] as number) <= value["progress"].calls &&
    isArrayOf(value["timers"], isCount) &&
    new Set(value["timers"] as number[]).size === (value["timers"] as number[]).length &&
    isDuration(value["clock"]) &&
    isDuration(value["cpuTimeMs"]) &&
    (value["returned"] === null || typeof value["returned"] === "string") &&
    (value["unhandled"] === null || isCellFailure(value["unhandled"]))
  );
}

function isRealCount(value: unknown): boolean {
  return isCount(value) && value <= MOST_COUNT;
}

function aligned(offset: number): number {
  return Math.ceil(offset / 4) * 4;
}

export function isSameProgress(one: Progress, other: Progress): boolean {
  return (
    one.deliveries === other.deliveries &&
    one.calls === other.calls &&
    one.timers === other.timers &&
    one.logs === other.logs
  );
}
