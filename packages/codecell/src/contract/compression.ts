/**
 * Compression: how a suspended run is compressed when it leaves the process, in seals and in snapshots.
 *
 * - What was compressed says with which method, so every reader knows. Node.js reads all methods, a page all but zstd.
 */

/** `deflate` is the raw format, without a header or a checksum: `deflate-raw` of a page's streams. */
export type Compression = "zstd" | "deflate";

/** What a host uses that was not told otherwise: faster and smaller, see docs/decisions/0012-compression.md. */
export const DEFAULT_COMPRESSION: Compression = "zstd";

export function isCompression(value: unknown): value is Compression {
  return value === "zstd" || value === "deflate";
}
