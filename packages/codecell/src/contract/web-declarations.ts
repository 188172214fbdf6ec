/**
 * Runs anywhere. Declares, as TypeScript, `fetch` and the globals of the feature `web` for the check.
 *
 * - It declares what the guest's prelude has and nothing else. A test compares it with a real program.
 * - `fetch` gives a Response in programs without the feature `web` too. There the type is known, and the class is no global.
 * - It is apart from the table of features, which the prelude carries.
 */

interface WebSettings {
  readonly web: boolean;
  readonly fetch: boolean;
}

/** Types without a value. */
const TYPES = `
type BodyInit = ReadableStream | Blob | FormData | URLSearchParams | ArrayBufferView | ArrayBufferLike | string;
type HeadersInit = Headers | Iterable<readonly [string, string]> | string[][] | Record<string, string>;
interface StreamPipeOptions { preventClose?: boolean; preventAbort?: boolean; preventCancel?: boolean; signal?: AbortSignal; }
interface QueuingStrategy<Chunk = any> { highWaterMark?: number; size?(chunk: Chunk): number; }
interface Body {
  readonly body: ReadableStream<Uint8Array> | null; readonly bodyUsed: boolean;
  text(): Promise<string>; json(): Promise<any>; bytes(): Promise<Uint8Array<ArrayBuffer>>; arrayBuffer(): Promise<ArrayBuffer>;
  blob(): Promise<Blob>; formData(): Promise<FormData>;
}
interface ResponseInit { status?: number; statusText?: string; headers?: HeadersInit; }
interface RequestInit {
  method?: string; headers?: HeadersInit; body?: BodyInit | null; redirect?: "follow" | "manual" | "error";
  signal?: AbortSignal | null; duplex?: "half"; [option: string]: unknown;
}
interface ReadResult<Chunk> { readonly done: boolean; readonly value: Chunk | any; }
`;

/** The classes, as interfaces that a program without their values can name. */
const INTERFACES = `
interface Blob {
  readonly size: number; readonly type: string; slice(start?: number, end?: number, type?: string): Blob;
  text(): Promise<string>; bytes(): Promise<Uint8Array<ArrayBuffer>>; arrayBuffer(): Promise<ArrayBuffer>;
  stream(): ReadableStream<Uint8Array>;
}
interface File extends Blob { readonly name: string; readonly lastModified: number; }
interface FormData {
  append(name: string, value: unknown, filename?: string): void; delete(name: string): void; get(name: string): string | File | null;
  getAll(name: string): (string | File)[]; has(name: string): boolean; set(name: string, value: unknown, filename?: string): void;
  forEach(callback: (value: string | File, key: string, parent: FormData) => void): void;
  keys(): IterableIterator<string>; values(): IterableIterator<string | File>; entries(): IterableIterator<[string, string | File]>;
  [Symbol.iterator](): IterableIterator<[string, string | File]>;
}
interface Request extends Body {
  readonly method: string; readonly url: string; readonly headers: Headers; readonly signal: AbortSignal; readonly keepalive: boolean;
  readonly destination: string; readonly duplex: "half"; readonly cache: string; readonly credentials: string;
  readonly integrity: string; readonly mode: string; readonly redirect: "follow" | "manual" | "error"; readonly referrer: string;
  readonly referrerPolicy: string; clone(): Request;
}
interface Response extends Body {
  readonly type: string; readonly url: string; readonly redirected: boolean; readonly status: number; readonly ok: boolean;
  readonly statusText: string; readonly headers: Headers; clone(): Response; toJSON(): object;
}
interface ReadableStream<Chunk = any> {
  readonly locked: boolean; cancel(reason?: unknown): Promise<void>; getReader(options?: object): ReadableStreamDefaultReader<Chunk>;
  pipeThrough<Out>(pair: { readonly readable: ReadableStream<Out>; readonly writable: WritableStream<any> }, options?: StreamPipeOptions): ReadableStream<Out>;
  pipeTo(target: WritableStream<any>, options?: StreamPipeOptions): Promise<void>; tee(): [ReadableStream<Chunk>, ReadableStream<Chunk>];
  values(options?: { preventCancel?: boolean }): AsyncIterableIterator<Chunk>; [Symbol.asyncIterator](): AsyncIterableIterator<Chunk>;
}
interface ReadableStreamDefaultController<Chunk = any> {
  readonly desiredSize: number | null; close(): void; enqueue(chunk?: Chunk): void; error(reason?: unknown): void;
}
interface ReadableStreamDefaultReader<Chunk = any> {
  readonly closed: Promise<void>; read(): Promise<ReadResult<Chunk>>; cancel(reason?: unknown): Promise<void>; releaseLock(): void;
}
interface WritableStream<Chunk = any> {
  readonly locked: boolean; abort(reason?: unknown): Promise<void>; close(): Promise<void>; getWriter(): WritableStreamDefaultWriter<Chunk>;
}
interface WritableStreamDefaultController { readonly signal: AbortSignal; error(reason?: unknown): void; }
interface WritableStreamDefaultWriter<Chunk = any> {
  readonly closed: Promise<void>; readonly ready: Promise<void>; readonly desiredSize: number | null;
  write(chunk?: Chunk): Promise<void>; close(): Promise<void>; abort(reason?: unknown): Promise<void>; releaseLock(): void;
}
`;

