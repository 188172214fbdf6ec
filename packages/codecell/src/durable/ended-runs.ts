/**
 * EndedRuns: what a host keeps in its store about runs that have ended. Runs on the host.
 *
 * - Result and ledger are sealed and bound to their run. Their seal is verified before a byte of them is interpreted.
 *   Only a `RunSummary` is readable without opening a seal, and nothing in it is trusted.
 * - A run's result never waits for the deletion of others. Deletion happens apart, at most once per second, in short
 *   transactions.
 */
import type { Failure } from "../contract/failure.ts";
import type { Ledger } from "../contract/ledger.ts";
import { LIMIT_BOUNDS } from "../contract/limits.ts";
import type { RunResult } from "../contract/result.ts";
import { type EndedBounds, type EndState, isStoreText, type Store, StoreError } from "../contract/store.ts";
import type { LedgerRecorder } from "../ledger/ledger-recorder.ts";
import { inTurns, type Steps } from "../loop/turn.ts";
import { pause } from "../loop/wait.ts";
import type { Sealable } from "../seal/seal.ts";
import { type Vault, versionFailure } from "../seal/vault.ts";
import { textOfLargeResult } from "../value/large-results.ts";
import { isLedger, isWhole } from "../value/ledger-shape.ts";
import { isArrayOf, isCount, isRecord, isText } from "../value/shape.ts";
import { answered } from "./answered.ts";
import { fromJsonBytes, fromJsonPieces, toJsonBytes, toJsonPieces } from "./json-bytes.ts";
import { factsSteps } from "./run-facts.ts";

/** How long and how much is kept, with all defaults filled in. */
export interface EndedKeeping extends EndedBounds {
  readonly forMs: number;
}

/** What a store may show of all runs of a host, and what it keeps of ended runs. */
export interface StoreFacts {
  readonly namesTools: boolean;
  /** Undefined: ended runs are not kept. */
  readonly ended: EndedKeeping | undefined;
}

/** An ended run as its host recorded it. */
export interface EndedRecord {
  readonly result: Exclude<RunResult, { status: "suspended" }>;
  /** Missing if it took more than `limits.suspensionBytes`. */
  readonly ledger?: Ledger;
}

/** The shortest time between two deletions. */
const PRUNE_MS = 1000;
/** After this time another process may delete what this process has not deleted. */
const DELETE_MS = 30_000;
const NOTHING_KEPT: EndedBounds = { runs: 0, bytes: 0 };
const MAX_BYTES = LIMIT_BOUNDS.suspensionBytes.max;

export class EndedRuns {
  readonly #store: Store;
  readonly #vault: Vault;
  readonly #facts: StoreFacts;
  #isPruning = false;
  #isDue = false;

  constructor(store: Store, vault: Vault, facts: StoreFacts) {
    this.#store = store;
    this.#vault = vault;
    this.#facts = facts;
  }

  /** What the store keeps of a run. Undefined if the host keeps no ended runs, or if the run is too large. */
  async toEndState(
    result: RunResult,
    recorder: LedgerRecorder,
    scope: string,
  ): Promise<EndState | undefined> {
    const { namesTools, ended } = this.#facts;
    if (ended === undefined || result.status === "suspended") return undefined;
    const { runId, limits } = recorder.header;
    const expiresAt = Date.now() + ended.forMs;
    const header = toJsonBytes({ version: 1, scope, expiresAt });
    const most = limits.suspensionBytes;
    const ledger = recorder.toLedger();
    const content =
      (recorder.size > most ? undefined : await tryPrint({ result, ledger }, most)) ??
      (await tryPrint({ result }, most));
    if (content === undefined) return undefined;
    const state = await this.#vault.sealer.sealInTurns({ header, content }, endOf(runId));
    const facts = await inTurns(factsSteps(recorder.header, recorder, [], namesTools));
    return { ended: result.status, state, expiresAt, facts };
  }

