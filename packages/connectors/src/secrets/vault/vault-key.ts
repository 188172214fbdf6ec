/**
 * Runs on the host. The key of a vault: in the environment, or in a file that only its owner can read.
 *
 * - A key is made when a vault is first written to. A vault whose key is gone gets no other one.
 */
import { randomBytes } from "node:crypto";
import { createOwnFile, readOwnFile } from "./own-file.ts";
import { VaultError } from "./vault-error.ts";

const VAULT_KEY_VARIABLE = "CODECELL_VAULT_KEY";
const KEY_BYTES = 32;
const MOST_BYTES = 1024;
const WHAT = "the vault's key file";

export interface KeyPlace {
  readonly keyFile: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Undefined if there is none. */
export function readVaultKey({ keyFile, env }: KeyPlace): Buffer | undefined {
  const variable = env[VAULT_KEY_VARIABLE];
  if (variable !== undefined && variable !== "")
    return parseKey(variable, `the variable ${VAULT_KEY_VARIABLE}`);
  const file = readOwnFile(keyFile, WHAT, MOST_BYTES);
  if (file === undefined) return undefined;
  const { mode, uid } = file.stats;
  if (process.platform !== "win32" && (mode & 0o077) !== 0)
    throw new VaultError("KEY", `Cannot use ${WHAT}: others can read it, give it the mode 600`);
  const own = process.getuid?.();
  if (own !== undefined && uid !== own && uid !== 0)
    throw new VaultError("KEY", `Cannot use ${WHAT}: it belongs to another user`);
  return parseKey(file.bytes.toString("latin1"), WHAT);
}

/** The key that is there, or a new one. */
export function makeVaultKey(place: KeyPlace): Buffer {
  const key = randomBytes(KEY_BYTES);
  if (createOwnFile(place.keyFile, WHAT, Buffer.from(`${key.toString("base64url")}\n`))) return key;
  const other = readVaultKey(place);
  if (other === undefined) throw new VaultError("KEY", `Cannot use ${WHAT}: it went away`);
  return other;
}

/** 32 bytes in base64 or hexadecimal. */
function parseKey(text: string, where: string): Buffer {
  const trimmed = text.trim();
  const isHex = /^[0-9a-f]{64}$/iu.test(trimmed);
  const isBase64 = /^[A-Za-z0-9+/_-]{43}=?$/u.test(trimmed);
  if (!isHex && !isBase64)
    throw new VaultError("KEY", `Cannot use ${where}: a key has 32 bytes, in base64 or in hexadecimal`);
  return Buffer.from(trimmed, isHex ? "hex" : "base64");
}