/** The values of the classes. */
const VALUES = `
declare var Blob: { new (parts?: Iterable<unknown>, options?: { type?: string; endings?: "transparent" | "native" }): Blob; readonly prototype: Blob };
declare var File: { new (parts: Iterable<unknown>, name: string, options?: { type?: string; endings?: "transparent" | "native"; lastModified?: number }): File; readonly prototype: File };
declare var FormData: { new (): FormData; readonly prototype: FormData };
declare var Request: { new (input: string | URL | Request, init?: RequestInit): Request; readonly prototype: Request };
declare var Response: {
  new (body?: BodyInit | null, init?: ResponseInit): Response; readonly prototype: Response;
  error(): Response; json(value: unknown, init?: ResponseInit): Response; redirect(url: string | URL, status?: number): Response;
};
declare var ReadableStream: {
  new <Chunk = any>(source?: { start?(controller: ReadableStreamDefaultController<Chunk>): unknown; pull?(controller: ReadableStreamDefaultController<Chunk>): unknown; cancel?(reason?: unknown): unknown }, strategy?: QueuingStrategy<Chunk>): ReadableStream<Chunk>;
  readonly prototype: ReadableStream; from<Chunk>(values: Iterable<Chunk> | AsyncIterable<Chunk>): ReadableStream<Chunk>;
};
declare var ReadableStreamDefaultController: { readonly prototype: ReadableStreamDefaultController };
declare var ReadableStreamDefaultReader: { new <Chunk>(stream: ReadableStream<Chunk>): ReadableStreamDefaultReader<Chunk>; readonly prototype: ReadableStreamDefaultReader };
declare var WritableStream: {
  new <Chunk = any>(sink?: { start?(controller: WritableStreamDefaultController): unknown; write?(chunk: Chunk, controller: WritableStreamDefaultController): unknown; close?(): unknown; abort?(reason?: unknown): unknown }, strategy?: QueuingStrategy<Chunk>): WritableStream<Chunk>;
  readonly prototype: WritableStream;
};
declare var WritableStreamDefaultController: { readonly prototype: WritableStreamDefaultController };
declare var WritableStreamDefaultWriter: { new <Chunk>(stream: WritableStream<Chunk>): WritableStreamDefaultWriter<Chunk>; readonly prototype: WritableStreamDefaultWriter };
interface TransformStream<In = any, Out = any> { readonly readable: ReadableStream<Out>; readonly writable: WritableStream<In>; }
interface TransformStreamDefaultController<Out = any> { readonly desiredSize: number | null; enqueue(chunk?: Out): void; error(reason?: unknown): void; terminate(): void; }
declare var TransformStream: {
  new <In = any, Out = any>(transformer?: { start?(controller: TransformStreamDefaultController<Out>): unknown; transform?(chunk: In, controller: TransformStreamDefaultController<Out>): unknown; flush?(controller: TransformStreamDefaultController<Out>): unknown; cancel?(reason?: unknown): unknown }, writableStrategy?: QueuingStrategy<In>, readableStrategy?: QueuingStrategy<Out>): TransformStream<In, Out>;
  readonly prototype: TransformStream;
};
declare var TransformStreamDefaultController: { readonly prototype: TransformStreamDefaultController };
declare class ByteLengthQueuingStrategy { constructor(init: { highWaterMark: number }); readonly highWaterMark: number; size(chunk: any): number; }
declare class CountQueuingStrategy { constructor(init: { highWaterMark: number }); readonly highWaterMark: number; size(): number; }
declare class TextEncoderStream { readonly encoding: string; readonly readable: ReadableStream<Uint8Array>; readonly writable: WritableStream<string>; }
declare class TextDecoderStream {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string; readonly fatal: boolean; readonly ignoreBOM: boolean; readonly readable: ReadableStream<string>; readonly writable: WritableStream<any>;
}
`;

