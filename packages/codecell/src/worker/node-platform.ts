/**
 * Runs in a worker thread of Node.js. The Node platform gives the worker native comparison, zstd, deflate and SHA-256.
 * None of them answers with a promise.
 *
 * - Loading zlib and crypto takes as long as many runs do, so both load at the first snapshot. Most workers never make
 *   one.
 * - The host does not end the thread while zlib creates its objects: ending it then would abort the process.
 */
import { inFragileMoment } from "../protocol/fragile.ts";
import type { EqualRanges, WorkerPlatform } from "./platform.ts";

/** Higher levels save a few percent of size and take several times as long. */
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

/** Compares whole ranges without a loop in JavaScript. Accepts only views of whole buffers. */
const equal: EqualRanges = (left, leftStart, right, rightStart, length) =>
  asBuffer(left).compare(asBuffer(right), rightStart, rightStart + length, leftStart, leftStart + length) ===
  0;

/**
 * V8 14.6 (Node 26) counts a memory by its initial size, not by the size it grew to, so it saw no reason to collect
 * gigabytes of dropped memories. V8 14.1 (Node 25) did collect them.
 */
const [major = 0, minor = 0] = process.versions.v8.split(".").map(Number);
const isGrowthUncounted = major > 14 || (major === 14 && minor > 1);

/**
 * Larger than what any allocator keeps for the next buffer: a buffer of this size is an address range that nobody
 * touches.
 */
const WEIGHT_BYTES = 64 * 1024 * 1024;
let owedBytes = 0;

/**
 * V8 does count buffers. So this function makes buffers and drops them at once, together twice as large as the dropped
 * memories: twice, because V8 goes on for a while before it has collected.
 */
function weigh(bytes: number): void {
  for (owedBytes += 2 * bytes; owedBytes >= WEIGHT_BYTES; owedBytes -= WEIGHT_BYTES) {
    void new ArrayBuffer(WEIGHT_BYTES);
  }
}

/** Needs a Node.js newer than 22. */
function threadTimeMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** `status` is the status board of the worker. */
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
