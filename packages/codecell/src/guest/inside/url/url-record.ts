/**
 * URL record: the parsed URL, its serialisation, and the facts about schemes and paths that parsing needs. Runs inside
 * the guest.
 */
import {
  append,
  arrayJoin,
  at,
  type List,
  list,
  numberToString,
  record,
  regExpExec,
} from "../primordials.ts";

export type UrlRecord = {
  scheme: string;
  username: string;
  password: string;
  /** The serialised host; null means no host, "" means the empty host. */
  host: string | null;
  port: number | null;
  /** A string is an opaque path. */
  path: List<string> | string;
  query: string | null;
  fragment: string | null;
};

const specialPorts = record<number>();
specialPorts["http"] = 80;
specialPorts["https"] = 443;
specialPorts["ws"] = 80;
specialPorts["wss"] = 443;
specialPorts["ftp"] = 21;
specialPorts["file"] = -1;

const DRIVE = /^[a-zA-Z][:|]$/;
const NORMAL_DRIVE = /^[a-zA-Z]:$/;
const DRIVE_START = /^[a-zA-Z][:|](?:[/\\?#]|$)/;

export function createRecord(): UrlRecord {
  return {
    scheme: "",
    username: "",
    password: "",
    host: null,
    port: null,
    path: list(),
    query: null,
    fragment: null,
  };
}

export function isSpecialScheme(scheme: string): boolean {
  return specialPorts[scheme] !== undefined;
}

export function isDefaultPort(scheme: string, port: number): boolean {
  return specialPorts[scheme] === port;
}

export function isDriveLetter(text: string): boolean {
  return text.length === 2 && regExpExec(DRIVE, text) !== null;
}

export function isNormalDriveLetter(text: string | undefined): boolean {
  return text !== undefined && text.length === 2 && regExpExec(NORMAL_DRIVE, text) !== null;
}

export function startsWithDriveLetter(text: string): boolean {
  return regExpExec(DRIVE_START, text) !== null;
}

export function copyPath(path: List<string> | string): List<string> | string {
  if (typeof path === "string") return path;
  const copy = list<string>();
  for (let i = 0; i < path.length; i += 1) append(copy, at(path, i));
  return copy;
}

export function shortenPath(url: UrlRecord): void {
  const path = url.path as List<string>;
  if (url.scheme === "file" && path.length === 1 && isNormalDriveLetter(path[0])) return;
  if (path.length > 0) path.length -= 1;
}

export function hasCredentials(url: UrlRecord): boolean {
  return url.username !== "" || url.password !== "";
}

export function cannotHaveCredentials(url: UrlRecord): boolean {
  return url.host === null || url.host === "" || url.scheme === "file";
}

export function renderPath(url: UrlRecord): string {
  const path = url.path;
  if (typeof path === "string") return path;
  return path.length === 0 ? "" : `/${arrayJoin(path, "/")}`;
}

export function renderHost(url: UrlRecord): string {
  if (url.host === null) return "";
  return url.port === null ? url.host : `${url.host}:${numberToString(url.port)}`;
}

export function renderUrl(url: UrlRecord): string {
  let text = `${url.scheme}:`;
  if (url.host !== null) {
    text += "//";
    if (hasCredentials(url)) {
      text += url.password === "" ? `${url.username}@` : `${url.username}:${url.password}@`;
    }
    text += renderHost(url);
  } else if (typeof url.path !== "string" && url.path.length > 1 && url.path[0] === "") text += "/.";
  text += renderPath(url);
  if (url.query !== null) text += `?${url.query}`;
  if (url.fragment !== null) text += `#${url.fragment}`;
  return text;
}
