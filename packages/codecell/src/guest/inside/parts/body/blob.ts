/**
 * Blob: Blob and File. Runs inside the guest.
 *
 * - The bytes never change and never reach the program itself, so slices and clones share them.
 */
import { dressClass, requireArguments } from "../../expose.ts";
import {
  append,
  at,
  dateNow,
  floor,
  list,
  max,
  min,
  primordial,
  regExpExec,
  stringCharAt,
  stringSlice,
  stringToLowerCase,
  typedArrayBuffer,
  typedArrayByteOffset as offsetOf,
  typedArrayLength,
  typedArraySet,
} from "../../primordials.ts";
import { encodeUtf8, Utf8Decoder } from "../../web/encoding-text.ts";
import { part } from "../../parts.ts";
import { replaceBreaks } from "./line-breaks.ts";
import { copyBytes, isBytes, toBytes, toText, toWellFormedText } from "../../web/webidl.ts";
import type { ReadableState, ReadableStream } from "../streams/main.ts";

const { Number, TypeError, Uint8Array } = primordial;
const CHUNK_BYTES = 65_536;
const NOT_PRINTABLE = /[^ -~]/;

/** Some bytes of a buffer that nobody changes. */
export interface BlobData {
  readonly bytes: Uint8Array;
  readonly type: string;
}

let next: BlobData | undefined;

/** Undefined for what is not a Blob. */
export let blobDataOf: (value: unknown) => BlobData | undefined;

export function makeBlob(bytes: Uint8Array, type: string): Blob {
  next = { bytes, type };
  return new Blob();
}

export class Blob {
  readonly #data: BlobData;

  static {
    blobDataOf = (value) =>
      typeof value === "object" && value !== null && #data in value ? value.#data : undefined;
  }

  constructor(parts: unknown = undefined, options: unknown = undefined) {
    if (next !== undefined) {
      this.#data = next;
      next = undefined;
    } else this.#data = readData(parts, options);
  }

