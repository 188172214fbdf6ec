/**
 * Runs on the host. What goes wrong with an MCP server, in the words of a connector.
 *
 * - The words of the client, of sockets and of processes name commands, addresses and headers: they are causes, which only
 *   the host sees. Words of the server are told, without what is hidden.
 */
import type { Json } from "codecell";
import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
} from "@modelcontextprotocol/client";
import type { HiddenTexts } from "../backend/hidden-texts.ts";
import { ConnectorError, type ConnectorErrorCode } from "../contract/connector-error.ts";
import { faultOf } from "./faults.ts";
import type { McpSettings } from "./options.ts";
import type { Exit } from "./process-transport.ts";

export interface Asked {
  /** In the words of a message: `calling "create_issue"`. */
  readonly what: string;
  /** What it means that the server refuses. */
  readonly refused: ConnectorErrorCode;
}

/** The server's process ended, or did not start. */
export class ProcessEndError extends Error {
  override readonly name = "ProcessEndError";
  readonly exit: Exit | undefined;

  constructor(exit: Exit | undefined, lastWords: string, cause: unknown) {
    super(`The server's process ended. Its last words:\n${lastWords}`, { cause });
    this.exit = exit;
  }
}

/** Far more than is told of them. */
const MOST_WORDS = 64_000;

const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;

export class Failures {
  readonly #settings: McpSettings;
  readonly #hidden: HiddenTexts;

  constructor(settings: McpSettings, hidden: HiddenTexts) {
    this.#settings = settings;
    this.#hidden = hidden;
  }

  of(
    code: ConnectorErrorCode,
    message: string,
    options: { readonly details?: Json; readonly hasNoEffect?: boolean; readonly cause?: unknown } = {},
  ): ConnectorError {
    return new ConnectorError(this.#settings.id, code, message, options);
  }

  /** What the server says of an error, as it may be told. */
  words(text: string): string {
    const isCut = text.length > MOST_WORDS;
    return this.#hidden.hideCut(isCut ? text.slice(0, MOST_WORDS) : text, { end: isCut });
  }

  /** Data of the server about an error. */
  details(value: Json | undefined): { readonly details?: Json } {
    return value === undefined ? {} : { details: value };
  }

  from(error: unknown, asked: Asked): ConnectorError {
    if (error instanceof ConnectorError) return error;
    const { id, responseBytes } = this.#settings;
    const { what } = asked;
    switch (faultOf(error)) {
      case "too-large":
        return this.of(
          "RESPONSE_TOO_LARGE",
          `Stopped ${what}: the answer of "${id}" is larger than ${responseBytes} bytes. Ask for less at once`,
        );
      case "ended":
        return this.of(
          "SERVER_UNAVAILABLE",
          `Stopped ${what}: "${id}" ended the connection before it answered`,
        );
      case "malformed":
        return this.#nonsense(what, error);
      case undefined:
        break;
    }
    if (error instanceof ProcessEndError) return this.#process(error);
    if (error instanceof ProtocolError) return this.#refusal(error, asked);
    if (error instanceof InsufficientScopeError) return this.#status(error, 403, what);
    if (error instanceof SdkHttpError) return this.#status(error, error.status, what);
    if (error instanceof SseError && error.code !== undefined) return this.#status(error, error.code, what);
    if (error instanceof SdkError) return this.#sdk(error, asked);
    return this.#network(error, asked);
  }

  #nonsense(what: string, cause: unknown): ConnectorError {
    const message = `Stopped ${what}: "${this.#settings.id}" answered something that the protocol does not allow`;
    return this.of("DOWNSTREAM_PROTOCOL_ERROR", message, { cause });
  }

