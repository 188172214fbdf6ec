/**
 * Runs on the host. Sealer seals bytes that leave the process, and opens them when they come back.
 *
 *   magic 6 | version 1 | flags 1 | key id 8 | [nonce 12] | payload | [tag 16] | mac 32
 *   payload = header length 4 | content length 4 | header | content, compressed where that makes it smaller
 *   flags = 1 compressed by zstd, 4 by deflate, 0 neither | 2 encrypted
 *
 * - The mac covers everything before it. Nothing behind the key id is interpreted before the mac fits. The caller reads
 *   the header and then asks for the content; only then is the content decompressed.
 * - The mac also covers a purpose: what the seal was made for. The purpose is not in the bytes, so what was sealed for
 *   one place does not open in another.
 * - Opening never throws, whatever bytes it gets.
 * - Encryption is AES-256-GCM with a random nonce, inside the same HMAC. GCM alone would do until a nonce repeats:
 *   after 2^32 seals a repetition becomes likely enough to matter, and it would break GCM's authentication. GCM also
 *   does not commit to a key, and several keys may open here. So one HMAC authenticates everything in both cases, for
 *   16 more bytes and a fraction more time.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { type Compression, DEFAULT_COMPRESSION } from "../contract/compression.ts";
import { atOnce, inTurns, type Steps } from "../loop/turn.ts";
import { pack, packAside, unpack, unpackAside } from "./packing.ts";
import type { SealKey, SealKeys } from "./seal-keys.ts";

export interface Sealable {
  /** Small. It can be read without decompressing the content. */
  readonly header: Uint8Array;
  readonly content: Uint8Array;
}

export function sizeOf({ header, content }: Sealable): number {
  return header.length + content.length;
}

/** format: not sealed by us. version: by another version. key: with a key we do not have. altered: everything else. */
export type SealProblem = "format" | "version" | "key" | "altered";

export type Opened =
  | {
      readonly ok: true;
      /** Whether it would be sealed the same way now: with this key, encrypted or not, compressed by this method if at all. */
      readonly isCurrent: boolean;
      readonly header: Uint8Array;
      /** Decompresses. Undefined if the content is larger than allowed. */
      readonly content: () => Uint8Array | undefined;
      /** Like `content`, but Node.js decompresses large content on another thread. */
      readonly contentAside: () => Promise<Uint8Array | undefined>;
    }
  | { readonly ok: false; readonly problem: SealProblem };

/** Six bytes that read as a word in base64url. The word tells people and secret scanners what they see. */
const MAGIC_TEXT = "codecell";
const MAGIC = Buffer.from(MAGIC_TEXT, "base64url");
const VERSION = 1;
const ENCRYPTED = 2;
const METHOD_FLAGS: Readonly<Record<PackedBy, number>> = { none: 0, zstd: 1, deflate: 4 };

const VERSION_AT = MAGIC.length;
const FLAGS_AT = VERSION_AT + 1;
const KEY_ID_AT = FLAGS_AT + 1;
const KEY_ID_BYTES = 8;
const BODY_AT = KEY_ID_AT + KEY_ID_BYTES;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const MAC_BYTES = 32;
const LENGTHS_BYTES = 8;

/** Bytes that are authenticated and encrypted in one step. */
const PIECE_BYTES = 1024 * 1024;
/** Content from this size on is compressed on another thread, before the turn would get long. */
const LARGE_BYTES = 256 * 1024;
/** Compressing less than this is not worth its 15 microseconds. */
const COMPRESS_FROM_BYTES = 1024;

type PackedBy = Compression | "none";

/** Content as it goes into a seal. */
interface Packed {
  readonly bytes: Uint8Array;
  readonly method: PackedBy;
  /** That it had before. */
  readonly length: number;
}

export class Sealer {
  readonly #keys: SealKeys;
  readonly #isEncrypting: boolean;
  /** What it compresses with; it opens what either method compressed. */
  readonly #compression: Compression;

  constructor(keys: SealKeys, isEncrypting: boolean, compression: Compression = DEFAULT_COMPRESSION) {
    this.#keys = keys;
    this.#isEncrypting = isEncrypting;
    this.#compression = compression;
  }

