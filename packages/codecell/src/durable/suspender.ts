/**
 * Suspender: where the runs of a host go when they have to wait, and where the host finds them again. Runs on the host.
 *
 * - With a store, every new run is kept there. Without a store, a run goes into its token.
 */
import type { Failure } from "../contract/failure.ts";
import type { ErrorListener } from "../contract/host-error.ts";
import { type Store, StoreError } from "../contract/store.ts";
import type { ToolSet } from "../contract/tool.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import type { Vault } from "../seal/vault.ts";
import type { EndedRuns, StoreFacts } from "./ended-runs.ts";
import type { KeepingTerms, OpenRun, RunKeeper, RunKeeping, SuspendedName } from "./run-keeping.ts";
import { StoredRuns } from "./stored-runs.ts";
import { type OpenToken, type Reference, Tokens } from "./token.ts";
import { TokenRuns } from "./token-runs.ts";

const NO_TOOLS: ToolSet = {};

export class Suspender implements RunKeeper {
  readonly #tokens: Tokens;
  readonly #inTokens: TokenRuns;
  readonly #inStore: StoredRuns | undefined;

  constructor(vault: Vault, store: Store | undefined, leaseMs: number, facts?: StoreFacts) {
    this.#tokens = new Tokens(vault);
    this.#inTokens = new TokenRuns(this.#tokens);
    this.#inStore = store === undefined ? undefined : new StoredRuns(store, vault, leaseMs, facts);
  }

  /** Undefined without a store. */
  get ended(): EndedRuns | undefined {
    return this.#inStore?.ended;
  }

  /** Begins to keep a new run. */
  keep(recorder: LedgerRecorder, terms: KeepingTerms): RunKeeping {
    return (this.#inStore ?? this.#inTokens).keep(recorder, terms);
  }

  /** For a run that ends before it begins, or makes no calls: nothing of it goes into a store. */
  keepNothing(recorder: LedgerRecorder, terms: KeepingTerms): RunKeeping {
    return this.#inTokens.keep(recorder, terms);
  }

  /** Where a suspended run is in the store; undefined if the run is in its token. */
  referred({ token = "", id }: SuspendedName, scope: string): Reference | Failure | undefined {
    return id === undefined ? this.#tokens.referred(token, scope) : { id, suspensionId: undefined };
  }

  /** Verifies the seal of a token that holds its run. */
  openToken(token: string, scope: string): OpenToken | Failure {
    return this.#tokens.open(token, scope);
  }

  /** Opens a small run of a token at once. */
  openNow(token: OpenToken, tools: ToolSet): OpenRun | Failure {
    return this.#inTokens.open(token, tools);
  }

  /** Rejects if the run is in a store and the host has no store. */
  async open(
    found: Reference | OpenToken,
    scope: string,
    tools: ToolSet,
    errors: ErrorListener,
  ): Promise<OpenRun | Failure> {
    if (!("id" in found)) return await this.#inTokens.openInTurns(found, tools);
    if (this.#inStore === undefined) throw new TypeError("Cannot resume a stored run: the host has no store");
    return await this.#inStore.open(found, scope, tools, errors);
  }

  /** Gives a run up. False if the run is not there or goes on somewhere. Rejects if the store failed. */
  async discard(name: SuspendedName, scope: string): Promise<boolean> {
    const found = this.referred(name, scope) ?? this.openToken(name.token ?? "", scope);
    if ("code" in found || ("id" in found && this.#inStore === undefined)) return false;
    let cause: unknown;
    const errors: ErrorListener = { tell: () => {}, end: (thrown) => void ({ cause } = thrown) };
    const opened = await this.open(found, scope, NO_TOOLS, errors);
    if ("code" in opened) {
      // The run may still be there.
      if (opened.code === "store_failed") throw new StoreError("unavailable", opened.message, { cause });
      return false;
    }
    await opened.discard();
    return true;
  }

  /** The id of a stored run; empty if the run is in its token, or does not exist. */
  idOf(name: SuspendedName, scope: string): string {
    const found = this.referred(name, scope);
    return found !== undefined && "id" in found ? found.id : "";
  }

  close(): void {
    this.#inTokens.close();
  }
}
