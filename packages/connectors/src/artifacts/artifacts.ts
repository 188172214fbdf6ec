/**
 * Runs on the host. Artifacts: bytes that backends gave, kept for programs that get only a reference to them.
 *
 * - What is kept is bounded, in bytes and in number: the oldest make room. Whoever reads one that made room is told so
 *   by getting nothing.
 * - An id cannot be guessed. Bytes are never changed, and readers get copies.
 */
import { randomUUID } from "node:crypto";
import type { Bytes } from "../contract/connector.ts";

/** What stands for bytes in data. It is JSON. */
export interface Artifact {
  /** `artifact:<id>` */
  readonly uri: string;
  readonly byteLength: number;
  /** In hexadecimal. */
  readonly sha256: string;
  readonly mediaType?: string;
  readonly filename?: string;
}

export interface ArtifactsOptions {
  /** Most bytes of all artifacts together; default 64 MiB. */
  readonly maxBytes?: number;
  /** Most artifacts; default 1000. */
  readonly maxCount?: number;
}

const MAX_BYTES = 64 * 1024 * 1024;
const MAX_COUNT = 1000;
const PREFIX = "artifact:";

export class Artifacts implements Disposable {
  readonly maxBytes: number;
  readonly maxCount: number;
  /** In the order in which they came. */
  readonly #kept = new Map<string, Uint8Array<ArrayBuffer>>();
  #bytes = 0;

  constructor({ maxBytes = MAX_BYTES, maxCount = MAX_COUNT }: ArtifactsOptions = {}) {
    for (const [name, value] of Object.entries({ maxBytes, maxCount })) {
      if (!Number.isSafeInteger(value) || value < 1)
        throw new RangeError(`Cannot keep artifacts: ${name} is ${value}, expected a positive integer`);
    }
    this.maxBytes = maxBytes;
    this.maxCount = maxCount;
  }

  /** Rejects with a RangeError if there could never be room for the bytes. */
  async keep({ bytes, mediaType, filename }: Bytes): Promise<Artifact> {
    const { byteLength } = bytes;
    if (byteLength > this.maxBytes)
      throw new RangeError(`Cannot keep ${byteLength} bytes: artifacts have ${this.maxBytes} bytes together`);
    // The bytes may be a part of a larger buffer, and whoever gave them may write into them.
    const own = new Uint8Array(bytes);
    const digest = await crypto.subtle.digest("SHA-256", own);
    const uri = `${PREFIX}${randomUUID()}`;
    this.#kept.set(uri, own);
    this.#bytes += byteLength;
    for (const [oldest, { byteLength: size }] of this.#kept) {
      if (this.#bytes <= this.maxBytes && this.#kept.size <= this.maxCount) break;
      this.#kept.delete(oldest);
      this.#bytes -= size;
    }
    return {
      uri,
      byteLength,
      sha256: Buffer.from(digest).toString("hex"),
      ...(mediaType === undefined ? {} : { mediaType }),
      ...(filename === undefined ? {} : { filename }),
    };
  }

  /** A part of an artifact, cut at its end; undefined if it is not kept. */
  read(
    uri: string,
    { from = 0, count = Infinity }: { readonly from?: number; readonly count?: number } = {},
  ): Uint8Array | undefined {
    if (!(Number.isSafeInteger(from) && from >= 0) || !(count >= 0))
      throw new RangeError(`Cannot read ${count} bytes from ${from}: expected numbers that are not negative`);
    return this.#kept.get(uri)?.slice(from, from + count);
  }

  [Symbol.dispose](): void {
    this.#kept.clear();
    this.#bytes = 0;
  }
}
