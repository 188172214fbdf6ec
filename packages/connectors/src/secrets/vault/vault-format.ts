/**
 * Runs on the host. What the file of a vault is: a header, the sealed contents, and a checksum.
 *
 * - All is sealed with AES-256-GCM, under a key of its own for each writing; the header is authenticated with it.
 * - The checksum tells damage from a wrong key. Names and grants are sealed as values are.
 */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import { VaultError } from "./vault-error.ts";

export interface VaultSecret {
  readonly value: string;
  /** The ids of connectors that may have it. */
  readonly grants: readonly string[];
}

export type VaultContents = ReadonlyMap<string, VaultSecret>;

export const MOST_VAULT_BYTES: number = 8 * 1024 * 1024;

const MAGIC = Buffer.from("CODECELL-VAULT");
const VERSION = 1;
const SALT_BYTES = 32;
const CHECK_BYTES = 16;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const SUM_BYTES = 32;
const GENERATION_AT = MAGIC.length + 2;
const SALT_AT = GENERATION_AT + 8;
const CHECK_AT = SALT_AT + SALT_BYTES;
const IV_AT = CHECK_AT + CHECK_BYTES;
const HEADER_BYTES = IV_AT + IV_BYTES;

export function sealVault(contents: VaultContents, key: Uint8Array, generation: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(header);
  header[MAGIC.length] = VERSION;
  header.writeBigUInt64BE(BigInt(generation), GENERATION_AT);
  const salt = randomBytes(SALT_BYTES);
  salt.copy(header, SALT_AT);
  const { encryption, check } = keysOf(key, salt);
  check.copy(header, CHECK_AT);
  randomBytes(IV_BYTES).copy(header, IV_AT);
  const cipher = createCipheriv("aes-256-gcm", encryption, header.subarray(IV_AT));
  cipher.setAAD(header);
  const text = JSON.stringify(Object.fromEntries(contents));
  const sealed = Buffer.concat([header, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
  const whole = Buffer.concat([sealed, createHash("sha256").update(sealed).digest()]);
  if (whole.length > MOST_VAULT_BYTES)
    throw new VaultError("INVALID", `Cannot write the vault: all secrets may have ${MOST_VAULT_BYTES} bytes`);
  return whole;
}

export function openVaultFile(bytes: Buffer, key: Uint8Array): Map<string, VaultSecret> {
  assertWhole(bytes);
  const header = bytes.subarray(0, HEADER_BYTES);
  const { encryption, check } = keysOf(key, header.subarray(SALT_AT, CHECK_AT));
  if (!timingSafeEqual(check, header.subarray(CHECK_AT, IV_AT)))
    throw new VaultError("KEY", "Cannot open the vault: it was sealed with another key");
  const tagAt = bytes.length - SUM_BYTES - TAG_BYTES;
  const decipher = createDecipheriv("aes-256-gcm", encryption, header.subarray(IV_AT), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(header);
  decipher.setAuthTag(bytes.subarray(tagAt, tagAt + TAG_BYTES));
  try {
    const text =
      decipher.update(bytes.subarray(HEADER_BYTES, tagAt), undefined, "utf8") + decipher.final("utf8");
    return new Map(Object.entries(JSON.parse(text) as Record<string, VaultSecret>));
  } catch {
    // The cause could have a part of the contents.
    throw new VaultError("DAMAGED", "Cannot open the vault: it was altered, restore it from a copy");
  }
}

/** How often the vault was written. */
export function generationOf(bytes: Buffer): number {
  assertWhole(bytes);
  return Number(bytes.readBigUInt64BE(GENERATION_AT));
}

function assertWhole(bytes: Buffer): void {
  const least = HEADER_BYTES + TAG_BYTES + SUM_BYTES;
  if (bytes.length < MAGIC.length || !bytes.subarray(0, MAGIC.length).equals(MAGIC))
    throw new VaultError("DAMAGED", "Cannot open the vault: the file is no vault");
  const version = bytes[MAGIC.length];
  if (version === undefined) throw damaged();
  if (version !== VERSION)
    throw new VaultError(
      "DAMAGED",
      `Cannot open the vault: its format is ${version}, this version of Codecell reads ${VERSION}`,
    );
  const sum = createHash("sha256").update(bytes.subarray(0, -SUM_BYTES)).digest();
  if (bytes.length < least || !sum.equals(bytes.subarray(-SUM_BYTES))) throw damaged();
}

function damaged(): VaultError {
  return new VaultError("DAMAGED", "Cannot open the vault: the file is damaged, restore it from a copy");
}

function keysOf(key: Uint8Array, salt: Uint8Array): { readonly encryption: Buffer; readonly check: Buffer } {
  const derived = Buffer.from(hkdfSync("sha256", key, salt, "codecell vault 1", 32 + CHECK_BYTES));
  return { encryption: derived.subarray(0, 32), check: derived.subarray(32) };
}
