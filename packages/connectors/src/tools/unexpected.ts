/** Runs on the host. Makes errors that a connector should not have thrown into errors that anybody may see. */
import { withCallDetails } from "codecell/kit";
import { ConnectorError } from "../contract/connector-error.ts";

/** `action` is what could not be done: `call "buy" of "shop"`. What else was thrown is for the host alone. */
export function toConnectorError(
  connector: string,
  action: string,
  error: unknown,
  signal: AbortSignal,
): ConnectorError {
  if (error instanceof ConnectorError) return error;
  const options = { cause: error };
  return signal.aborted
    ? new ConnectorError(connector, "CALL_ABORTED", `Cannot ${action}: nobody waits for it any more`, options)
    : new ConnectorError(connector, "SERVER_UNAVAILABLE", `Cannot ${action}: its connector failed`, options);
}

/** The error with its details for the program, if it has some. */
export function forProgram(error: ConnectorError): ConnectorError {
  return error.details === undefined ? error : withCallDetails(error, error.details);
}
