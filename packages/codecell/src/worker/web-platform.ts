/**
 * Runs in a worker thread of a page. WEB_PLATFORM gives the worker the digests of WebCrypto and the deflate streams of
 * the page. Both answer with promises.
 *
 * - This file uses neither Node.js nor the DOM: a web worker has everything it needs. WebCrypto exists only in secure
 *   contexts.
 * - A page gives no shared memory and no zstd, and cannot tell the processor time of a thread.
 * - Whatever bytes come in, `decompress` unpacks at most a few megabytes more than it is allowed, and keeps none of
 *   that excess.
 */
import { cutEngineModule, withDigest } from "./engine-module.ts";
import { equalRanges } from "./image.ts";
import type { WorkerPlatform } from "./platform.ts";
import { concat } from "./wasm-binary.ts";

/** A stream unpacks a whole piece at once, to at most 1032 times as many bytes. */
const PIECE_BYTES = 4096;

export const WEB_PLATFORM: WorkerPlatform = {
  equal: equalRanges,
  compressions: ["deflate"],
  compress: async (bytes) =>
    concat((await passThrough(new CompressionStream("deflate-raw"), bytes, Infinity)) ?? []),
  decompress: async (bytes, _method, maxBytes) => {
    try {
      const unpacked = await passThrough(new DecompressionStream("deflate-raw"), bytes, maxBytes);
      return unpacked && concat(unpacked);
    } catch {
      return undefined;
    }
  },
  digest,
  threadTimeMs: undefined,
  onMemoryDropped: () => {},
};

/**
 * Compiles the engine from the bytes that the page fetched. Node.js computes the same digest, so snapshots fit both.
 */
export async function compileEngine(wasm: Uint8Array): Promise<WebAssembly.Module> {
  const module = cutEngineModule(wasm);
  return await WebAssembly.compile(withDigest(module, await digest([module])));
}

async function digest(parts: readonly Uint8Array[]): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", concat(parts)));
}

/** Everything that comes out of the stream; undefined when that exceeds `maxBytes`. Rejects when the stream fails. */
async function passThrough(
  { readable, writable }: CompressionStream | DecompressionStream,
  bytes: Uint8Array,
  maxBytes: number,
): Promise<Uint8Array[] | undefined> {
  const reader = (readable as ReadableStream<Uint8Array>).getReader();
  // When writing fails, the reader gets the error.
  writePieces(writable, bytes).catch(() => {});
  const pieces: Uint8Array[] = [];
  let left = maxBytes;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return pieces;
    left -= value.length;
    if (left < 0) {
      await reader.cancel();
      return undefined;
    }
    pieces.push(value);
  }
}

/** Writes a piece only after the reader has read all of the piece before. */
async function writePieces(writable: WritableStream, bytes: Uint8Array): Promise<void> {
  const writer = writable.getWriter();
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    await writer.write(bytes.subarray(at, at + PIECE_BYTES));
  }
  await writer.close();
}
