/**
 * Runs on the host. Vault holds a host's sealers and their keys, and explains to whoever resumes a run why a seal was
 * refused.
 */
import { type Compression, DEFAULT_COMPRESSION, isCompression } from "../contract/compression.ts";
import type { Failure } from "../contract/failure.ts";
import type { Store } from "../contract/store.ts";
import { resolveSealKeys, SEAL_KEY_VARIABLE, type SealOptions } from "./seal-keys.ts";
import { Sealer, type SealProblem } from "./seal.ts";
import { warnOnce } from "./warn-once.ts";

export interface VaultOptions extends SealOptions {
  readonly encrypt?: boolean | undefined;
  readonly compression?: Compression | undefined;
}

export class Vault {
  readonly sealer: Sealer;
  /** Seals what must never be readable, even if the host does not ask for encryption. */
  readonly encryptingSealer: Sealer;
  /** Nobody gave a key: no other process can open what this process seals. */
  readonly isRandom: boolean;

  constructor(options: VaultOptions) {
    const { encrypt = false, compression = DEFAULT_COMPRESSION } = options;
    // Another value may be meant as "encrypt": it must not lead to readable bytes.
    if (typeof encrypt !== "boolean") throw new TypeError("Cannot create a host: encrypt must be a boolean");
    if (!isCompression(compression)) {
      throw new TypeError('Cannot create a host: compression must be "zstd" or "deflate"');
    }
    const { keys, isRandom } = resolveSealKeys(options, process.env);
    this.sealer = new Sealer(keys, encrypt, compression);
    this.encryptingSealer = this.sealer.encrypting();
    this.isRandom = isRandom;
  }

  /** Warns if a store keeps sealed runs or notes longer than this process keeps its random key. */
  warnIfLost(store: Pick<Store, "isVolatile">): void {
    if (!this.isRandom || store.isVolatile === true) return;
    warnOnce(
      "CODECELL_SEAL_KEY",
      `A store was given without a key: what it keeps is sealed with a random key, and nobody can open it after this process ends. Set ${SEAL_KEY_VARIABLE} (or sealKey of createHost and createShapeMemory, or setCodeModeContinuationSigningKey of codecell/ai) to the same key in every process, make one with "openssl rand -base64 32"`,
    );
  }

  /** `what` says what was refused. */
  refusal(problem: SealProblem, what: "token" | "stored run", action: "resume" | "read" = "resume"): Failure {
    switch (problem) {
      case "format":
        return {
          code: "token_invalid",
          message:
            what === "token"
              ? `Cannot ${action}: this is not a token of a suspended run`
              : `Cannot ${action}: what the store holds is not a run`,
        };
      case "altered":
        return {
          code: "token_invalid",
          message: `Cannot ${action}: the ${what} was altered or is incomplete${what === "token" ? ", give it back exactly as it was" : ""}`,
        };
      case "version":
        return versionFailure(what, action);
      case "key":
        return {
          code: "token_key",
          message: this.isRandom
            ? `Cannot ${action}: the ${what} was sealed with a key this host does not have. This process was given no key, so it uses a random one and opens only what it sealed itself. Set ${SEAL_KEY_VARIABLE} (or sealKey of createHost) to the same key in every process, and suspend the run again`
            : `Cannot ${action}: the ${what} was sealed with a key this host does not have, add that key after the current one in sealKeys of createHost or in ${SEAL_KEY_VARIABLE}`,
        };
      default:
        return problem satisfies never;
    }
  }
}

export function versionFailure(what: "token" | "stored run", action: "resume" | "read" = "resume"): Failure {
  return {
    code: "token_version",
    message: `Cannot ${action}: the ${what} was made by a version of Codecell that this version cannot read`,
  };
}
