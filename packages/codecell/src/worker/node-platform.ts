/**
 * What Node.js gives the worker: native comparison, zstd, SHA-256.
 *
 * - Loading the latter two takes as long as many runs do, so it waits for the first snapshot; most workers see none.
 */
import type { EqualRanges, WorkerPlatform } from "./platform.ts";

/** More gains a few percent of size for several times the time. */
const LEVEL = 3;

const buffers = new WeakMap<ArrayBufferLike, Buffer>();

function asBuffer(bytes: Uint8Array): Buffer {
  let buffer = buffers.get(bytes.buffer);
  if (buffer === undefined || buffer.length !== bytes.length) {
    buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    buffers.set(bytes.buffer, buffer);
  }
  return buffer;
}

/** Reads whole ranges without a loop in JavaScript. Takes views of whole buffers only. */
const equal: EqualRanges = (left, leftStart, right, rightStart, length) =>
  asBuffer(left).compare(asBuffer(right), rightStart, rightStart + length, leftStart, leftStart + length) ===
  0;

export const nodePlatform: WorkerPlatform = {
  equal,
  compress: (bytes) => {
    const { constants, zstdCompressSync } = process.getBuiltinModule("node:zlib");
    return zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } });
  },
  decompress: (bytes, maxBytes) => {
    try {
      const { zstdDecompressSync } = process.getBuiltinModule("node:zlib");
      return zstdDecompressSync(bytes, { maxOutputLength: Math.max(1, maxBytes) });
    } catch {
      return undefined;
    }
  },
  digest: (parts) => {
    const hash = process.getBuiltinModule("node:crypto").createHash("sha256");
    for (const part of parts) hash.update(part);
    return hash.digest();
  },
};
