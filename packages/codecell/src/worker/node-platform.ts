/**
 * What Node.js gives the worker: native comparison, zstd, deflate, SHA-256, all at once.
 *
 * - Loading what compresses and digests takes as long as many runs do, so it waits for the first snapshot; most workers
 *   see none.
 * - The thread is not ended while zlib's objects are made: that would abort the process.
 */
import { inFragileMoment } from "../protocol/fragile.ts";
import type { EqualRanges, WorkerPlatform } from "./platform.ts";

/** More gains a few percent of size for several times the time. */
const ZSTD_LEVEL = 3;
const DEFLATE_LEVEL = 1;

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

/**
 * V8 14.6 (Node 26) counts a memory by what it was created with, not by what it grew to, so it saw no reason to collect
 * gigabytes of dropped ones; V8 14.1 (Node 25) did.
 */
const [major = 0, minor = 0] = process.versions.v8.split(".").map(Number);
const isGrowthUncounted = major > 14 || (major === 14 && minor > 1);

/** Larger than what any allocator keeps for the next one: such a buffer is an address range that nobody touches. */
const WEIGHT_BYTES = 64 * 1024 * 1024;
let owedBytes = 0;

/**
 * Buffers are counted, so some are made and dropped at once, as large together as the memories that were dropped. Twice as
 * large, since V8 goes on for a while before it has collected.
 */
function weigh(bytes: number): void {
  for (owedBytes += 2 * bytes; owedBytes >= WEIGHT_BYTES; owedBytes -= WEIGHT_BYTES) {
    void new ArrayBuffer(WEIGHT_BYTES);
  }
}

/** Newer than Node 22. */
function threadTimeMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Takes the status board of its worker. */
export function createNodePlatform(status: Int32Array): WorkerPlatform {
  return {
    equal,
    compressions: ["zstd", "deflate"],
    compress: (bytes, method) => {
      const { constants, deflateRawSync, zstdCompressSync } = process.getBuiltinModule("node:zlib");
      if (method === "deflate") {
        return inFragileMoment(status, () => deflateRawSync(bytes, { level: DEFLATE_LEVEL }));
      }
      const params = { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL };
      return inFragileMoment(status, () => zstdCompressSync(bytes, { params }));
    },
    decompress: (bytes, method, maxBytes) => {
      try {
        const zlib = process.getBuiltinModule("node:zlib");
        const maxOutputLength = Math.max(1, maxBytes);
        const unpack = method === "deflate" ? zlib.inflateRawSync : zlib.zstdDecompressSync;
        return inFragileMoment(status, () => unpack(bytes, { maxOutputLength }));
      } catch {
        return undefined;
      }
    },
    digest: (parts) => {
      const hash = process.getBuiltinModule("node:crypto").createHash("sha256");
      for (const part of parts) hash.update(part);
      return hash.digest();
    },
    threadTimeMs: typeof process.threadCpuUsage === "function" ? threadTimeMs : undefined,
    onMemoryDropped: isGrowthUncounted ? weigh : () => {},
  };
}