  /** A sealer with the same keys that encrypts what it seals. */
  encrypting(): Sealer {
    return this.#isEncrypting ? this : new Sealer(this.#keys, true, this.#compression);
  }

  /** Content of less than `compressFrom` bytes is not compressed. */
  sealBytes(
    { header, content }: Sealable,
    purpose: string,
    compressFrom: number = COMPRESS_FROM_BYTES,
  ): Buffer {
    const packed = content.length < compressFrom ? undefined : pack(content, this.#compression);
    return atOnce(this.#sealSteps(header, this.#packed(content, packed), purpose));
  }

  /** Like sealBytes, for content that grows with a run: works in pieces, and compresses on another thread. */
  async sealInTurns(
    sealable: Sealable,
    purpose: string,
    compressFrom: number = COMPRESS_FROM_BYTES,
  ): Promise<Buffer> {
    const { header, content } = sealable;
    if (content.length < LARGE_BYTES) return this.sealBytes(sealable, purpose, compressFrom);
    const packed = await packAside(content, this.#compression);
    // Not awaited, so that nothing here holds the content any longer: there may be megabytes of it.
    return inTurns(this.#sealSteps(header, this.#packed(content, packed), purpose));
  }

  #packed(content: Uint8Array, packed: Uint8Array | undefined): Packed {
    const { length } = content;
    return packed === undefined
      ? { bytes: content, method: "none", length }
      : { bytes: packed, method: this.#compression, length };
  }

  *#sealSteps(header: Uint8Array, { bytes, method, length }: Packed, purpose: string): Steps<Buffer> {
    const [key] = this.#keys;
    const flags = METHOD_FLAGS[method] | (this.#isEncrypting ? ENCRYPTED : 0);
    const lengths = Buffer.alloc(LENGTHS_BYTES);
    lengths.writeUInt32BE(header.length, 0);
    lengths.writeUInt32BE(length, 4);
    const payload = [lengths, header, ...piecesOf(bytes)];
    const body = this.#isEncrypting ? yield* encryptSteps(payload, key) : payload;
    const parts = [MAGIC, Buffer.from([VERSION, flags]), key.id, ...body];
    const mac = yield* macSteps(parts, purpose, key);
    return Buffer.concat([...parts, mac]);
  }

  /** Content larger than `maxBytes` is not decompressed. */
  openBytes(bytes: Uint8Array, purpose: string, maxBytes: number): Opened {
    return atOnce(this.#openSteps(bytes, purpose, maxBytes));
  }

  /** Like openBytes, in pieces, for content that grows with a run. */
  async openInTurns(bytes: Uint8Array, purpose: string, maxBytes: number): Promise<Opened> {
    return inTurns(this.#openSteps(bytes, purpose, maxBytes));
  }

  *#openSteps(bytes: Uint8Array, purpose: string, maxBytes: number): Steps<Opened> {
    const sealed = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    if (sealed.length <= VERSION_AT || !sealed.subarray(0, VERSION_AT).equals(MAGIC)) return refuse("format");
    if (sealed[VERSION_AT] !== VERSION) return refuse("version");
    if (sealed.length < BODY_AT + MAC_BYTES) return refuse("altered");
    const key = this.#keyOf(sealed.subarray(KEY_ID_AT, BODY_AT));
    if (key === undefined) return refuse("key");
    const macAt = sealed.length - MAC_BYTES;
    const mac = yield* macSteps(piecesOf(sealed.subarray(0, macAt)), purpose, key);
    if (!timingSafeEqual(mac, sealed.subarray(macAt))) return refuse("altered");
    const flags = sealed[FLAGS_AT] ?? 0;
    const method = methodOf(flags & ~ENCRYPTED);
    // Only a key's owner gets here: what it cannot read was made by a later version.
    if (method === undefined) return refuse("version");
    const body = sealed.subarray(BODY_AT, macAt);
    const payload = (flags & ENCRYPTED) === 0 ? body : yield* decryptSteps(body, key);
    if (payload === undefined || payload.length < LENGTHS_BYTES) return refuse("altered");
    const headerEnd = LENGTHS_BYTES + payload.readUInt32BE(0);
    const length = payload.readUInt32BE(4);
    if (headerEnd > payload.length) return refuse("altered");
    const packed = payload.subarray(headerEnd);
    if (method === "none" && packed.length !== length) return refuse("altered");
    const isEncrypted = (flags & ENCRYPTED) !== 0;
    return {
      ok: true,
      isCurrent:
        key === this.#keys[0] &&
        isEncrypted === this.#isEncrypting &&
        (method === "none" || method === this.#compression),
      header: payload.subarray(LENGTHS_BYTES, headerEnd),
      content: () => {
        if (length > maxBytes) return undefined;
        return method === "none" ? packed : unpack(packed, method, length);
      },
      contentAside: async () => {
        if (length > maxBytes) return undefined;
        if (method === "none") return packed;
        return length < LARGE_BYTES ? unpack(packed, method, length) : unpackAside(packed, method, length);
      },
    };
  }

  /**
   * A method of its own: an arrow function inside #openSteps would share its scope with `content`, and so keep all
   * sealed bytes alive along with `keyId`.
   */
  #keyOf(keyId: Buffer): SealKey | undefined {
    return this.#keys.find(({ id }) => keyId.equals(id));
  }

  sealText(sealable: Sealable, purpose: string): string {
    return this.sealBytes(sealable, purpose).toString("base64url");
  }

  openText(text: string, purpose: string, maxBytes: number): Opened {
    if (!text.startsWith(MAGIC_TEXT)) return refuse("format");
    const bytes = Buffer.from(text, "base64url");
    // Node.js skips characters that are not base64url digits. Only our own spelling of the bytes is accepted.
    if (bytes.toString("base64url") !== text) return refuse("format");
    return this.openBytes(bytes, purpose, maxBytes);
  }
}

/** Undefined for flags that mean no method. */
function methodOf(flags: number): PackedBy | undefined {
  return (["none", "zstd", "deflate"] as const).find((method) => METHOD_FLAGS[method] === flags);
}

function refuse(problem: SealProblem): Opened {
  return { ok: false, problem };
}

/** The mac begins with the purpose's length, then the purpose in UTF-16: in UTF-8 lone surrogates would look alike. */
function* macSteps(parts: readonly Uint8Array[], purpose: string, key: SealKey): Steps<Buffer> {
  const bound = Buffer.from(purpose, "utf16le");
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bound.length);
  const mac = createHmac("sha256", key.mac).update(length).update(bound);
  for (const part of parts) {
    mac.update(part);
    yield;
  }
  return mac.digest();
}

function piecesOf(bytes: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) pieces.push(bytes.subarray(at, at + PIECE_BYTES));
  return pieces;
}

function* encryptSteps(payload: readonly Uint8Array[], key: SealKey): Steps<Uint8Array[]> {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key.encryption, nonce, { authTagLength: TAG_BYTES });
  const encrypted: Uint8Array[] = [];
  for (const part of payload) {
    encrypted.push(cipher.update(part));
    yield;
  }
  return [nonce, ...encrypted, cipher.final(), cipher.getAuthTag()];
}

function* decryptSteps(body: Buffer, key: SealKey): Steps<Buffer | undefined> {
  const tagAt = body.length - TAG_BYTES;
  if (tagAt < NONCE_BYTES) return undefined;
  const nonce = body.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", key.encryption, nonce, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(body.subarray(tagAt));
  try {
    const encrypted = piecesOf(body.subarray(NONCE_BYTES, tagAt));
    const [first, ...others] = encrypted;
    if (first === undefined || others.length === 0) {
      const payload = first === undefined ? Buffer.alloc(0) : decipher.update(first);
      decipher.final();
      return payload;
    }
    // Copies each piece to its place. Joining the pieces at the end would need twice the memory.
    const payload = Buffer.allocUnsafeSlow(tagAt - NONCE_BYTES);
    let at = 0;
    for (const piece of encrypted) {
      at += decipher.update(piece).copy(payload, at);
      yield;
    }
    decipher.final();
    return payload;
  } catch {
    return undefined;
  }
}
