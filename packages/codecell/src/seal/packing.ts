/**
 * Packing: how the content of a seal is compressed. On the host.
 *
 * - Content that does not get smaller stays as it is.
 * - Unpacking stops at the length that is expected, whatever the bytes would become.
 */
import { promisify } from "node:util";
import {
  constants,
  deflateRaw,
  deflateRawSync,
  inflateRaw,
  inflateRawSync,
  zstdCompress,
  zstdCompressSync,
  zstdDecompress,
  zstdDecompressSync,
} from "node:zlib";
import type { Compression } from "../contract/compression.ts";

/** Higher levels made ledgers no smaller, and took longer. */
const ZSTD = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
const DEFLATE = { level: 1 };

/** Undefined when it does not get smaller. */
export function pack(content: Uint8Array, method: Compression): Uint8Array | undefined {
  // In one chunk: putting many together takes longer.
  const chunkSize = chunkFor(content.length);
  const packed =
    method === "zstd"
      ? zstdCompressSync(content, { ...ZSTD, chunkSize })
      : deflateRawSync(content, { ...DEFLATE, chunkSize });
  return packed.length < content.length ? packed : undefined;
}

/** The same, by a thread of the process. */
export async function packAside(content: Uint8Array, method: Compression): Promise<Uint8Array | undefined> {
  const chunkSize = chunkFor(content.length);
  const packed =
    method === "zstd"
      ? await promisify(zstdCompress)(content, { ...ZSTD, chunkSize })
      : await promisify(deflateRaw)(content, { ...DEFLATE, chunkSize });
  return packed.length < content.length ? packed : undefined;
}

/** Undefined for what is not exactly so many bytes, packed by this method. */
export function unpack(packed: Uint8Array, method: Compression, length: number): Uint8Array | undefined {
  try {
    const content = (method === "zstd" ? zstdDecompressSync : inflateRawSync)(packed, sizesFor(length));
    return content.length === length ? content : undefined;
  } catch {
    return undefined;
  }
}

/** The same, by a thread of the process. */
export async function unpackAside(
  packed: Uint8Array,
  method: Compression,
  length: number,
): Promise<Uint8Array | undefined> {
  const sizes = sizesFor(length);
  try {
    const content =
      method === "zstd"
        ? await promisify(zstdDecompress)(packed, sizes)
        : await promisify(inflateRaw)(packed, sizes);
    return content.length === length ? content : undefined;
  } catch {
    return undefined;
  }
}

/** One chunk plus one byte: when a chunk is full, zlib makes another of the same size. */
function sizesFor(length: number): { readonly maxOutputLength: number; readonly chunkSize: number } {
  return { maxOutputLength: Math.max(1, length), chunkSize: chunkFor(length + 1) };
}

/** zlib wants at least 64 bytes. */
function chunkFor(length: number): number {
  return Math.max(64, length);
}
