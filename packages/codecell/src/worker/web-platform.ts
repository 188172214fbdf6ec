/**
 * What a page gives the worker: digests of WebCrypto, and deflate of its streams. Both take a promise's time.
 *
 * - Knows nothing of Node.js, and no DOM: a web worker has all of it. WebCrypto is there in secure contexts alone.
 * - There is no shared memory and no zstd, and nobody can tell the processor time of a thread.
 * - Whatever bytes it is given, it unpacks no more than a few megabytes beyond what it is allowed, and keeps none of them.
 */
import { cutEngineModule, withDigest } from "./engine-module.ts";
import { equalRanges } from "./image.ts";
import type { WorkerPlatform } from "./platform.ts";
import { concat } from "./wasm-binary.ts";

/** A stream unpacks at once all it was given, to at most 1032 times as many bytes. */
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

/** The engine of a page, of the bytes it has fetched. Its snapshots fit those of Node.js: the digest is the same. */
export async function compileEngine(wasm: Uint8Array): Promise<WebAssembly.Module> {
  const module = cutEngineModule(wasm);
  return await WebAssembly.compile(withDigest(module, await digest([module])));
}

async function digest(parts: readonly Uint8Array[]): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", concat(parts)));
}

/** What comes out of a stream; undefined when it is more than allowed. Rejects when the stream fails. */
async function passThrough(
  { readable, writable }: CompressionStream | DecompressionStream,
  bytes: Uint8Array,
  maxBytes: number,
): Promise<Uint8Array[] | undefined> {
  const reader = (readable as ReadableStream<Uint8Array>).getReader();
  // Whatever goes wrong with it, the reader is told.
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

/** Each piece waits until all of the one before has been read. */
async function writePieces(writable: WritableStream, bytes: Uint8Array): Promise<void> {
  const writer = writable.getWriter();
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    await writer.write(bytes.subarray(at, at + PIECE_BYTES));
  }
  await writer.close();
}
