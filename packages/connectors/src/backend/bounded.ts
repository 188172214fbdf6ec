/**
 * Runs on the host. Bounds what a connector asks of its backend: it ends in time, and when nobody waits for it any
 * more.
 *
 * - The backend's work is told to stop through its signal. Work that ignores the signal is not waited for.
 * - What fails after that is ignored: the answer was given.
 */
import { ConnectorError, type ConnectorErrorCode } from "../contract/connector-error.ts";
import type { Pauses } from "./pauses.ts";

export interface Bound {
  /** The id of the connector. */
  readonly connector: string;
  /** What is asked, in the words of a message: `calling "create_issue"`. */
  readonly what: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** What it means that the time is over; `TOOL_CALL_TIMEOUT` unless said. */
  readonly lateCode?: ConnectorErrorCode;
  /** When the time stands still. */
  readonly pauses?: Pauses | undefined;
}

export async function bounded<T>(bound: Bound, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { connector, what, timeoutMs, signal, lateCode = "TOOL_CALL_TIMEOUT", pauses } = bound;
  const aborted = (): ConnectorError =>
    new ConnectorError(connector, "CALL_ABORTED", `Stopped ${what}: nobody waits for it any more`, {
      cause: signal.reason,
    });
  if (signal.aborted) throw aborted();
  const controller = new AbortController();
  const ended = Promise.withResolvers<never>();
  const end = (error: ConnectorError): void => {
    ended.reject(error);
    controller.abort(error);
  };
  const onAbort = (): void => end(aborted());
  signal.addEventListener("abort", onAbort, { once: true });
  const late = (): void => {
    const message = `Stopped ${what}: "${connector}" gave no answer within ${timeoutMs} ms`;
    end(new ConnectorError(connector, lateCode, message));
  };
  const stop = pauses === undefined ? timer(timeoutMs, late) : pauses.timer(timeoutMs, late);
  try {
    return await Promise.race([work(controller.signal), ended.promise]);
  } finally {
    stop();
    signal.removeEventListener("abort", onAbort);
  }
}

function timer(ms: number, late: () => void): () => void {
  const timeout = setTimeout(late, ms);
  return () => clearTimeout(timeout);
}
