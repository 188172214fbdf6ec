/**
 * Tokens: suspended runs as sealed, expiring, single-use texts.
 *
 * - Holds the whole run: any process with the key can resume it.
 * - What refuses a token is decided in this order: seal, version, scope, expiry, use. Only then its content is unpacked.
 * - A token is claimed before it is used; a second claim in this process is refused.
 */
import { atOnce, isTurnLong, nextTurn } from "../bridge/turn.ts";
import type { Failure } from "../contract/failure.ts";
import { LIMIT_BOUNDS } from "../contract/limits.ts";
import { toJsonBytes } from "./json-bytes.ts";
import type { LedgerBook } from "./ledger-book.ts";
import {
  giveAway,
  parseHeader,
  parseSuspendedRun,
  type RunAtRest,
  type SuspendedRun,
  type SuspensionHeader,
} from "./suspended-run.ts";
import { UsedIds } from "./used-ids.ts";
import { type Vault, versionFailure } from "./vault.ts";

/** Where the store has a suspended run. */
export interface Reference {
  readonly id: string;
  /** Undefined for whatever state the run is in. */
  readonly suspensionId: string | undefined;
}

const PURPOSE = "token";
const REFERENCE = "reference";
/** Tells references from tokens that hold their run: those may be long, and are opened once. */
const REFERENCE_PREFIX = "ref_";
const MAX_BYTES = LIMIT_BOUNDS.suspensionBytes.max;

/** Of the whole process: several hosts may have the same key. */
const used = new UsedIds();

export class Tokens {
  readonly #vault: Vault;
  readonly #isCompact: boolean;

  constructor(vault: Vault, isCompact = false) {
    this.#vault = vault;
    this.#isCompact = isCompact;
  }

  async issue(
    book: LedgerBook,
    scope: string,
    executor: string,
    rest: RunAtRest,
  ): Promise<{ readonly token: string; readonly expiresAt: number } | Failure> {
    const given = await giveAway(book, scope, executor, rest, this.#isCompact);
    if ("code" in given) return given;
    const { run, sealable } = given;
    const sealed = await this.#vault.sealer.sealInTurns(sealable, PURPOSE);
    while (isTurnLong()) await nextTurn();
    return { token: sealed.toString("base64url"), expiresAt: run.expiresAt };
  }

  /** A token for a run that a store keeps; good for this suspension of it, and no later one. */
  refer(runId: string, suspensionId: string, scope: string, expiresAt: number): string {
    const header = { version: 1, id: suspensionId, scope, expiresAt, sections: [[runId, 0]] };
    const sealable = { header: toJsonBytes(header), content: new Uint8Array() };
    return REFERENCE_PREFIX + this.#vault.sealer.sealText(sealable, REFERENCE);
  }

  /** The run a token refers to; undefined for one that is no reference. */
  referred(token: string, scope: string): Reference | Failure | undefined {
    if (!token.startsWith(REFERENCE_PREFIX)) return undefined;
    const opened = this.#vault.sealer.openText(token.slice(REFERENCE_PREFIX.length), REFERENCE, 0);
    if (!opened.ok) return this.#vault.refusal(opened.problem, "token");
    const header = parseHeader(opened.header);
    const runId = header?.sections[0]?.[0];
    if (header === undefined || runId === undefined) return versionFailure("token");
    return refusalOf(header, scope) ?? { id: runId, suspensionId: header.id };
  }

  /** Takes a token for good, unless what becomes of the run it holds is a failure, or is thrown. */
  claim<Taken extends object>(
    token: string,
    scope: string,
    take: (run: SuspendedRun) => Taken | Failure,
  ): Taken | Failure {
    const opened = this.#vault.sealer.openText(token, PURPOSE, MAX_BYTES);
    if (!opened.ok) return this.#vault.refusal(opened.problem, "token");
    const header = parseHeader(opened.header);
    if (header === undefined) return versionFailure("token");
    const refusal = refusalOf(header, scope);
    if (refusal !== undefined) return refusal;
    if (used.has(header.id)) {
      return { code: "token_used", message: "Cannot resume: the token was used before, its run has gone on" };
    }
    const content = opened.content();
    const run = content === undefined ? undefined : atOnce(parseSuspendedRun(header, content, Infinity));
    if (run === undefined) return versionFailure("token");
    const taken = take(run);
    if (!("code" in taken)) used.add(header.id, header.expiresAt, Date.now());
    return taken;
  }
}

function refusalOf(header: SuspensionHeader, scope: string): Failure | undefined {
  if (header.scope !== scope) {
    return {
      code: "token_scope",
      message: "Cannot resume: the run was suspended under another scope than it is resumed under",
    };
  }
  if (Date.now() > header.expiresAt) {
    return { code: "token_expired", message: "Cannot resume: the token has expired" };
  }
  return undefined;
}
