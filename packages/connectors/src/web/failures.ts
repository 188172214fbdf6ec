/**
 * Says why a request failed, in words that a program may see. Runs on the host.
 *
 * - The words are the backend's, without secrets. Addresses and the messages of Node.js stay in the cause.
 */
import type { Json } from "codecell";
import { hideAtOnce } from "../backend/hide-in-data.ts";
import type { HiddenTexts } from "../backend/hidden-texts.ts";
import { ConnectorError, type ConnectorErrorCode } from "../contract/connector-error.ts";
import { isJsonType, isTextType, parseMediaType, readUpTo } from "./read-response.ts";
import { isRecord } from "./text.ts";

/** An error that explains itself at greater length is cut: nobody works with it as data. */
const MOST_ERROR_BYTES = 64_000;
const LONGEST_DETAIL = 8000;
const LONGEST_WORDS = 600;
/** The connection was never there: the backend has seen nothing. */
const NEVER_CONNECTED =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_.*|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_.*|ERR_TLS_CERT_ALTNAME_INVALID)$/u;

export interface Asked {
  readonly connector: string;
  /** What is asked, in the words of a message: `calling "create_issue"`. */
  readonly what: string;
  readonly hasCredentials: boolean;
}

/** The error of a connection: there was no response, or not all of it. */
export function connectionFailure({ connector, what }: Asked, error: unknown): ConnectorError {
  const code = codeOf(error);
  const why = code === undefined ? "the connection failed" : `the connection failed with ${code}`;
  const message = `Stopped ${what}: "${connector}" could not be reached, ${why}`;
  return new ConnectorError(connector, "SERVER_UNAVAILABLE", message, {
    cause: error,
    hasNoEffect: code !== undefined && NEVER_CONNECTED.test(code),
  });
}

function codeOf(error: unknown): string | undefined {
  let cause = error;
  for (let depth = 0; depth < 5 && cause instanceof Error; depth++) {
    const code: unknown = "code" in cause ? cause.code : undefined;
    if (typeof code === "string" && /^[A-Z][A-Z0-9_]{1,63}$/u.test(code)) return code;
    cause = cause instanceof AggregateError ? (cause.errors as unknown[])[0] : cause.cause;
  }
  return undefined;
}

/** The error of a response that is no success. Reads its body. */
export async function statusFailure(
  asked: Asked,
  response: Response,
  hidden: HiddenTexts,
): Promise<ConnectorError> {
  const { status } = response;
  const body = await errorBody(response, hidden);
  const words = wordsOf(body) ?? hidden.hide(response.statusText);
  const said = words === "" ? "" : `: ${words}`;
  const code = codeOfStatus(asked, status);
  const message =
    code === "AUTH_REQUIRED"
      ? `"${asked.connector}" wants credentials for ${asked.what}, configure them; it answered ${status}${said}`
      : code === "AUTH_FAILED"
        ? `"${asked.connector}" refused the credentials for ${asked.what}; it answered ${status}${said}`
        : `"${asked.connector}" answered ${status} to ${asked.what}${said}`;
  const retryAfter = response.headers.get("retry-after");
  const details = {
    status,
    ...(body === null ? {} : { body }),
    ...(retryAfter === null ? {} : { retryAfter }),
  };
  return new ConnectorError(asked.connector, code, message, { details });
}

function codeOfStatus({ hasCredentials }: Asked, status: number): ConnectorErrorCode {
  if (status === 401 || status === 403) return hasCredentials ? "AUTH_FAILED" : "AUTH_REQUIRED";
  return "DOWNSTREAM_TOOL_ERROR";
}

/** Without hidden texts before it is cut: afterwards the part of one would be unknown. */
async function errorBody(response: Response, hidden: HiddenTexts): Promise<Json> {
  const { essence } = parseMediaType(response.headers.get("content-type"));
  const isText = essence === "" || isJsonType(essence) || isTextType(essence);
  const { bytes, isWhole } = await readUpTo(response, isText ? MOST_ERROR_BYTES : 0).catch(() => NO_BODY);
  if (bytes.length === 0) return null;
  const raw = new TextDecoder().decode(bytes);
  if (isWhole && raw.length <= LONGEST_DETAIL && isJsonType(essence)) {
    try {
      return hideAtOnce(JSON.parse(raw) as Json, hidden);
    } catch {
      // Then it is text.
    }
  }
  const text = hidden.hideCut(raw, { end: !isWhole });
  return isWhole && text.length <= LONGEST_DETAIL
    ? text
    : `${text.slice(0, LONGEST_DETAIL).toWellFormed()}… (cut)`;
}

const NO_BODY = { bytes: new Uint8Array(), isWhole: true };

/** The sentence of an error's body, in the forms that most APIs use. */
function wordsOf(body: Json): string | undefined {
  if (typeof body === "string") return cut(body.trim());
  if (!isRecord(body)) return undefined;
  const { errors } = body;
  const candidates = [body, body["error"], Array.isArray(errors) ? (errors as unknown[])[0] : undefined];
  for (const candidate of candidates) {
    if (typeof candidate === "string" && candidate !== "") return cut(candidate);
    if (!isRecord(candidate)) continue;
    for (const key of ["message", "error_description", "detail", "error", "title", "reason", "description"]) {
      const words = candidate[key];
      if (typeof words === "string" && words !== "") return cut(words);
    }
  }
  return cut(JSON.stringify(body));
}

function cut(text: string): string {
  return text.length > LONGEST_WORDS ? `${text.slice(0, LONGEST_WORDS).toWellFormed()}…` : text;
}
