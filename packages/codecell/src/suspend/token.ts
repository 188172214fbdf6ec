/**
 * Tokens: suspended runs as sealed, expiring, single-use texts.
 *
 * - Holds the whole run: any process with the key can resume it.
 * - What refuses a token is decided in this order: seal, version, scope, expiry, use. Only then its content is unpacked.
 * - A token is claimed before it is used; a second claim in this process is refused.
 */
import { randomUUID } from "node:crypto";
import type { TimerChange } from "../bridge/protocol.ts";
import type { Failure } from "../contract/failure.ts";
import { LIMIT_BOUNDS } from "../contract/limits.ts";
import type { PendingCall, Suspension } from "../contract/result.ts";
import type { Json } from "../contract/value.ts";
import type { LedgerBook } from "./ledger-book.ts";
import { resolveSealKeys, SEAL_KEY_VARIABLE, type SealOptions } from "./seal-keys.ts";
import { Sealer, type Sealable, type SealProblem } from "./seal.ts";
import { parseHeader, parseSuspendedRun, type SuspendedRun, toSealable } from "./suspended-run.ts";
import { UsedIds } from "./used-ids.ts";

export interface TokenOptions extends SealOptions {
  readonly encrypt?: boolean | undefined;
}

const PURPOSE = "token";
const MAX_BYTES = LIMIT_BOUNDS.suspensionBytes.max;

/** Of the whole process: several hosts may have the same key. */
const used = new UsedIds();

export class Tokens {
  readonly #sealer: Sealer;
  readonly #isRandom: boolean;

  constructor(options: TokenOptions) {
    const { encrypt = false } = options;
    // Whatever else was meant, it must not end as readable tokens.
    if (typeof encrypt !== "boolean") throw new TypeError("Cannot create a host: encrypt must be a boolean");
    const { keys, isRandom } = resolveSealKeys(options, process.env);
    this.#sealer = new Sealer(keys, encrypt);
    this.#isRandom = isRandom;
  }

  issue(
    book: LedgerBook,
    scope: string,
    pending: ReadonlyMap<number, Json>,
    timers: readonly TimerChange[],
    toPendingCall: (index: number, payload: Json) => PendingCall,
  ): Suspension | Failure {
    const ledger = book.toLedger();
    const expiresAt = Date.now() + ledger.limits.suspensionTimeMs;
    const run: SuspendedRun = {
      id: randomUUID(),
      scope,
      expiresAt,
      ledger,
      seen: book.seen,
      timers,
      pending: [...pending],
    };
    const { suspensionBytes } = ledger.limits;
    // The ledger's own size is a lower bound: far too large ones are not even printed.
    const sealable = book.size > suspensionBytes ? undefined : tryPrint(run);
    const bytes = sealable === undefined ? book.size : sealable.header.length + sealable.content.length;
    if (sealable === undefined || bytes > suspensionBytes) {
      return {
        code: "suspension_limit",
        message: `Cannot suspend the run: it takes ${bytes} bytes or more, at most ${suspensionBytes} are allowed`,
      };
    }
    return {
      token: this.#sealer.sealText(sealable, PURPOSE),
      expiresAt,
      pending: run.pending.map(([index, payload]) => toPendingCall(index, payload)),
    };
  }

  /** Takes a token for good, unless the check of what it holds throws. */
  claim(token: string, scope: string, check: (run: SuspendedRun) => void): SuspendedRun | Failure {
    const opened = this.#sealer.openText(token, PURPOSE, MAX_BYTES);
    if (!opened.ok) return this.#refusal(opened.problem);
    const header = parseHeader(opened.header);
    if (header === undefined) return versionFailure();
    if (header.scope !== scope) {
      return {
        code: "token_scope",
        message: "Cannot resume: the run was suspended under another scope than it is resumed under",
      };
    }
    const now = Date.now();
    if (now > header.expiresAt) {
      return { code: "token_expired", message: "Cannot resume: the token has expired" };
    }
    if (used.has(header.id)) {
      return { code: "token_used", message: "Cannot resume: the token was used before, its run has gone on" };
    }
    const content = opened.content();
    const run = content === undefined ? undefined : parseSuspendedRun(header, content);
    if (run === undefined) return versionFailure();
    check(run);
    used.add(header.id, header.expiresAt, now);
    return run;
  }

  #refusal(problem: SealProblem): Failure {
    switch (problem) {
      case "format":
        return { code: "token_invalid", message: "Cannot resume: this is no token of a suspended run" };
      case "altered":
        return {
          code: "token_invalid",
          message: "Cannot resume: the token was altered or is incomplete, give it back exactly as it was",
        };
      case "version":
        return versionFailure();
      case "key":
        return {
          code: "token_key",
          message: this.#isRandom
            ? `Cannot resume: the token was sealed with a key this host does not have; nobody gave this process a key, so it made one at random, and opens only tokens it sealed itself. Set ${SEAL_KEY_VARIABLE} (or sealKey of createHost) to the same key in every process, then suspend anew`
            : `Cannot resume: the token was sealed with a key this host does not have, add that key behind the present one in sealKeys of createHost or in ${SEAL_KEY_VARIABLE}`,
        };
      default:
        return problem satisfies never;
    }
  }
}

function versionFailure(): Failure {
  return {
    code: "token_version",
    message: "Cannot resume: the token was made by a version of Codecell that this one does not understand",
  };
}

/** Undefined when the text would be longer than texts can be. */
function tryPrint(run: SuspendedRun): Sealable | undefined {
  try {
    return toSealable(run);
  } catch {
    return undefined;
  }
}
