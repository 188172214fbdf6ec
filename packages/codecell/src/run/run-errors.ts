/**
 * RunErrors: what went wrong in the host's own code during one run, for the host alone.
 *
 * - Tells it as it happens, and keeps what may turn out to be why the run failed.
 * - Nothing of it is in a ledger: it ends with the process.
 */
import { type HostError, type OnError, tellError, withCause, type Thrown } from "../contract/host-error.ts";
import type { RunResult } from "../contract/result.ts";

/** A program may let the failure of any call escape, of one of the last most likely. */
const MOST_KEPT = 32;

export class RunErrors {
  readonly #runId: string;
  readonly #onError: OnError | undefined;
  /** By call id. */
  readonly #thrown = new Map<string, unknown>();
  #cause: unknown;

  constructor(runId: string, onError: OnError | undefined) {
    this.#runId = runId;
    this.#onError = onError;
  }

  tell(report: Omit<HostError, "runId">): void {
    const { callId, error, source } = report;
    if (callId !== undefined && source !== "middleware") {
      this.#thrown.set(callId, error);
      const [oldest] = this.#thrown.keys();
      if (this.#thrown.size > MOST_KEPT && oldest !== undefined) this.#thrown.delete(oldest);
    }
    tellError(this.#onError, { ...report, runId: this.#runId });
  }

  /** What is about to end the run; nothing, where nothing was thrown. */
  end({ source, cause: error }: Thrown): void {
    // A journal that broke tells of it, and so does whoever needed it.
    if (error === undefined || error === this.#cause) return;
    this.#cause = error;
    this.tell({ error, source });
  }

  /** The result with what made it a failure, as it was thrown. */
  caused(result: RunResult): RunResult {
    if (result.status !== "failed") return result;
    const callId = result.failure.details?.["callId"];
    return withCause(
      result,
      this.#cause ?? (typeof callId === "string" ? this.#thrown.get(callId) : undefined),
    );
  }
}
