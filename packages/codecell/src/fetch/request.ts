/**
 * Runs on the host. Checks the request that a program asked for, and makes the one that is sent.
 *
 * - The request comes from the guest and is untrusted: methods and headers are checked again here.
 * - Headers that belong to the connection are left out. A header that would make a server see another method or path
 *   than the policy saw is refused.
 */
import { isRecord } from "../value/shape.ts";
import { checkUrl } from "./check-url.ts";
import { type ResolvedFetchPolicy, toMethod } from "./policy.ts";
import { refusal, shown, shownUrl } from "./refuse.ts";
import { CallRefusal } from "../calls/call-failure.ts";

export interface FetchRequest {
  readonly url: URL;
  readonly method: string;
  /** Names are in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string | Uint8Array<ArrayBuffer> | undefined;
}

export type RedirectMode = "follow" | "manual" | "error";

/** Headers that the sender of a request makes, or that are meant for the next machine only. */
const CONNECTION: ReadonlySet<string> = new Set(
  (
    "connection content-length expect host http2-settings keep-alive proxy-authenticate proxy-authorization " +
    "proxy-connection te trailer transfer-encoding upgrade"
  ).split(" "),
);
/** Headers from which some frameworks take the method. */
const METHOD_OVERRIDES: ReadonlySet<string> = new Set(
  "x-http-method x-http-method-override x-method-override".split(" "),
);
/** Headers from which some servers take the path. */
const URL_OVERRIDES: ReadonlySet<string> = new Set("x-original-url x-rewrite-url".split(" "));

/** Headers that may go to another origin: they cannot be meant for the first origin only. */
const FOR_EVERYBODY: ReadonlySet<string> = new Set(
  "accept accept-charset accept-encoding accept-language cache-control pragma range user-agent".split(" "),
);
const OF_BODIES: ReadonlySet<string> = new Set(
  "content-encoding content-language content-location content-type".split(" "),
);

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/u;
// oxlint-disable-next-line no-control-regex -- these are what must not be in there
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/u;
const MOST_HEADERS = 256;
const LONGEST_HEADERS = 65_536;

/** Throws a refusal. */
export function parseRequest(
  input: unknown,
  policy: ResolvedFetchPolicy,
): { readonly request: FetchRequest; readonly redirect: RedirectMode } {
  const given = isRecord(input) ? input : {};
  const text = given["url"];
  if (typeof text !== "string") throw refusal(String(text), "expected a URL");
  const url = checkUrl(text, policy);
  const method = checkMethod(given["method"] ?? "GET", policy, url.href);
  const headers = parseHeaders(given["headers"], policy, url.href);
  const body = parseBody(given, url.href);
  if (body !== undefined && !mayHaveBody(method)) {
    throw refusal(url.href, `a ${method} request has no body, leave it out or use another method`);
  }
  return { request: { url, method, headers, body }, redirect: parseRedirect(given["redirect"], url.href) };
}

/** Where a response redirects its request to. */
export interface Redirect {
  readonly status: number;
  readonly location: string;
  /**
   * The URL that the response is from. Which credentials go along depends on the request's own URL instead: they were
   * meant for that.
   */
  readonly from: URL;
}

/** The request that a redirect asks for. */
export function redirected(
  request: FetchRequest,
  { status, location, from }: Redirect,
  policy: ResolvedFetchPolicy,
): FetchRequest {
  const url = checkTarget(location, policy, from);
  const becomesGet = status === 303 ? mayHaveBody(request.method) : status < 303 && request.method === "POST";
  const method = checkMethod(becomesGet ? "GET" : request.method, policy, url.href);
  const isSameOrigin = url.origin === request.url.origin;
  if (!isSameOrigin && !becomesGet && request.body !== undefined) {
    throw refusal(
      request.url.href,
      `it redirects to ${shown(url.origin)} with the request's body, which is not sent to another origin, fetch that URL itself`,
    );
  }
  const headers = [...request.headers].filter(
    ([name]) => (isSameOrigin || FOR_EVERYBODY.has(name)) && !(becomesGet && OF_BODIES.has(name)),
  );
  return { url, method, headers: new Map(headers), body: becomesGet ? undefined : request.body };
}

/** Checks a redirect's target. A refusal says who redirects there, since the program did not ask for this URL. */
function checkTarget(location: string, policy: ResolvedFetchPolicy, from: URL): URL {
  try {
    return checkUrl(location, policy, from);
  } catch (error) {
    if (!(error instanceof CallRefusal)) throw error;
    throw new CallRefusal(error.code, `${error.message}. ${shownUrl(from.href)} redirects there`);
  }
}

function mayHaveBody(method: string): boolean {
  return method !== "GET" && method !== "HEAD";
}

function checkMethod(given: unknown, { methods }: ResolvedFetchPolicy, url: string): string {
  const method = typeof given === "string" ? toMethod(given) : undefined;
  if (method !== undefined && methods.has(method)) return method;
  throw refusal(
    url,
    `the method ${shown(String(given))} is not allowed. Allowed are ${[...methods].join(", ")}`,
  );
}

function parseHeaders(
  given: unknown = {},
  { methods }: ResolvedFetchPolicy,
  url: string,
): Map<string, string> {
  if (!isRecord(given)) throw refusal(url, "headers must be an object");
  const headers = new Map<string, string>();
  let length = 0;
  for (const [key, value] of Object.entries(given)) {
    if (typeof value !== "string" || !NAME.test(key)) {
      throw refusal(url, `${shown(key)} is not a valid name of a header, or its value is not a string`);
    }
    length += key.length + value.length;
    if (length > LONGEST_HEADERS || headers.size >= MOST_HEADERS) {
      throw refusal(
        url,
        `it has too many headers, at most ${MOST_HEADERS} with ${LONGEST_HEADERS} characters are allowed`,
      );
    }
    if (NOT_IN_VALUE.test(value)) {
      throw refusal(url, `the header ${shown(key)} has a line break or another character no header may have`);
    }
    const name = key.toLowerCase();
    // Some servers take `_` for `-` in the name of a header.
    const meant = name.replaceAll("_", "-");
    if (CONNECTION.has(meant)) continue;
    if (URL_OVERRIDES.has(meant)) throw refusal(url, `the header ${shown(name)} is not allowed`);
    if (METHOD_OVERRIDES.has(meant) && !methods.has(value.trim().toUpperCase())) {
      throw refusal(
        url,
        `the header ${shown(name)} asks for a method that is not allowed. Allowed are ${[...methods].join(", ")}`,
      );
    }
    headers.set(name, value);
  }
  return headers;
}

function parseBody(
  { body, bodyBase64 }: Readonly<Record<string, unknown>>,
  url: string,
): FetchRequest["body"] {
  if (typeof bodyBase64 === "string") return new Uint8Array(Buffer.from(bodyBase64, "base64"));
  if (body === undefined || body === null || typeof body === "string") return body ?? undefined;
  throw refusal(url, "the body must be a string or bytes");
}

function parseRedirect(given: unknown, url: string): RedirectMode {
  if (given === undefined) return "follow";
  if (given === "follow" || given === "manual" || given === "error") return given;
  throw refusal(url, 'redirect must be "follow", "manual" or "error"');
}
