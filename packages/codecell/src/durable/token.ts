/**
 * Tokens: suspended runs as sealed, expiring, single-use texts.
 *
 * - Holds the whole run: any process with the key can resume it.
 * - What refuses a token is decided in this order: seal, version, scope, expiry, use. Only then its content is unpacked.
 * - A token is claimed before it is used; a second claim in this process is refused.
 */
import { atOnce, inTurns, isTurnLong, nextTurn } from "../loop/turn.ts";
import type { Failure } from "../contract/failure.ts";
import { LIMIT_BOUNDS } from "../contract/limits.ts";
import { toJsonBytes } from "./json-bytes.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import {
  giveAway,
  parseHeader,
  parseSuspendedRun,
  type RunAtRest,
  type SuspendedRun,
  type SuspensionHeader,
} from "./suspended-run.ts";
import type { Opened, Sealer } from "../seal/seal.ts";
import { UsedIds } from "../seal/used-ids.ts";
import { type Vault, versionFailure } from "../seal/vault.ts";

/** Where the store has a suspended run. */
export interface Reference {
  readonly id: string;
  /** Undefined for whatever state the run is in. */
  readonly suspensionId: string | undefined;
}

/** How a token is made of a run. */
export interface TokenStyle {
  /** Unreadable for whoever holds it, whatever the host says of its seals. */
  readonly isEncrypted?: boolean;
  /** With the memory of a program in place of what it was given, where that is far smaller. */
  readonly isCompact?: boolean;
}

interface Issued {
  readonly token: string;
  readonly expiresAt: number;
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

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  async issue(
    recorder: LedgerRecorder,
    scope: string,
    executor: string,
    rest: RunAtRest,
    style: TokenStyle = {},
  ): Promise<Issued | Failure> {
    const given = await giveAway(recorder, scope, executor, rest, style.isCompact);
    if ("code" in given) return given;
    const { run, sealable } = given;
    // Not awaited, so that nothing here holds the run's bytes while they are sealed.
    return toToken(this.#sealerFor(style).sealInTurns(sealable, PURPOSE), run.expiresAt);
  }

  #sealerFor({ isEncrypted = false }: TokenStyle): Sealer {
    return isEncrypted ? this.#vault.encryptingSealer : this.#vault.sealer;
  }

  /** A token for a run that a store keeps; good for this suspension of it, and no later one. */
  refer(
    runId: string,
    { id: suspensionId, expiresAt }: Pick<SuspendedRun, "id" | "expiresAt">,
    scope: string,
    style: TokenStyle = {},
  ): string {
    const header = { version: 1, id: suspensionId, scope, expiresAt, sections: [[runId, 0]] };
    const sealable = { header: toJsonBytes(header), content: new Uint8Array() };
    return REFERENCE_PREFIX + this.#sealerFor(style).sealText(sealable, REFERENCE);
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

  /** A token whose run can be taken, as far as its seal and its header tell. */
  open(token: string, scope: string): OpenToken | Failure {
    const opened = this.#vault.sealer.openText(token, PURPOSE, MAX_BYTES);
    if (!opened.ok) return this.#vault.refusal(opened.problem, "token");
    const header = parseHeader(opened.header);
    if (header === undefined) return versionFailure("token");
    const refusal = refusalOf(header, scope) ?? useRefusal(header);
    return refusal ?? new OpenToken(header, opened);
  }
}

async function toToken(sealing: Promise<Buffer>, expiresAt: number): Promise<Issued> {
  const sealed = await sealing;
  while (isTurnLong()) await nextTurn();
  return { token: sealed.toString("base64url"), expiresAt };
}

/** What becomes of the run that a token holds. */
export type Take<Taken extends object> = (run: SuspendedRun) => Taken | Failure;

/** A run of more bytes is not unpacked in one turn. */
const LARGE_BYTES = 262_144;

/** A token that fits its seal and was not used. Its content is unpacked when its run is taken. */
export class OpenToken {
  readonly #header: SuspensionHeader;
  readonly #opened: Extract<Opened, { readonly ok: true }>;

  constructor(header: SuspensionHeader, opened: Extract<Opened, { readonly ok: true }>) {
    this.#header = header;
    this.#opened = opened;
  }

  /** The id of a run that is to be taken in turns; undefined for one that is small. */
  get largeRunId(): string | undefined {
    const { sections, runId } = this.#header;
    const bytes = sections.reduce((sum, [, length]) => sum + length, 0);
    return bytes > LARGE_BYTES ? runId : undefined;
  }

  /** Its run, unpacked at once, however large; undefined for what this version does not understand. */
  peek(): SuspendedRun | undefined {
    const content = this.#opened.content();
    return content === undefined ? undefined : atOnce(parseSuspendedRun(this.#header, content, Infinity));
  }

  /** Takes the run for good, unless what becomes of it is a failure, or is thrown. */
  take<Taken extends object>(take: Take<Taken>): Taken | Failure {
    const run = this.peek();
    const taken = run === undefined ? versionFailure("token") : take(run);
    if (!("code" in taken)) this.#use();
    return taken;
  }

  /** The same in turns. Meanwhile the token counts as used. */
  async takeInTurns<Taken extends object>(take: Take<Taken>): Promise<Taken | Failure> {
    const refusal = useRefusal(this.#header);
    if (refusal !== undefined) return refusal;
    this.#use();
    let taken: Taken | Failure | undefined;
    try {
      const content = await this.#opened.contentAside();
      const run = content === undefined ? undefined : await inTurns(parseSuspendedRun(this.#header, content));
      taken = run === undefined ? versionFailure("token") : take(run);
      return taken;
    } finally {
      if (taken === undefined || "code" in taken) used.delete(this.#header.id);
    }
  }

  #use(): void {
    used.add(this.#header.id, this.#header.expiresAt, Date.now());
  }
}

function useRefusal({ id }: SuspensionHeader): Failure | undefined {
  if (!used.has(id)) return undefined;
  return { code: "token_used", message: "Cannot resume: the token was used before, its run has gone on" };
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
