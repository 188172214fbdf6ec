/**
 * Runs on the host. RunErrors: what the host's own code threw during one run, for the host alone.
 *
 * - It tells each error as it happens, and keeps errors that may turn out to be why the run failed: a program may let
 *   the failure of any call escape, most likely of one of the last.
 * - No error gets into a ledger: errors end with the process.
 */
import { type HostError, type OnError, tellError, withCause, type Thrown } from "../contract/host-error.ts";
import type { RunResult } from "../contract/result.ts";
import { KeptCauses } from "../calls/kept-causes.ts";

export class RunErrors {
  readonly #runId: string;
  readonly #onError: OnError | undefined;
  /** Errors by call id. */
  readonly #thrown = new KeptCauses<string>();
  #cause: unknown;

  constructor(runId: string, onError: OnError | undefined) {
    this.#runId = runId;
    this.#onError = onError;
  }

  /** `inputLength` is the length of the call's input. */
  tell(report: Omit<HostError, "runId">, inputLength = 0): void {
    const { callId, error, source } = report;
    if (callId !== undefined && source !== "middleware") this.#thrown.add(callId, error, inputLength);
    tellError(this.#onError, { ...report, runId: this.#runId });
  }

  /** Called with what is about to end the run. Does nothing if nothing was thrown. */
  end({ source, cause: error }: Thrown): void {
    // A broken journal and whoever needed it both report the same error.
    if (error === undefined || error === this.#cause) return;
    this.#cause = error;
    this.tell({ error, source });
  }

  /** The result. If it failed, it has the thrown error as its cause. */
  caused(result: RunResult): RunResult {
    if (result.status !== "failed") return result;
    const callId = result.failure.details?.["callId"];
    return withCause(
      result,
      this.#cause ?? (typeof callId === "string" ? this.#thrown.get(callId) : undefined),
    );
  }
}
