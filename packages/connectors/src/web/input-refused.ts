/**
 * InputRefused: an input that cannot become a request. Used on the host.
 *
 * - It is thrown before anything is sent. Its message is for the program, and never has an address or a secret.
 */
import { ConnectorError } from "../contract/connector-error.ts";

export class InputRefused extends Error {
  override readonly name = "InputRefused";
}

/** Runs what turns an input into a request, and says of what it refuses that the backend has not seen it. */
export function prepared<T>(connector: string, what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof InputRefused)) throw error;
    const message = `Stopped ${what}: ${error.message}`;
    throw new ConnectorError(connector, "REQUEST_INVALID", message, { cause: error, hasNoEffect: true });
  }
}
