/**
 * Runs on the host. What goes wrong in a login, in the words of a connector.
 *
 * - Of what an authorization server says only a code of the standard is told: its words may repeat what it was sent.
 */
import {
  IssuerMismatchError,
  OAuthError,
  OAuthErrorCode,
  RegistrationRejectedError,
} from "@modelcontextprotocol/client";
import { ConnectorError, type ConnectorErrorCode } from "../../contract/connector-error.ts";
import { faultOf } from "../faults.ts";

export class Refusals {
  readonly #id: string;

  constructor(id: string) {
    this.#id = id;
  }

  of(code: ConnectorErrorCode, message: string, cause?: unknown): ConnectorError {
    return new ConnectorError(this.#id, code, message, { hasNoEffect: true, cause });
  }

  /** The token, or the request for one, would go where it may not go. */
  place(what: string): ConnectorError {
    return this.of(
      "AUTH_FAILED",
      `Cannot log in to "${this.#id}": ${what}. Nothing was sent there; correct the server, or its url`,
    );
  }

  nobody(): ConnectorError {
    return this.of(
      "AUTH_REQUIRED",
      `"${this.#id}" wants somebody to log in: give its connector oauth.onAuthorize, or tokens of a login in oauth.tokens`,
    );
  }

  /** Whoever comes after a login that nobody waited for. */
  givenUp(): ConnectorError {
    return this.of(
      "AUTH_REQUIRED",
      `Nobody logged in to "${this.#id}": the last login was given up. Try again later`,
    );
  }

  /** Whoever comes after a login whose tokens the server did not take. */
  inVain(): ConnectorError {
    return this.of(
      "AUTH_FAILED",
      `Cannot use "${this.#id}": the server did not take what the last login gave. Try again later`,
    );
  }

  /** `what` is what was asked of the authorization server. */
  from(error: unknown, what: string): ConnectorError {
    if (error instanceof ConnectorError) return error;
    const cannot = `Cannot log in to "${this.#id}": its authorization server`;
    if (error instanceof OAuthError) return this.#answer(error, what);
    if (error instanceof RegistrationRejectedError)
      return this.of(
        "AUTH_REQUIRED",
        `${cannot} did not register this client (HTTP ${error.status}). Register one by hand, and configure oauth.clientId`,
      );
    if (error instanceof IssuerMismatchError)
      return this.of("AUTH_FAILED", `${cannot} says that it is another one than was asked`);
    if (faultOf(error) === "too-large")
      return this.of("DOWNSTREAM_PROTOCOL_ERROR", `${cannot} answered with too much when ${what}`);
    if (error instanceof TypeError || isLate(error))
      return this.of("SERVER_UNAVAILABLE", `${cannot} gave no answer when ${what}. Try again later`, error);
    // Its words may have what the server said: they are no cause either.
    return this.of("DOWNSTREAM_PROTOCOL_ERROR", `${cannot} answered what no standard allows when ${what}`);
  }

  #answer({ code }: OAuthError, what: string): ConnectorError {
    const cannot = `Cannot log in to "${this.#id}": its authorization server`;
    if (FAILED.has(code))
      return this.of("SERVER_UNAVAILABLE", `${cannot} failed when ${what}. Try again later`);
    if (isOfClient(code))
      return this.of(
        "AUTH_FAILED",
        `${cannot} does not accept this client (${code}): correct oauth.clientId and its secret`,
      );
    return this.of("AUTH_FAILED", `${cannot} refused (${codeOf(code)}) when ${what}`);
  }
}

/** The authorization server is not well. */
const FAILED: ReadonlySet<string> = new Set([
  OAuthErrorCode.ServerError,
  OAuthErrorCode.TemporarilyUnavailable,
]);

const OF_CLIENT: ReadonlySet<string> = new Set([
  OAuthErrorCode.InvalidClient,
  OAuthErrorCode.UnauthorizedClient,
]);

/** The authorization server does not know the client, or not any more. */
export function isOfClient(code: string): boolean {
  return OF_CLIENT.has(code);
}

const CODES: ReadonlySet<string> = new Set(Object.values(OAuthErrorCode));

/** Other words are the server's own. */
export function codeOf(code: string): string {
  return CODES.has(code) ? code : "for a reason of its own";
}

function isLate(error: unknown): boolean {
  return error instanceof DOMException && (error.name === "TimeoutError" || error.name === "AbortError");
}
