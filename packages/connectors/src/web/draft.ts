/**
 * A request while it is made: what its path, query, headers, cookies and body are. Runs on the host.
 *
 * - A header's value has no line break and no NUL. Headers that frame the request, or that the operator sets, are not
 *   for arguments.
 */
import { InputRefused } from "./input-refused.ts";

export interface Body {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly mediaType: string;
}

export interface Draft {
  readonly method: string;
  /** Encoded, and below the base URL. */
  path: string;
  /** Encoded pairs. */
  readonly query: string[];
  readonly headers: Headers;
  /** Encoded pairs. */
  readonly cookies: string[];
  body: Body | undefined;
}

/** What the protocol itself says with headers: whoever sets these can smuggle a second request. */
const FRAMING: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "content-encoding",
  "expect",
  "host",
  "http2-settings",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "via",
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
  "x-original-url",
  "x-rewrite-url",
]);
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/u;
// oxlint-disable-next-line no-control-regex -- all that a header's value may have
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/u;

export function createDraft(method: string, path: string): Draft {
  return { method, path, query: [], headers: new Headers(), cookies: [], body: undefined };
}

/** Whether arguments may never set a header, whatever a description says. */
export function isFramingHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return FRAMING.has(lower) || lower.startsWith("proxy-") || lower.startsWith("sec-");
}

/** Whether a text can be the value of a header at all. */
export function isHeaderValue(value: string): boolean {
  return VALUE.test(value);
}

export function isHeaderName(name: string): boolean {
  return NAME.test(name);
}

/** Sets a header to what an argument says. */
export function setHeader(draft: Draft, name: string, value: string): void {
  if (!isHeaderName(name) || isFramingHeader(name)) {
    throw new InputRefused(`the header "${name}" cannot be set`);
  }
  if (!isHeaderValue(value)) {
    throw new InputRefused(`"${name}" has a line break or another character that no header can carry`);
  }
  draft.headers.set(name, value);
}

/** A path as an operator writes it, and what is behind its first question mark. */
export function partsOfPath(text: string): { readonly path: string; readonly search: string | undefined } {
  const at = text.indexOf("?");
  return at === -1
    ? { path: text, search: undefined }
    : { path: text.slice(0, at), search: text.slice(at + 1) };
}
