/**
 * Tokens: suspended runs as sealed, expiring, single-use texts. Runs on the host.
 *
 * - A token holds the whole run: any process with the key can resume it. A reference holds only the id of a stored run.
 * - A token is refused for the first of these reasons: seal, version, scope, expiry, use. Its content is decompressed
 *   only after all of these.
 * - Between `use` and `release`, nobody else in this process can use the token.
 */
import { atOnce, inTurns, isTurnLong, nextTurn } from "../loop/turn.ts";
import type { Failure } from "../contract/failure.ts";
import { LIMIT_BOUNDS } from "../contract/limits.ts";
import { toJsonBytes } from "./json-bytes.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import { printRun } from "./print-run.ts";
import {
  parseHeader,
  parseSuspendedRun,
  type RunAtRest,
  type SuspendedRun,
  type SuspensionHeader,
} from "./suspended-run.ts";
import type { Opened, Sealer } from "../seal/seal.ts";
import { UsedIds } from "../seal/used-ids.ts";
import { type Vault, versionFailure } from "../seal/vault.ts";

/** Says which run in the store is meant. */
export interface Reference {
  readonly id: string;
  /** Undefined accepts the run in any state. */
  readonly suspensionId: string | undefined;
}

/** How a run becomes a token. */
export interface TokenStyle {
  /** Whoever holds the token cannot read it, even if the host does not encrypt its seals. */
  readonly isEncrypted?: boolean;
  /** Holds the program's memory in place of the outputs it got, if that is far smaller. */
  readonly isCompact?: boolean;
}

interface Issued {
  readonly token: string;
  readonly expiresAt: number;
}

const PURPOSE = "token";
const REFERENCE = "reference";
/** Marks references. Other tokens hold their run, so they may be long, and are opened once. */
const REFERENCE_PREFIX = "ref_";
const MAX_BYTES = LIMIT_BOUNDS.suspensionBytes.max;

/** One set for the whole process, because several hosts may have the same key. */
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
    const printed = await printRun(recorder, scope, executor, rest, style.isCompact);
    if ("code" in printed) return printed;
    // Without await, so that this function does not hold the run's bytes while they are sealed.
    return toToken(this.#sealerFor(style).sealInTurns(printed, PURPOSE), printed.expiresAt);
  }

  #sealerFor({ isEncrypted = false }: TokenStyle): Sealer {
    return isEncrypted ? this.#vault.encryptingSealer : this.#vault.sealer;
  }

  /** A token for a run in a store. It is valid for this suspension of the run, and for no later one. */
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

  /** The run to which a token refers. Undefined if the token is not a reference. */
  referred(token: string, scope: string): Reference | Failure | undefined {
    if (!token.startsWith(REFERENCE_PREFIX)) return undefined;
    const opened = this.#vault.sealer.openText(token.slice(REFERENCE_PREFIX.length), REFERENCE, 0);
    if (!opened.ok) return this.#vault.refusal(opened.problem, "token");
    const header = parseHeader(opened.header);
    const runId = header?.sections[0]?.[0];
    if (header === undefined || runId === undefined) return versionFailure("token");
    return refusalOf(header, scope) ?? { id: runId, suspensionId: header.id };
  }

  /** Opens a token whose run can be taken, as far as seal, header and earlier use say. */
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

/** A larger run is not decompressed in one turn. */
const LARGE_BYTES = 262_144;

/** A token whose seal was verified. Its content is decompressed when somebody asks for it. */
export class OpenToken {
  readonly #header: SuspensionHeader;
  readonly #opened: Extract<Opened, { readonly ok: true }>;

  constructor(header: SuspensionHeader, opened: Extract<Opened, { readonly ok: true }>) {
    this.#header = header;
    this.#opened = opened;
  }

  /** The id of a run that has to be opened in turns; undefined for a small run. */
  get largeRunId(): string | undefined {
    const { sections, runId } = this.#header;
    const bytes = sections.reduce((sum, [, length]) => sum + length, 0);
    return bytes > LARGE_BYTES ? runId : undefined;
  }

  /** The run, opened at once however large it is. Undefined if this version does not understand it. */
  peek(): SuspendedRun | undefined {
    const content = this.#opened.content();
    return content === undefined ? undefined : atOnce(parseSuspendedRun(this.#header, content, Infinity));
  }

  /** Like peek, in turns. */
  async unpack(): Promise<SuspendedRun | undefined> {
    const content = await this.#opened.contentAside();
    return content === undefined ? undefined : inTurns(parseSuspendedRun(this.#header, content));
  }

  /** From here on the token counts as used. A failure says that it was used before. */
  use(): Failure | undefined {
    const refusal = useRefusal(this.#header);
    if (refusal === undefined) used.add(this.#header.id, this.#header.expiresAt, Date.now());
    return refusal;
  }

  /** For a token that was not used after all. */
  release(): void {
    used.delete(this.#header.id);
  }
}

function useRefusal({ id }: SuspensionHeader): Failure | undefined {
  if (!used.has(id)) return undefined;
  return { code: "token_used", message: "Cannot resume: the token was used before, its run has gone on" };
}

function refusalOf(header: SuspensionHeader, scope: string): Failure | undefined {
  if (header.scope !== scope) {
    return { code: "token_scope", message: "Cannot resume: the run belongs to another scope" };
  }
  if (Date.now() > header.expiresAt) {
    return { code: "token_expired", message: "Cannot resume: the token has expired" };
  }
  return undefined;
}