  get size(): number {
    return typedArrayLength(this.#data.bytes);
  }

  get type(): string {
    return this.#data.type;
  }

  slice(start: unknown = undefined, end: unknown = undefined, type: unknown = undefined): Blob {
    const { bytes } = this.#data;
    const size = typedArrayLength(bytes);
    const from = start === undefined ? 0 : toIndex(start, size);
    const to = end === undefined ? size : toIndex(end, size);
    return makeBlob(subBytes(bytes, from, max(to, from)), type === undefined ? "" : toType(type));
  }

  async text(): Promise<string> {
    return decodeUtf8(this.#data.bytes);
  }

  async bytes(): Promise<Uint8Array> {
    return ownCopy(this.#data.bytes);
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return typedArrayBuffer(ownCopy(this.#data.bytes));
  }

  stream(): ReadableStream {
    return part("streams").wrap(streamOf(this.#data.bytes));
  }
}

/** Rounds towards zero and stays within the size, as the standard's [Clamp] and its steps for slices do together. */
function toIndex(value: unknown, size: number): number {
  const given = Number(value);
  if (given !== given) return 0;
  // [Clamp] rounds to the nearest integer, and to the even one of two.
  const low = floor(given);
  const rest = given - low;
  const whole = rest < 0.5 || (rest === 0.5 && low % 2 === 0) ? low : low + 1;
  return whole < 0 ? max(size + whole, 0) : min(whole, size);
}

export function subBytes(bytes: Uint8Array, from: number, to: number): Uint8Array {
  return new Uint8Array(typedArrayBuffer(bytes), offsetOf(bytes) + from, to - from);
}

export function ownCopy(bytes: Uint8Array): Uint8Array {
  return copyBytes({ array: bytes, length: typedArrayLength(bytes) });
}

export function decodeUtf8(bytes: Uint8Array): string {
  const text = new Utf8Decoder(false).decode(bytes, typedArrayLength(bytes), false);
  return withoutMark(text);
}

/** The text without its byte order mark. */
export function withoutMark(text: string): string {
  return stringCharAt(text, 0) === "\uFEFF" ? stringSlice(text, 1) : text;
}

/** A stream of copies of these bytes. */
export function streamOf(bytes: Uint8Array): ReadableState {
  const size = typedArrayLength(bytes);
  let from = 0;
  return part("streams").of(() => {
    if (from >= size) return undefined;
    const to = min(from + CHUNK_BYTES, size);
    const chunk = ownCopy(subBytes(bytes, from, to));
    from = to;
    return chunk;
  });
}

function readData(parts: unknown, options: unknown): BlobData {
  const chunks = list<Uint8Array>();
  const texts = list<unknown>();
  if (parts !== undefined) {
    if ((typeof parts !== "object" || parts === null) && typeof parts !== "function") {
      throw new TypeError("Cannot make a Blob: the parts are not a list, put a single part into [ ]");
    }
    for (const one of parts as Iterable<unknown>) append(texts, toPart(one));
  }
  const { endings, type } = readOptions(options);
  let total = 0;
  for (let i = 0; i < texts.length; i += 1) {
    const one = texts[i];
    const bytes =
      typeof one === "string" ? encodeUtf8(endings ? nativeEndings(one) : one) : (one as Uint8Array);
    append(chunks, bytes);
    total += typedArrayLength(bytes);
  }
  const bytes = new Uint8Array(total);
  let offset = 0;
  for (let i = 0; i < chunks.length; i += 1) {
    typedArraySet(bytes, at(chunks, i), offset);
    offset += typedArrayLength(at(chunks, i));
  }
  return { bytes, type };
}

/** A text, or bytes. Bytes of the program are copied: reading the next part may run code that changes them. */
function toPart(one: unknown): string | Uint8Array {
  const data = blobDataOf(one);
  if (data !== undefined) return data.bytes;
  return isBytes(one) ? copyBytes(toBytes(one)) : toWellFormedText(one);
}

function readOptions(options: unknown): { readonly endings: boolean; readonly type: string } {
  if (options === undefined || options === null) return { endings: false, type: "" };
  if (typeof options !== "object" && typeof options !== "function") {
    throw new TypeError("Cannot make a Blob: the options are not an object");
  }
  const given = options as { readonly endings?: unknown; readonly type?: unknown };
  const { endings } = given;
  const wanted = endings === undefined ? "transparent" : toText(endings);
  if (wanted !== "transparent" && wanted !== "native") {
    throw new TypeError('Cannot make a Blob: endings must be "transparent" or "native"');
  }
  const { type } = given;
  return { endings: wanted === "native", type: type === undefined ? "" : toType(type) };
}

function toType(value: unknown): string {
  const text = toText(value);
  return regExpExec(NOT_PRINTABLE, text) === null ? stringToLowerCase(text) : "";
}

/** All line breaks as line feeds. */
function nativeEndings(text: string): string {
  return replaceBreaks(text, "\n");
}

interface FileData {
  readonly name: string;
  readonly lastModified: number;
}

/** Undefined for what is not a File. */
export let fileDataOf: (value: unknown) => FileData | undefined;
let nextFile: FileData | undefined;

export function makeFile(
  bytes: Uint8Array,
  type: string,
  name: string,
  lastModified: number = dateNow(),
): File {
  next = { bytes, type };
  nextFile = { name, lastModified };
  return new File([], "");
}

export class File extends Blob {
  readonly #file: FileData;

  static {
    fileDataOf = (value) =>
      typeof value === "object" && value !== null && #file in value ? value.#file : undefined;
  }

  constructor(parts: unknown, name: unknown, options: unknown = undefined) {
    requireArguments("make a File", arguments.length, 2);
    if (nextFile === undefined && parts === undefined) {
      throw new TypeError("Cannot make a File: the parts are not a list, put a single part into [ ]");
    }
    super(parts, options);
    if (nextFile !== undefined) {
      this.#file = nextFile;
      nextFile = undefined;
      return;
    }
    const given = options as { readonly lastModified?: unknown } | null | undefined;
    const modified = given?.lastModified;
    this.#file = {
      name: toWellFormedText(name),
      lastModified: modified === undefined ? dateNow() : toInteger(modified),
    };
  }

  get name(): string {
    return this.#file.name;
  }

  get lastModified(): number {
    return this.#file.lastModified;
  }
}

function toInteger(value: unknown): number {
  const given = Number(value);
  if (given !== given || given === Infinity || given === -Infinity) return 0;
  return given < 0 ? -floor(-given) : floor(given);
}

/** For structuredClone: the same bytes in an object of its own. Undefined for what is not a Blob. */
export function cloneBlob(source: object): object | undefined {
  const data = blobDataOf(source);
  if (data === undefined) return undefined;
  const file = fileDataOf(source);
  return file === undefined
    ? makeBlob(data.bytes, data.type)
    : makeFile(data.bytes, data.type, file.name, file.lastModified);
}

dressClass("Blob", Blob);
dressClass("File", File);
