/**
 * Tokens: suspended runs as sealed, expiring, single-use texts.
 *
 * - Holds the whole ledger: any process with the key can resume the run.
 * - A token is claimed before it is used; a second claim in this process is refused.
 */
import { randomUUID } from "node:crypto";
import type { TimerChange } from "../bridge/protocol.ts";
import type { Failure } from "../contract/failure.ts";
import type { Ledger } from "../contract/ledger.ts";
import type { PendingCall, Suspension } from "../contract/result.ts";
import type { Json } from "../contract/value.ts";
import type { LedgerBook, Seen } from "./ledger-book.ts";
import type { Sealer } from "./seal.ts";

/** What a token holds. */
export interface SuspendedRun {
  readonly id: string;
  readonly expiresAt: number;
  readonly ledger: Ledger;
  readonly seen: Seen;
  /** Timers that were set, with the time they had left. */
  readonly timers: readonly TimerChange[];
  /** Index of each pending call, with what its tool asked for. */
  readonly pending: readonly (readonly [number, Json])[];
  /** Calls whose tools went on executing. */
  readonly executing: readonly number[];
}

export class Tokens {
  readonly #sealer: Sealer;
  /** Ids of used tokens, with their expiry. */
  readonly #used = new Map<string, number>();

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  issue(
    book: LedgerBook,
    pending: ReadonlyMap<number, Json>,
    timers: readonly TimerChange[],
    executing: readonly number[],
    toPendingCall: (index: number, payload: Json) => PendingCall,
  ): Suspension | Failure {
    const ledger = book.toLedger();
    const expiresAt = Date.now() + ledger.limits.suspensionTimeMs;
    const run: SuspendedRun = {
      id: randomUUID(),
      expiresAt,
      ledger,
      seen: book.seen,
      timers,
      pending: [...pending],
      executing,
    };
    // The ledger's own size is a lower bound: far too large ones are not even printed.
    const { suspensionBytes } = ledger.limits;
    const token = book.size > suspensionBytes ? undefined : this.#trySeal(run);
    if (token === undefined || token.length > suspensionBytes) {
      const bytes = token?.length ?? book.size;
      return {
        code: "suspension_limit",
        message: `Cannot suspend the run: it takes ${bytes} bytes or more, at most ${suspensionBytes} are allowed`,
      };
    }
    return {
      token,
      expiresAt,
      pending: run.pending.map(([index, payload]) => toPendingCall(index, payload)),
    };
  }

  /** A token for a run that a store keeps. */
  refer(runId: string, expiresAt: number): string {
    return this.#sealer.seal(JSON.stringify({ stored: runId, expiresAt }));
  }

  /** The run a token refers to; undefined for one that holds its run itself, or that is none. */
  referred(token: string): string | undefined {
    const content = JSON.parse(this.#sealer.open(token) ?? "{}") as { readonly stored?: string };
    return content.stored;
  }

  /** Takes a token for good, unless the check of what it holds throws. */
  claim(token: string, check: (run: SuspendedRun) => void): SuspendedRun | Failure {
    const content = this.#sealer.open(token);
    if (content === undefined) {
      return {
        code: "token_invalid",
        message: "Cannot resume: the token was not sealed with this host's key",
      };
    }
    const run = JSON.parse(content) as SuspendedRun;
    const now = Date.now();
    if (now > run.expiresAt)
      return { code: "token_expired", message: "Cannot resume: the token has expired" };
    for (const [id, expiresAt] of this.#used) if (now > expiresAt) this.#used.delete(id);
    if (this.#used.has(run.id)) {
      return { code: "token_used", message: "Cannot resume: the token was used before, its run has gone on" };
    }
    check(run);
    this.#used.set(run.id, run.expiresAt);
    return run;
  }

  /** Undefined when the text would be longer than texts can be. */
  #trySeal(run: SuspendedRun): string | undefined {
    try {
      return this.#sealer.seal(JSON.stringify(run));
    } catch {
      return undefined;
    }
  }
}