  #refusal(error: ProtocolError, { refused, what }: Asked): ConnectorError {
    const { code, data } = error;
    if (code === METHOD_NOT_FOUND)
      return this.of("UNSUPPORTED_CAPABILITY", `"${this.#settings.id}" does not offer ${what}`, {
        cause: error,
      });
    const isInput = code === INVALID_PARAMS && refused === "DOWNSTREAM_TOOL_ERROR";
    return this.of(isInput ? "REQUEST_INVALID" : refused, this.words(error.message), {
      ...this.details(data as Json | undefined),
      cause: error,
    });
  }

  #status(error: Error, status: number, what: string): ConnectorError {
    const { id, address } = this.#settings;
    const options = { cause: error, hasNoEffect: status >= 400 && status < 500 };
    const hasCredentials =
      address.kind === "url" && (address.oauth !== undefined || Object.keys(address.headers).length > 0);
    if (status === 401 && !hasCredentials)
      return this.of(
        "AUTH_REQUIRED",
        `"${id}" wants credentials (HTTP 401): configure its headers, or oauth`,
        options,
      );
    if (status === 401 || status === 403)
      return this.of(
        "AUTH_FAILED",
        `"${id}" refused the credentials (HTTP ${status}): renew them, or ask for the right to use it`,
        options,
      );
    if (status === 404 || status === 405)
      return this.of(
        "SERVER_UNAVAILABLE",
        `Stopped ${what}: no MCP server answers where "${id}" is configured (HTTP ${status}): correct its url`,
        options,
      );
    if (status >= 500 || status === 429)
      return this.of(
        "SERVER_UNAVAILABLE",
        `Stopped ${what}: "${id}" answered with HTTP ${status}. Try again later`,
        options,
      );
    return this.of(
      "DOWNSTREAM_PROTOCOL_ERROR",
      `Stopped ${what}: "${id}" answered with HTTP ${status}`,
      options,
    );
  }

  #sdk(error: SdkError, asked: Asked): ConnectorError {
    const { id } = this.#settings;
    const { what } = asked;
    const options = { cause: error };
    const { code } = error;
    if (code === SdkErrorCode.NotConnected) return this.gone(what, { ...options, hasNoEffect: true });
    if (code === SdkErrorCode.ConnectionClosed || code === SdkErrorCode.SendFailed)
      return this.gone(what, options);
    // What the server asked in the middle of its answer.
    const { method } = (error.data ?? {}) as { readonly method?: unknown };
    if (code === SdkErrorCode.CapabilityNotSupported && method !== undefined)
      return this.#notHandedOn(what, options);
    if (code === SdkErrorCode.InputRequiredRoundsExceeded)
      return this.of("DOWNSTREAM_PROTOCOL_ERROR", `Stopped ${what}: "${id}" asks without end`, options);
    if (code === SdkErrorCode.RequestTimeout)
      return this.of("TOOL_CALL_TIMEOUT", `Stopped ${what}: "${id}" gave no answer in time`, options);
    if (
      code === SdkErrorCode.CapabilityNotSupported ||
      code === SdkErrorCode.MethodNotSupportedByProtocolVersion
    )
      return this.of("UNSUPPORTED_CAPABILITY", `"${id}" does not offer ${what}`, options);
    if (code === SdkErrorCode.UnsupportedResultType) return this.#notHandedOn(what, options);
    if (code === SdkErrorCode.ListPaginationExceeded)
      return this.of("DOWNSTREAM_PROTOCOL_ERROR", `Stopped ${what}: the list of "${id}" has no end`, options);
    if (code === SdkErrorCode.EraNegotiationFailed)
      return error.cause === undefined ? this.gone(what, options) : this.from(error.cause, asked);
    return this.#nonsense(what, error);
  }

  #notHandedOn(what: string, options: { readonly cause: unknown }): ConnectorError {
    const { id } = this.#settings;
    const message = `Stopped ${what}: "${id}" asks for something of a person or of a model, which this connector does not hand on`;
    return this.of("UNSUPPORTED_OPERATION", message, options);
  }

  gone(what: string, options: { readonly cause?: unknown; readonly hasNoEffect?: boolean }): ConnectorError {
    const message = `Stopped ${what}: "${this.#settings.id}" has ended its connection`;
    return this.of("SERVER_UNAVAILABLE", message, options);
  }

  #process(error: ProcessEndError): ConnectorError {
    const { id } = this.#settings;
    const cause = error.cause as NodeJS.ErrnoException | undefined;
    const options = { cause: error, hasNoEffect: true };
    const say = (why: string): ConnectorError =>
      this.of("SERVER_UNAVAILABLE", `Cannot start "${id}": ${why}`, options);
    if (cause?.code === "ENOENT")
      return say("its command or its folder does not exist. Install it, or correct the configuration");
    if (cause?.code === "EACCES") return say("its command may not be executed. Correct its rights");
    const { exit } = error;
    const how = exit === undefined ? "" : ` with ${exit.signal ?? `code ${exit.code}`}`;
    return say(`its process ended${how} before it answered. Start the configured command by hand to see why`);
  }

  #network(error: unknown, { what }: Asked): ConnectorError {
    const { id } = this.#settings;
    const code = networkCodeOf(error);
    if (code === undefined) return this.#nonsense(what, error);
    if (code === ABORTED) return this.gone(what, { cause: error });
    const why = NEVER_REACHED[code];
    if (why === undefined)
      return this.of("SERVER_UNAVAILABLE", `Stopped ${what}: the connection to "${id}" broke`, {
        cause: error,
      });
    return this.of("SERVER_UNAVAILABLE", `Cannot reach "${id}": ${why}`, { cause: error, hasNoEffect: true });
  }
}

/** Failures of connections that were never made. */
const NEVER_REACHED: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens at its url. Start the server, or correct the url",
  ENOTFOUND: "the host of its url is not known. Correct the url",
  EAI_AGAIN: "the host of its url cannot be looked up now. Try again later",
  EHOSTUNREACH: "there is no way to the host of its url",
  ENETUNREACH: "there is no way to the host of its url",
  UND_ERR_CONNECT_TIMEOUT: "the host of its url does not answer",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is not trusted",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is not trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is not trusted",
  CERT_HAS_EXPIRED: "its certificate has expired",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is for another host",
};

/** Of a request that ended with its connection. */
const ABORTED = "aborted";

/** Fetch says "fetch failed", and why in its causes. */
function networkCodeOf(error: unknown): string | undefined {
  if (error instanceof Error && error.name === "AbortError") return ABORTED;
  if (error instanceof SseError) return "event stream";
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++) {
    const { code, errors } = one as { readonly code?: unknown; readonly errors?: readonly unknown[] };
    if (typeof code === "string") return code;
    if (Array.isArray(errors)) return networkCodeOf(errors[0]);
  }
  return error instanceof TypeError && error.message === "fetch failed" ? "fetch" : undefined;
}
