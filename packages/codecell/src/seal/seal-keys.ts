/**
 * Runs on the host. Seal keys: where they come from, and what is derived from them.
 *
 * - Keys come from the options, else from the environment, else one random key is made for this process.
 * - A given key is not kept, only keys derived from it for one use each. Its id is derived too, and reveals nothing
 *   about it.
 */
import { createSecretKey, hkdfSync, type KeyObject, randomBytes } from "node:crypto";

/** Holds one or more keys in base64 or hexadecimal, separated by commas. The first key seals. */
export const SEAL_KEY_VARIABLE = "CODECELL_SEAL_KEY";

export interface SealKey {
  readonly id: Uint8Array;
  readonly mac: KeyObject;
  readonly encryption: KeyObject;
}

/** The first key seals, all keys open. */
export type SealKeys = readonly [SealKey, ...SealKey[]];

export interface SealOptions {
  readonly sealKey?: Uint8Array | undefined;
  readonly sealKeys?: readonly Uint8Array[] | undefined;
}

export interface ResolvedKeys {
  readonly keys: SealKeys;
  /** Nobody gave a key: this process cannot open what other or earlier processes sealed. */
  readonly isRandom: boolean;
}

const MIN_KEY_BYTES = 16;
const HEX = /^(?:[0-9a-f]{2})+$/iu;
const HOW_TO_MAKE_ONE = 'make one with "openssl rand -base64 32"';

let processKey: SealKey | undefined;

export function resolveSealKeys(
  options: SealOptions,
  environment: Readonly<Record<string, string | undefined>>,
): ResolvedKeys {
  const { sealKey, sealKeys } = options;
  if (sealKey !== undefined && sealKeys !== undefined) {
    throw new TypeError(
      "Cannot use sealKey and sealKeys together: put all keys in sealKeys, the one that seals first",
    );
  }
  if (sealKeys !== undefined) {
    if (!Array.isArray(sealKeys)) throw new TypeError("Cannot use sealKeys: expected a list of keys");
    return { keys: deriveAll(sealKeys, (index) => `sealKeys[${index}]`), isRandom: false };
  }
  if (sealKey !== undefined) return { keys: deriveAll([sealKey], () => "sealKey"), isRandom: false };
  const text = environment[SEAL_KEY_VARIABLE];
  if (text !== undefined) {
    const nameOf = (index: number): string => `key ${index + 1} of ${SEAL_KEY_VARIABLE}`;
    const given = text.split(",").map((one, index) => parseKey(one.trim(), nameOf(index)));
    return { keys: deriveAll(given, nameOf), isRandom: false };
  }
  processKey ??= derive(randomBytes(32));
  return { keys: [processKey], isRandom: true };
}

/** Never quotes the text in an error: it is a secret. */
function parseKey(text: string, name: string): Uint8Array {
  if (HEX.test(text)) return Buffer.from(text, "hex");
  const bytes = Buffer.from(text, "base64");
  const digits = text.replace(/={1,2}$/u, "");
  const isBase64 = ["base64", "base64url"].some(
    (encoding) => bytes.toString(encoding as BufferEncoding).replace(/=+$/u, "") === digits,
  );
  if (digits === "" || !isBase64) {
    throw new TypeError(
      `Cannot read ${name}: it is neither base64 nor hexadecimal, ${HOW_TO_MAKE_ONE} or unset the variable`,
    );
  }
  return bytes;
}

function deriveAll(given: readonly unknown[], nameOf: (index: number) => string): SealKeys {
  const [first, ...others] = given.map((key, index) => derive(checked(key, nameOf(index))));
  if (first === undefined) throw new RangeError("Cannot use sealKeys: the list is empty, give at least one");
  return [first, ...others];
}

function checked(key: unknown, name: string): Uint8Array {
  if (!(key instanceof Uint8Array)) {
    throw new TypeError(`Cannot use ${name}: expected a Uint8Array of at least ${MIN_KEY_BYTES} bytes`);
  }
  if (key.length < MIN_KEY_BYTES) {
    throw new RangeError(
      `Cannot use ${name}: it has ${key.length} bytes, at least ${MIN_KEY_BYTES} are needed, ${HOW_TO_MAKE_ONE}`,
    );
  }
  // Somebody forgot to fill the array.
  if (key.every((byte) => byte === 0)) {
    throw new RangeError(`Cannot use ${name}: all its bytes are 0, ${HOW_TO_MAKE_ONE}`);
  }
  return key;
}

function derive(key: Uint8Array): SealKey {
  const use = (name: string, bytes: number): Uint8Array =>
    new Uint8Array(hkdfSync("sha256", key, "codecell seal 1", name, bytes));
  // As key objects: from bytes, Node.js would make an object each time, which takes six times as long as the mac of a
  // small text.
  const secret = (name: string): KeyObject => createSecretKey(use(name, 32));
  return { id: use("id", 8), mac: secret("mac"), encryption: secret("encryption") };
}
