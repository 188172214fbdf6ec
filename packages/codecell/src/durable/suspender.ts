/**
 * Suspender: where the suspended runs of a host go, and come back from: into tokens, or into its store.
 *
 * - Either way exactly one resume goes on with a run.
 */
import { randomUUID } from "node:crypto";
import { parseJson } from "../value/parse-json.ts";
import { isTurnLong, nextTurn } from "../loop/turn.ts";
import type { Failure } from "../contract/failure.ts";
import type { PendingCall, Suspension } from "../contract/result.ts";
import type { Store } from "../contract/store.ts";
import type { ToolSet } from "../contract/tool.ts";
import type { Json } from "../contract/value.ts";
import type { CallOutcome } from "../contract/ledger.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import type { RunAtRest, SuspendedRun } from "./suspended-run.ts";
import { type OpenToken, type Reference, type Take, Tokens, type TokenStyle } from "./token.ts";
import type { Vault } from "../seal/vault.ts";
import type { StoreFacts } from "./ended-runs.ts";
import type { Journal } from "./journal.ts";
import { LateOutcomes } from "./late-outcomes.ts";
import { type CheckRun, type Recovered, recover } from "./recovery.ts";
import { type OnFailed, StoredRuns } from "./stored-runs.ts";
import { reasonsOf } from "../ledger/yields.ts";
import { toCallId } from "../contract/ledger.ts";

/** What a suspended run is known by: its token, or its id in a store. */
export interface SuspendedName {
  readonly token?: string | undefined;
  readonly id?: string | undefined;
}

/** A run that may have to outlive this process, and what is known about keeping it. */
export interface KeptRun {
  readonly recorder: LedgerRecorder;
  readonly scope: string;
  /** Undefined for a run that lives and dies with this process. */
  readonly journal: Journal | undefined;
  readonly token: TokenStyle;
  readonly onFailed: OnFailed;
}

export class Suspender {
  readonly stored: StoredRuns | undefined;
  readonly #tokens: Tokens;
  readonly #late = new LateOutcomes();
  /** Names this host in tokens; nobody can ask it there. */
  readonly #executor = randomUUID();

  constructor(vault: Vault, store: Store | undefined, leaseMs: number, facts?: StoreFacts) {
    this.#tokens = new Tokens(vault);
    this.stored = store === undefined ? undefined : new StoredRuns(store, vault, leaseMs, facts);
  }

  async suspend(kept: KeptRun, rest: RunAtRest): Promise<Suspension | Failure> {
    const { recorder, onFailed } = kept;
    try {
      const given = await this.#give(kept, rest);
      if ("code" in given) return given;
      const pending: PendingCall[] = [];
      for (const [index, payload] of rest.pending)
        pending.push(await toPendingCall(recorder, index, payload));
      return { ...given, pending, yielded: await reasonsOf(recorder) };
    } catch (error) {
      // Nobody waits for this but the run: it has to end, and its process must not.
      onFailed(error, "internal");
      return { code: "internal", message: "Cannot suspend the run: Codecell failed to" };
    }
  }

  async #give(
    { recorder, scope, journal, token, onFailed }: KeptRun,
    rest: RunAtRest,
  ): Promise<Pick<Suspension, "token" | "expiresAt"> | Failure> {
    const { runId } = recorder.header;
    if (journal === undefined || this.stored === undefined) {
      const issued = await this.#tokens.issue(recorder, scope, this.#executor, rest, token);
      if (!("code" in issued)) this.#late.expect(runId, [...rest.executing.keys()], issued.expiresAt);
      return issued;
    }
    const given = await this.stored.suspend(journal, recorder, scope, rest, onFailed);
    if ("code" in given) return given;
    return { token: this.#tokens.refer(runId, given, scope, token), expiresAt: given.expiresAt };
  }

  /** Takes what a call came to that was executing when its run was suspended. */
  takeLate({ recorder, journal }: KeptRun, outcome: CallOutcome): void {
    const { runId, limits } = recorder.header;
    if (journal === undefined || this.stored === undefined) this.#late.settle(runId, outcome);
    else void this.stored.post(runId, outcome, Date.now() + limits.suspensionTimeMs);
  }

  /** Where a run is in the store; undefined when it is in its token. */
  referred({ token = "", id }: SuspendedName, scope: string): Reference | Failure | undefined {
    return id === undefined ? this.#tokens.referred(token, scope) : { id, suspensionId: undefined };
  }

  /** The run's id, as far as its name tells it. */
  idOf(name: SuspendedName, scope: string): string {
    const referred = this.referred(name, scope);
    return referred !== undefined && "id" in referred ? referred.id : "";
  }

  /** Gives a run up; false when it is not there. */
  async discard(name: SuspendedName, scope: string): Promise<boolean> {
    const referred = this.referred(name, scope);
    if (referred === undefined) {
      const opened = this.openToken(name.token ?? "", scope);
      if ("code" in opened) return false;
      return !("code" in (await opened.takeInTurns(this.taker({}, () => undefined))));
    }
    if ("code" in referred || this.stored === undefined) return false;
    return this.stored.discard(referred, scope);
  }

  openToken(token: string, scope: string): OpenToken | Failure {
    return this.#tokens.open(token, scope);
  }

  /** What `take` of a token does with its run; `check` may refuse it, and then nothing has changed. */
  taker(tools: ToolSet, check: CheckRun): Take<Recovered> {
    return (run) => {
      const recovered = this.#recover(run, tools);
      const refusal = check(recovered);
      if (refusal !== undefined) return refusal;
      this.#late.take(run.ledger.runId, executingOf(run));
      return recovered;
    };
  }

  #recover(run: SuspendedRun, tools: ToolSet): Recovered {
    const { runId } = run.ledger;
    const settled = this.#late.settled(runId, executingOf(run));
    return recover(run, [], settled, tools, (call) => {
      const outcome = this.#late.outcomeOf(runId, call);
      return outcome && (() => outcome);
    });
  }
}

function executingOf({ executing }: SuspendedRun): number[] {
  return executing.map(([call]) => call);
}

/** There may be many, and each may be large. */
async function toPendingCall(recorder: LedgerRecorder, index: number, payload: Json): Promise<PendingCall> {
  const { tool = "", input = "null" } = recorder.calls[index] ?? {};
  while (isTurnLong()) await nextTurn();
  const parsed = await parseJson(input, recorder.header.limits.callInputBytes);
  return {
    callId: toCallId(recorder.header.runId, index),
    tool,
    input: parsed.ok ? parsed.value : null,
    payload,
  };
}
