/**
 * URL: the WHATWG URL class over a parsed record. Runs inside the guest.
 *
 * - `searchParams` is made on first use and stays live in both directions. A query that it makes stale is rendered when
 *   it is next read.
 */
import { exposeClass, requireArguments } from "../expose.ts";
import { numberToString, primordial, stringSlice } from "../primordials.ts";
import { parseUrl } from "./url-parser.ts";
import { isSpecialScheme, renderHost, renderPath, renderUrl, type UrlRecord } from "./url-record.ts";
import {
  createLinkedParams,
  installSearchParams,
  renderParams,
  resetParams,
  type URLSearchParams,
} from "./url-search-params.ts";
import {
  setHash,
  setHost,
  setPassword,
  setPathname,
  setPortText,
  setProtocol,
  setSearch,
  setUsername,
} from "./url-setters.ts";
import { toWellFormedText } from "../web/webidl.ts";

const { TypeError } = primordial;

function parseWithBase(url: unknown, base: unknown): UrlRecord | undefined {
  const text = toWellFormedText(url);
  if (base === undefined) return parseUrl(text, undefined);
  const parsedBase = parseUrl(toWellFormedText(base), undefined);
  return parsedBase === undefined ? undefined : parseUrl(text, parsedBase);
}

function invalid(text: unknown): TypeError {
  const shown = toWellFormedText(text);
  const cut = shown.length > 200 ? `${stringSlice(shown, 0, 200)}…` : shown;
  return new TypeError(`Invalid URL: "${cut}"`);
}

function originOf(url: UrlRecord): string {
  if (url.scheme === "blob" && typeof url.path === "string") {
    const inner = parseUrl(url.path, undefined);
    return inner?.scheme === "http" || inner?.scheme === "https" ? originOf(inner) : "null";
  }
  return isSpecialScheme(url.scheme) && url.scheme !== "file" ? `${url.scheme}://${renderHost(url)}` : "null";
}

class URL {
  #record: UrlRecord;
  #params: URLSearchParams | undefined;
  #isQueryStale = false;

  constructor(url: unknown, base: unknown = undefined) {
    requireArguments("make a URL", arguments.length, 1);
    const parsed = parseWithBase(url, base);
    if (parsed === undefined) throw invalid(url);
    this.#record = parsed;
  }

  static canParse(url: unknown, base: unknown = undefined): boolean {
    requireArguments("parse a URL", arguments.length, 1);
    return parseWithBase(url, base) !== undefined;
  }

  static parse(url: unknown, base: unknown = undefined): URL | null {
    requireArguments("parse a URL", arguments.length, 1);
    const parsed = parseWithBase(url, base);
    if (parsed === undefined) return null;
    const made = new URL("about:blank");
    made.#record = parsed;
    return made;
  }

  #current(): UrlRecord {
    if (this.#isQueryStale && this.#params !== undefined) {
      this.#isQueryStale = false;
      const query = renderParams(this.#params);
      this.#record.query = query === "" ? null : query;
    }
    return this.#record;
  }

  #refreshParams(): void {
    if (this.#params !== undefined) resetParams(this.#params, this.#record.query);
  }

  get href(): string {
    return renderUrl(this.#current());
  }

  set href(value: unknown) {
    const parsed = parseUrl(toWellFormedText(value), undefined);
    if (parsed === undefined) throw invalid(value);
    this.#isQueryStale = false;
    this.#record = parsed;
    this.#refreshParams();
  }

  get origin(): string {
    return originOf(this.#record);
  }

  get protocol(): string {
    return `${this.#record.scheme}:`;
  }

  set protocol(value: unknown) {
    setProtocol(this.#record, toWellFormedText(value));
  }

  get username(): string {
    return this.#record.username;
  }

  set username(value: unknown) {
    setUsername(this.#record, toWellFormedText(value));
  }

  get password(): string {
    return this.#record.password;
  }

  set password(value: unknown) {
    setPassword(this.#record, toWellFormedText(value));
  }

  get host(): string {
    return renderHost(this.#record);
  }

  set host(value: unknown) {
    setHost(this.#record, toWellFormedText(value), false);
  }

  get hostname(): string {
    return this.#record.host ?? "";
  }

  set hostname(value: unknown) {
    setHost(this.#record, toWellFormedText(value), true);
  }

  get port(): string {
    return this.#record.port === null ? "" : numberToString(this.#record.port);
  }

  set port(value: unknown) {
    setPortText(this.#record, toWellFormedText(value));
  }

  get pathname(): string {
    return renderPath(this.#record);
  }

  set pathname(value: unknown) {
    setPathname(this.#record, toWellFormedText(value));
  }

  get search(): string {
    const query = this.#current().query;
    return query === null || query === "" ? "" : `?${query}`;
  }

  set search(value: unknown) {
    const text = toWellFormedText(value);
    this.#isQueryStale = false;
    setSearch(this.#record, text);
    this.#refreshParams();
  }

  get searchParams(): URLSearchParams {
    this.#params ??= createLinkedParams(this.#record.query, () => {
      this.#isQueryStale = true;
    });
    return this.#params;
  }

  get hash(): string {
    const { fragment } = this.#record;
    return fragment === null || fragment === "" ? "" : `#${fragment}`;
  }

  set hash(value: unknown) {
    setHash(this.#record, toWellFormedText(value));
  }

  toString(): string {
    return renderUrl(this.#current());
  }

  toJSON(): string {
    return renderUrl(this.#current());
  }
}

export function installUrl(): void {
  exposeClass("URL", URL);
  installSearchParams();
}