const BUFFER = `
type BufferEncoding = "utf8" | "utf-8" | "hex" | "base64" | "base64url" | "latin1" | "binary" | "ascii" | "utf16le" | "utf-16le" | "ucs2" | "ucs-2";
interface Buffer extends Uint8Array<ArrayBuffer> {
  toString(encoding?: BufferEncoding, start?: number, end?: number): string; toJSON(): { type: "Buffer"; data: number[] };
  write(text: string, offset: number, length: number, encoding?: BufferEncoding): number; write(text: string, offset: number, encoding?: BufferEncoding): number;
  write(text: string, encoding?: BufferEncoding): number; equals(other: Uint8Array): boolean;
  compare(other: Uint8Array, targetStart?: number, targetEnd?: number, sourceStart?: number, sourceEnd?: number): -1 | 0 | 1;
  copy(target: Uint8Array, targetStart?: number, sourceStart?: number, sourceEnd?: number): number; slice(start?: number, end?: number): Buffer;
  subarray(start?: number, end?: number): Buffer; indexOf(value: string | number | Uint8Array, byteOffset?: number | BufferEncoding, encoding?: BufferEncoding): number;
  lastIndexOf(value: string | number | Uint8Array, byteOffset?: number | BufferEncoding, encoding?: BufferEncoding): number;
  includes(value: string | number | Uint8Array, byteOffset?: number | BufferEncoding, encoding?: BufferEncoding): boolean;
  fill(value: any, offset?: number | BufferEncoding, end?: number | BufferEncoding, encoding?: BufferEncoding): this;
  swap16(): this; swap32(): this; swap64(): this; ${numberMethods()}
}
declare var Buffer: {
  readonly prototype: Buffer; new (size: number): Buffer; new (memory: ArrayBufferLike, byteOffset?: number, length?: number): Buffer;
  from(text: string, encoding?: BufferEncoding): Buffer; from(memory: ArrayBufferLike, byteOffset?: number, length?: number): Buffer;
  from(values: ArrayLike<number> | ArrayBufferView | { valueOf(): unknown } | { type: "Buffer"; data: number[] }): Buffer;
  of(...bytes: number[]): Buffer; alloc(size: number, fill?: string | number | Uint8Array, encoding?: BufferEncoding): Buffer;
  allocUnsafe(size: number): Buffer; allocUnsafeSlow(size: number): Buffer; concat(list: readonly Uint8Array[], totalLength?: number): Buffer;
  byteLength(value: string | ArrayBufferView | ArrayBufferLike, encoding?: BufferEncoding): number; isBuffer(value: unknown): value is Buffer;
  isEncoding(encoding: unknown): encoding is BufferEncoding; compare(one: Uint8Array, other: Uint8Array): -1 | 0 | 1;
};
`;

/** The methods that read and write numbers. */
function numberMethods(): string {
  const integers = ["8", "16LE", "16BE", "32LE", "32BE"];
  const whole = ["Int", "UInt", "Uint"].flatMap((kind) => integers.map((size) => `${kind}${size}`));
  const bounded = [...whole, "FloatLE", "FloatBE", "DoubleLE", "DoubleBE"];
  const sized = ["Int", "UInt", "Uint"].flatMap((kind) => [`${kind}LE`, `${kind}BE`]);
  const big = ["BigInt64", "BigUInt64", "BigUint64"].flatMap((kind) => [`${kind}LE`, `${kind}BE`]);
  return [
    ...bounded.map(
      (one) => `read${one}(offset?: number): number; write${one}(value: number, offset?: number): number;`,
    ),
    ...sized.map(
      (one) =>
        `read${one}(offset: number, byteLength: number): number; write${one}(value: number, offset: number, byteLength: number): number;`,
    ),
    ...big.map(
      (one) => `read${one}(offset?: number): bigint; write${one}(value: bigint, offset?: number): number;`,
    ),
  ].join(" ");
}

const FETCH = "declare function fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;";

/** The declarations of a program with these features; none if it has neither. */
export function declareWeb({ web, fetch }: WebSettings): string[] {
  if (!web && !fetch) return [];
  return [TYPES, INTERFACES, ...(web ? [VALUES, BUFFER] : []), ...(fetch ? [FETCH] : [])];
}
