/**
 * URL setters: what assigning to a part of a URL does to its record. A value that does not parse changes nothing. Runs
 * inside the guest.
 */
import {
  append,
  type List,
  list,
  regExpExec,
  stringCharAt,
  stringIndexOf,
  stringSlice,
  stringToLowerCase,
} from "../primordials.ts";
import { parseHost } from "./url-host.ts";
import {
  appendPath,
  authorityEnd,
  encodeFragment,
  encodeQuery,
  portColon,
  removeNewlines,
  setFileHost,
  setPort,
} from "./url-parser.ts";
import { percentEncode, USERINFO_SET } from "./url-percent.ts";
import {
  cannotHaveCredentials,
  hasCredentials,
  isDefaultPort,
  isSpecialScheme,
  type UrlRecord,
} from "./url-record.ts";

const SCHEME = /^[a-zA-Z][a-zA-Z0-9+\-.]*$/;
const DIGITS = /^[0-9]*/;

export function setProtocol(url: UrlRecord, value: string): void {
  const text = removeNewlines(value);
  const colon = stringIndexOf(text, ":");
  const given = colon < 0 ? text : stringSlice(text, 0, colon);
  if (regExpExec(SCHEME, given) === null) return;
  const scheme = stringToLowerCase(given);
  if (isSpecialScheme(scheme) !== isSpecialScheme(url.scheme)) return;
  if (scheme === "file" && (hasCredentials(url) || url.port !== null)) return;
  if (url.scheme === "file" && url.host === "") return;
  url.scheme = scheme;
  if (url.port !== null && isDefaultPort(scheme, url.port)) url.port = null;
}

export function setUsername(url: UrlRecord, value: string): void {
  if (!cannotHaveCredentials(url)) url.username = percentEncode(value, USERINFO_SET);
}

export function setPassword(url: UrlRecord, value: string): void {
  if (!cannotHaveCredentials(url)) url.password = percentEncode(value, USERINFO_SET);
}

export function setHost(url: UrlRecord, value: string, isNameOnly: boolean): void {
  if (typeof url.path === "string") return;
  const text = removeNewlines(value);
  const isSpecial = isSpecialScheme(url.scheme);
  const authority = stringSlice(text, 0, authorityEnd(text, isSpecial));
  if (url.scheme === "file") {
    setFileHost(authority, url);
    return;
  }
  const colon = portColon(authority);
  if (colon === 0 || (colon > 0 && isNameOnly)) return;
  const name = colon < 0 ? authority : stringSlice(authority, 0, colon);
  if (name === "" && (isSpecial || hasCredentials(url) || url.port !== null)) return;
  const host = parseHost(name, isSpecial);
  if (host === undefined) return;
  url.host = host;
  if (colon >= 0) setPort(leadingDigits(stringSlice(authority, colon + 1)), url);
}

function leadingDigits(text: string): string {
  return (regExpExec(DIGITS, text) as RegExpExecArray)[0];
}

export function setPortText(url: UrlRecord, value: string): void {
  if (cannotHaveCredentials(url)) return;
  if (value === "") url.port = null;
  else setPort(leadingDigits(removeNewlines(value)), url);
}

export function setPathname(url: UrlRecord, value: string): void {
  if (typeof url.path === "string") return;
  const text = removeNewlines(value);
  const path: List<string> = list();
  url.path = path;
  const isSpecial = isSpecialScheme(url.scheme);
  if (text === "" && !isSpecial) {
    if (url.host === null) append(path, "");
    return;
  }
  const hasSlash = stringCharAt(text, 0) === "/" || (isSpecial && stringCharAt(text, 0) === "\\");
  appendPath(hasSlash ? stringSlice(text, 1) : text, url);
}

export function setSearch(url: UrlRecord, value: string): void {
  if (value === "") url.query = null;
  else
    url.query = encodeQuery(
      removeNewlines(stringCharAt(value, 0) === "?" ? stringSlice(value, 1) : value),
      url,
    );
}

export function setHash(url: UrlRecord, value: string): void {
  if (value === "") url.fragment = null;
  else
    url.fragment = encodeFragment(
      removeNewlines(stringCharAt(value, 0) === "#" ? stringSlice(value, 1) : value),
    );
}