  /** Undefined if there is no ended run with this id and scope. Rejects if the store failed. */
  async read(id: string, scope: string): Promise<EndedRecord | Failure | undefined> {
    // Ids come from clients. No store has a run with an id like this.
    if (id === "" || !isStoreText(id) || !isStoreText(scope)) return undefined;
    const found = await answered(this.#store.readEnded(id, scope));
    if (found === undefined) return undefined;
    const opened = await this.#vault.sealer.openInTurns(found.state, endOf(id), MAX_BYTES);
    if (!opened.ok) return this.#vault.refusal(opened.problem, "stored run", "read");
    const header = fromJsonBytes(opened.header);
    if (!isRecord(header) || header["version"] !== 1 || !isCount(header["expiresAt"])) {
      return versionFailure("stored run", "read");
    }
    // The store's own scope and expiry are not sealed, so the sealed ones decide.
    if (header["scope"] !== scope || header["expiresAt"] < Date.now()) return undefined;
    const content = await opened.contentAside();
    const record = content && (await inTurns(parseRecord(content)));
    return record ?? versionFailure("stored run", "read");
  }

  /**
   * Deletes what is kept of a run; false if nothing is kept with this id and scope. Rejects when the store failed.
   *
   * A run that ends takes the place of an ended one of its id. So an empty run ends here, past its expiry, and every store can
   * delete without a method for it.
   */
  async delete(id: string, scope: string): Promise<boolean> {
    if (id === "" || !isStoreText(id) || !isStoreText(scope)) return false;
    if ((await answered(this.#store.readEnded(id, scope))) === undefined) return false;
    const nothing = new Uint8Array();
    try {
      const run = { id, scope, expiresAt: Date.now() + DELETE_MS, state: nothing };
      const claim = await answered(this.#store.put(run, { owner: "", ms: DELETE_MS }));
      await answered(this.#store.release(claim, { ended: "failed", state: nothing, expiresAt: 0 })).catch(
        async (error: unknown) => {
          await answered(this.#store.delete(claim)).catch(() => {});
          throw error;
        },
      );
    } catch (error) {
      if (!StoreError.is(error) || error.code !== "exists") throw error;
      // Somebody else is deleting it, or died over that a moment ago.
      if ((await answered(this.#store.readEnded(id, scope))) === undefined) return false;
      throw new StoreError(
        "unavailable",
        `Cannot delete run "${id}": somebody else is deleting it, try again`,
      );
    }
    // It cannot be read any more; when its empty row goes does not matter.
    await answered(this.#store.expire()).catch(() => {});
    return true;
  }

  /** Called when one more run is kept: others may have to be deleted. Nobody waits for the deletion. */
  prune(): void {
    this.#isDue = true;
    if (this.#isPruning) return;
    this.#isPruning = true;
    void this.#pruneWhileDue();
  }

  async #pruneWhileDue(): Promise<void> {
    const { runs, bytes } = this.#facts.ended ?? NOTHING_KEPT;
    while (this.#isDue) {
      this.#isDue = false;
      // If it fails, the next run that ends tries again.
      await answered(this.#store.expire({ runs, bytes })).catch(() => {});
      await pause(PRUNE_MS, false);
    }
    this.#isPruning = false;
  }
}

/** Bound to its run. A seal for this purpose cannot be resumed. */
function endOf(runId: string): string {
  return `${runId}:end`;
}

/** Undefined if the text would be longer than `mostBytes`. */
async function tryPrint(record: object, mostBytes: number): Promise<Sealable["content"] | undefined> {
  try {
    return Buffer.concat(await inTurns(toJsonPieces(record, mostBytes, { textOf: textOfLargeResult })));
  } catch {
    return undefined;
  }
}

function* parseRecord(content: Uint8Array): Steps<EndedRecord | undefined> {
  const value = yield* fromJsonPieces(content);
  if (!isRecord(value) || !isResult(value["result"])) return undefined;
  const { result, ledger } = value;
  if (ledger === undefined) return { result };
  return isLedger(ledger) && isWhole(ledger) ? { result, ledger } : undefined;
}

function isResult(value: unknown): value is EndedRecord["result"] {
  if (!isRecord(value) || !isText(value["runId"]) || !isRecord(value["stats"])) return false;
  const { failure } = value;
  return (
    isArrayOf(value["logs"], isRecord) &&
    isCount(value["logsDropped"]) &&
    (value["status"] === "completed"
      ? value["value"] !== undefined
      : value["status"] === "failed" && isRecord(failure) && isText(failure["code"]))
  );
}
