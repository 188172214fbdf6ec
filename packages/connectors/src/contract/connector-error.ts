/**
 * ConnectorError: why a backend did not do what was asked. Used on the host.
 *
 * - Programs and models see the code, the message and the details: they never have a secret, a path or a stack.
 * - The cause is for the host alone.
 */
import type { Json } from "codecell";

/** Every code, with what it means. */
export const CONNECTOR_ERROR_CODES = {
  REQUEST_INVALID: "The input does not fit what the backend takes",
  SERVER_UNAVAILABLE: "The backend could not be reached, or ended",
  SERVER_START_TIMEOUT: "The backend did not start in time",
  AUTH_REQUIRED: "The backend wants credentials that it did not get",
  AUTH_FAILED: "The backend refused the credentials",
  TOOL_NOT_FOUND: "The backend has no such tool",
  TOOL_CALL_TIMEOUT: "The backend did not answer in time",
  CALL_DENIED: "The call needs a yes from somebody, and did not get it",
  CALL_ABORTED: "Whoever asked no longer waits for the answer",
  RESPONSE_TOO_LARGE: "The answer is larger than the connector takes",
  DOWNSTREAM_PROTOCOL_ERROR: "The backend answered something that its protocol does not allow",
  DOWNSTREAM_TOOL_ERROR: "The backend says that the call failed",
  DOWNSTREAM_RESOURCE_ERROR: "The resource could not be read",
  DOWNSTREAM_PROMPT_ERROR: "The prompt could not be made",
  DOWNSTREAM_COMPLETION_ERROR: "The argument could not be completed",
  PROMPT_NOT_FOUND: "The backend has no such prompt",
  UNSUPPORTED_CAPABILITY: "The backend does not offer this",
  UNSUPPORTED_OPERATION: "No backend of this kind offers this",
  CONFIG_INVALID: "The connector is not configured as it has to be",
} as const;

export type ConnectorErrorCode = keyof typeof CONNECTOR_ERROR_CODES;

/** The longest message that a program sees. Backends write messages too. */
const LONGEST_MESSAGE = 1000;

export interface ConnectorErrorOptions extends ErrorOptions {
  /** What the backend says of the error, as data. */
  readonly details?: Json;
  /** Whether the backend has certainly not acted on the call. */
  readonly hasNoEffect?: boolean;
}

export class ConnectorError extends Error {
  override readonly name = "ConnectorError";
  readonly code: ConnectorErrorCode;
  readonly connector: string;
  readonly details: Json | undefined;
  readonly hasNoEffect: boolean;

  /** `connector` is the id of the connector. */
  constructor(
    connector: string,
    code: ConnectorErrorCode,
    message: string,
    options: ConnectorErrorOptions = {},
  ) {
    super(
      message.length > LONGEST_MESSAGE
        ? `${message.slice(0, LONGEST_MESSAGE - 1).toWellFormed()}…`
        : message.toWellFormed(),
      options,
    );
    this.code = code;
    this.connector = connector;
    this.details = options.details;
    this.hasNoEffect = options.hasNoEffect ?? false;
  }
}

/** What every kind says of a call of a tool that it has not. */
export function noSuchTool(connector: string, name: string): ConnectorError {
  const message = `Cannot call "${name}": connector "${connector}" has no such tool`;
  return new ConnectorError(connector, "TOOL_NOT_FOUND", message, { hasNoEffect: true });
}
