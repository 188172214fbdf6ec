/**
 * URL parser: the WHATWG basic URL parser, component by component instead of character by character. Runs inside the
 * guest.
 *
 * - Each component is found by its delimiters and read once, so the time is linear in the input.
 * - `undefined` means failure. The input must be well-formed text.
 */
import {
  append,
  arrayJoin,
  list,
  regExpExec,
  stringCharAt,
  stringIndexOf,
  stringLastIndexOf,
  stringSlice,
  stringToLowerCase,
} from "../primordials.ts";
import { parseHost } from "./url-host.ts";
import {
  C0_SET,
  FRAGMENT_SET,
  PATH_SET,
  percentEncode,
  QUERY_SET,
  SPECIAL_QUERY_SET,
  USERINFO_SET,
} from "./url-percent.ts";
import {
  copyPath,
  createRecord,
  isDefaultPort,
  isDriveLetter,
  isNormalDriveLetter,
  isSpecialScheme,
  shortenPath,
  startsWithDriveLetter,
  type UrlRecord,
} from "./url-record.ts";

const parseInteger = parseInt;
const SCHEME = /^[a-zA-Z][a-zA-Z0-9+\-.]*:/;
const NEWLINE_OR_TAB = /[\t\n\r]+/g;
const AUTHORITY_END = /[/?#]/;
const SPECIAL_AUTHORITY_END = /[/\\?#]/;
const PATH_END = /[?#]/;
const SLASHES = /^[/\\]*/;
const DIGITS = /^[0-9]*$/;
const SINGLE_DOT = /^(?:\.|%2e)$/i;
const DOUBLE_DOT = /^(?:\.|%2e)(?:\.|%2e)$/i;

export function parseUrl(input: string, base: UrlRecord | undefined): UrlRecord | undefined {
  const text = removeNewlines(trimControls(input));
  const url = createRecord();
  const scheme = regExpExec(SCHEME, text);
  if (scheme === null) return base === undefined ? undefined : parseWithoutScheme(text, base, url);
  url.scheme = stringToLowerCase(stringSlice(scheme[0], 0, scheme[0].length - 1));
  const rest = stringSlice(text, scheme[0].length);
  if (url.scheme === "file") return parseFile(rest, base?.scheme === "file" ? base : undefined, url);
  if (isSpecialScheme(url.scheme)) {
    const isRelative =
      base?.scheme === url.scheme && !(stringCharAt(rest, 0) === "/" && stringCharAt(rest, 1) === "/");
    return isRelative ? parseRelative(rest, base, url) : parseAuthority(skipSlashes(rest), url);
  }
  if (stringCharAt(rest, 0) === "/") {
    return stringCharAt(rest, 1) === "/"
      ? parseAuthority(stringSlice(rest, 2), url)
      : parsePathAndRest(stringSlice(rest, 1), url);
  }
  const end = endOf(rest, PATH_END);
  url.path = encodeOpaquePath(stringSlice(rest, 0, end), end < rest.length);
  return parseQueryAndRest(stringSlice(rest, end), url);
}

export function removeNewlines(text: string): string {
  NEWLINE_OR_TAB.lastIndex = 0;
  let found = regExpExec(NEWLINE_OR_TAB, text);
  if (found === null) return text;
  const parts = list<string>();
  let from = 0;
  for (; found !== null; found = regExpExec(NEWLINE_OR_TAB, text)) {
    append(parts, stringSlice(text, from, found.index));
    from = found.index + found[0].length;
  }
  append(parts, stringSlice(text, from));
  return arrayJoin(parts, "");
}

function trimControls(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && stringCharAt(text, start) <= " ") start += 1;
  while (end > start && stringCharAt(text, end - 1) <= " ") end -= 1;
  return stringSlice(text, start, end);
}

function endOf(text: string, pattern: RegExp): number {
  const found = regExpExec(pattern, text);
  return found === null ? text.length : found.index;
}

function skipSlashes(text: string): string {
  return stringSlice(text, (regExpExec(SLASHES, text) as RegExpExecArray)[0].length);
}

/** Encodes a space right before the query or fragment, so that it survives reparsing. */
function encodeOpaquePath(text: string, isFollowed: boolean): string {
  const encoded = percentEncode(text, C0_SET);
  return isFollowed && stringCharAt(encoded, encoded.length - 1) === " "
    ? `${stringSlice(encoded, 0, encoded.length - 1)}%20`
    : encoded;
}

function parseWithoutScheme(text: string, base: UrlRecord, url: UrlRecord): UrlRecord | undefined {
  url.scheme = base.scheme;
  if (typeof base.path === "string") {
    if (stringCharAt(text, 0) !== "#") return undefined;
    url.path = base.path;
    url.query = base.query;
    return parseQueryAndRest(text, url);
  }
  return base.scheme === "file" ? parseFile(text, base, url) : parseRelative(text, base, url);
}

function isSlash(unit: string | undefined, isSpecial: boolean): boolean {
  return unit === "/" || (isSpecial && unit === "\\");
}

function parseRelative(text: string, base: UrlRecord, url: UrlRecord): UrlRecord | undefined {
  const isSpecial = isSpecialScheme(url.scheme);
  if (isSlash(stringCharAt(text, 0), isSpecial) && isSlash(stringCharAt(text, 1), isSpecial)) {
    return parseAuthority(isSpecial ? skipSlashes(text) : stringSlice(text, 2), url);
  }
  url.username = base.username;
  url.password = base.password;
  url.host = base.host;
  url.port = base.port;
  if (isSlash(stringCharAt(text, 0), isSpecial)) return parsePathAndRest(stringSlice(text, 1), url);
  return parseFromBasePath(text, base, url);
}

function parseFromBasePath(text: string, base: UrlRecord, url: UrlRecord): UrlRecord | undefined {
  url.path = copyPath(base.path);
  if (text === "" || stringCharAt(text, 0) === "#" || stringCharAt(text, 0) === "?") {
    if (stringCharAt(text, 0) !== "?") url.query = base.query;
    return parseQueryAndRest(text, url);
  }
  if (url.scheme === "file" && startsWithDriveLetter(text)) url.path = list();
  else shortenPath(url);
  return parsePathAndRest(text, url);
}

function parseFile(text: string, base: UrlRecord | undefined, url: UrlRecord): UrlRecord | undefined {
  url.host = "";
  if (!isSlash(stringCharAt(text, 0), true)) {
    if (base === undefined) return parsePathAndRest(text, url);
    url.host = base.host;
    return parseFromBasePath(text, base, url);
  }
  if (isSlash(stringCharAt(text, 1), true)) return parseFileHost(stringSlice(text, 2), url);
  const rest = stringSlice(text, 1);
  if (base !== undefined) {
    url.host = base.host;
    const drive = (base.path as { readonly [index: number]: string })[0];
    if (!startsWithDriveLetter(rest) && isNormalDriveLetter(drive)) append(url.path as never, drive as never);
  }
  return parsePathAndRest(rest, url);
}

function parseFileHost(text: string, url: UrlRecord): UrlRecord | undefined {
  const end = endOf(text, SPECIAL_AUTHORITY_END);
  const name = stringSlice(text, 0, end);
  if (isDriveLetter(name)) return parsePathAndRest(text, url);
  if (!setFileHost(name, url)) return undefined;
  return parsePathStart(stringSlice(text, end), url);
}

export function setFileHost(name: string, url: UrlRecord): boolean {
  const host = name === "" ? "" : parseHost(name, true);
  if (host === undefined) return false;
  url.host = host === "localhost" ? "" : host;
  return true;
}

export function authorityEnd(text: string, isSpecial: boolean): number {
  return endOf(text, isSpecial ? SPECIAL_AUTHORITY_END : AUTHORITY_END);
}

function parseAuthority(text: string, url: UrlRecord): UrlRecord | undefined {
  const isSpecial = isSpecialScheme(url.scheme);
  const end = authorityEnd(text, isSpecial);
  const authority = stringSlice(text, 0, end);
  const atSign = stringLastIndexOf(authority, "@");
  if (atSign >= 0) {
    const userinfo = stringSlice(authority, 0, atSign);
    const colon = stringIndexOf(userinfo, ":");
    url.username = percentEncode(colon < 0 ? userinfo : stringSlice(userinfo, 0, colon), USERINFO_SET);
    if (colon >= 0) url.password = percentEncode(stringSlice(userinfo, colon + 1), USERINFO_SET);
  }
  const hostAndPort = stringSlice(authority, atSign + 1);
  if (hostAndPort === "" && (isSpecial || atSign >= 0)) return undefined;
  const colon = portColon(hostAndPort);
  if (colon === 0) return undefined;
  const host = parseHost(colon < 0 ? hostAndPort : stringSlice(hostAndPort, 0, colon), isSpecial);
  if (host === undefined) return undefined;
  url.host = host;
  if (colon >= 0 && !setPort(stringSlice(hostAndPort, colon + 1), url)) return undefined;
  return parsePathStart(stringSlice(text, end), url);
}

/** The first colon outside brackets. */
export function portColon(hostAndPort: string): number {
  const bracket = stringIndexOf(hostAndPort, "[");
  const first = stringIndexOf(hostAndPort, ":");
  if (first < 0 || bracket < 0 || first < bracket) return first;
  let isInside = false;
  for (let i = bracket; i < hostAndPort.length; i += 1) {
    const unit = hostAndPort[i];
    if (unit === "[") isInside = true;
    else if (unit === "]") isInside = false;
    else if (unit === ":" && !isInside) return i;
  }
  return -1;
}

export function setPort(digits: string, url: UrlRecord): boolean {
  if (regExpExec(DIGITS, digits) === null) return false;
  if (digits === "") return true;
  const port = parseInteger(digits, 10);
  if (port > 65_535) return false;
  url.port = isDefaultPort(url.scheme, port) ? null : port;
  return true;
}

function parsePathStart(text: string, url: UrlRecord): UrlRecord | undefined {
  const isSpecial = isSpecialScheme(url.scheme);
  if (isSlash(stringCharAt(text, 0), isSpecial)) return parsePathAndRest(stringSlice(text, 1), url);
  return isSpecial ? parsePathAndRest(text, url) : parseQueryAndRest(text, url);
}

function parsePathAndRest(text: string, url: UrlRecord): UrlRecord | undefined {
  const end = endOf(text, PATH_END);
  appendPath(stringSlice(text, 0, end), url);
  return parseQueryAndRest(stringSlice(text, end), url);
}

/** Appends the segments of a path whose leading slash is already removed. */
export function appendPath(text: string, url: UrlRecord): void {
  const isSpecial = isSpecialScheme(url.scheme);
  const encoded = percentEncode(text, PATH_SET);
  let slash = stringIndexOf(encoded, "/");
  let backslash = isSpecial ? stringIndexOf(encoded, "\\") : -1;
  let from = 0;
  for (;;) {
    const isLast = slash < 0 && backslash < 0;
    const end = isLast
      ? encoded.length
      : slash < 0 || (backslash >= 0 && backslash < slash)
        ? backslash
        : slash;
    appendSegment(stringSlice(encoded, from, end), isLast, url);
    if (isLast) return;
    from = end + 1;
    if (slash === end) slash = stringIndexOf(encoded, "/", from);
    else backslash = stringIndexOf(encoded, "\\", from);
  }
}

function appendSegment(segment: string, isLast: boolean, url: UrlRecord): void {
  const path = url.path as ReturnType<typeof list<string>>;
  if (segment.length <= 6 && segment.length > 0) {
    if (regExpExec(DOUBLE_DOT, segment) !== null) {
      shortenPath(url);
      if (isLast) append(path, "");
      return;
    }
    if (regExpExec(SINGLE_DOT, segment) !== null) {
      if (isLast) append(path, "");
      return;
    }
    if (url.scheme === "file" && path.length === 0 && isDriveLetter(segment)) {
      append(path, `${segment[0] as string}:`);
      return;
    }
  }
  append(path, segment);
}

function parseQueryAndRest(text: string, url: UrlRecord): UrlRecord {
  let hash = stringIndexOf(text, "#");
  if (hash < 0) hash = text.length;
  else url.fragment = encodeFragment(stringSlice(text, hash + 1));
  if (stringCharAt(text, 0) === "?") url.query = encodeQuery(stringSlice(text, 1, hash), url);
  return url;
}

export function encodeQuery(text: string, url: UrlRecord): string {
  return percentEncode(text, isSpecialScheme(url.scheme) ? SPECIAL_QUERY_SET : QUERY_SET);
}

export function encodeFragment(text: string): string {
  return percentEncode(text, FRAGMENT_SET);
}
