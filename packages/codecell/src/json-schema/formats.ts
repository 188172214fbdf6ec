/**
 * Formats: checks the named formats of strings, each in linear time. Runs anywhere.
 *
 * - No expression backtracks over more than a label or a number. Very long texts are still left to another thread.
 * - An unknown format is not a constraint.
 */
import { type Judging, NotHere } from "./judging.ts";

export type FormatTest = (text: string, judging: Judging) => boolean;

/** Longer texts, such as an image inside a data URL, are checked on another thread. */
const LONGEST = 65_536;
/** Compiling a longer expression takes more than a few microseconds. */
const LONGEST_REGEX = 256;
const STEPS_OF_REGEX = 256;

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isDate(text: string): boolean {
  const [, year = 0, month = 0, day = 0] = (/^(\d{4})-(\d\d)-(\d\d)$/u.exec(text) ?? []).map(Number);
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day > 0 && day <= (month === 2 && isLeap ? 29 : (DAYS[month - 1] ?? 0));
}

const TIME = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[zZ]|([+-])(\d\d):(\d\d))$/u;

function isTime(text: string): boolean {
  const found = TIME.exec(text);
  if (found === null) return false;
  const [hour, minute, second] = found.slice(1, 4).map(Number) as [number, number, number];
  const [offsetHour, offsetMinute] = [Number(found[5] ?? 0), Number(found[6] ?? 0)];
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return false;
  if (second < 60) return true;
  // A leap second is at 23:59:60 in UTC.
  const offset = (offsetHour * 60 + offsetMinute) * (found[4] === "-" ? 1 : -1);
  return (hour * 60 + minute + offset + 2880) % 1440 === 1439;
}

function isDateTime(text: string): boolean {
  return /^[tT\s]$/u.test(text[10] ?? "") && isDate(text.slice(0, 10)) && isTime(text.slice(11));
}

const DURATION = /^P(?:\d+W|(?=\d|T)(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+S)?)?)$/u;

function isIpv4(text: string): boolean {
  const parts = text.split(".", 5);
  return (
    parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/u.test(part) && Number(part) < 256)
  );
}

function isIpv6(text: string): boolean {
  if (text.length > 45) return false;
  const halves = text.split("::");
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === "" ? [] : half.split(":")));
  const last = groups.at(-1);
  const hasIpv4 = last?.includes(".") === true && !text.endsWith(":");
  if (hasIpv4 && !isIpv4(groups.pop() ?? "")) return false;
  const count = groups.length + (hasIpv4 ? 2 : 0);
  return (
    groups.every((group) => /^[\da-f]{1,4}$/iu.test(group)) && (halves.length === 2 ? count < 8 : count === 8)
  );
}

const LABEL = /^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/iu;

function isHostname(text: string): boolean {
  return text.length <= 253 && text.split(".").every((label) => LABEL.test(label));
}

function isEmail(text: string): boolean {
  const at = text.lastIndexOf("@");
  const [name, host] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1 || name.length > 64) return false;
  const isName = name.startsWith('"')
    ? /^"(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"$/u.test(name)
    : /^[a-z\d.!#$%&'*+/=?^_`{|}~-]+$/iu.test(name) && !/^\.|\.\.|\.$/u.test(name);
  if (!isName) return false;
  if (!host.startsWith("[") || !host.endsWith("]")) return isHostname(host);
  const address = host.slice(1, -1);
  return /^ipv6:/iu.test(address) ? isIpv6(address.slice(5)) : isIpv4(address);
}

/**
 * Finds a forbidden character. An expression that repeats the allowed characters would need a stack as long as the
 * text.
 */
const NO_URI_CHARACTER = /[^a-z\d\-._~!$&'()*+,;=:@/?#[\]%]|%(?![\da-f]{2})/iu;
const SCHEME = /^[a-z][a-z\d+\-.]*:/iu;
/** The text between `//` and the path. */
const AUTHORITY = /^(?:[^@[\]]*@)?(?:\[([\da-f:.]+|v[\da-f]+\.[^\]]+)\]|[^@:[\]]*)(?::\d*)?$/iu;

function isUriReference(text: string): boolean {
  if (NO_URI_CHARACTER.test(text)) return false;
  const hash = text.indexOf("#");
  if (hash !== -1 && text.includes("#", hash + 1)) return false;
  const rest = (hash === -1 ? text : text.slice(0, hash)).replace(SCHEME, "");
  // Brackets may only surround an address. Without a scheme the first segment has no colon.
  const [, authority, after = ""] = /^\/\/([^/?]*)([^]*)$/u.exec(rest) ?? [undefined, undefined, rest];
  if (/[[\]]/u.test(after) || (hash !== -1 && /[[\]]/u.test(text.slice(hash)))) return false;
  if (authority !== undefined) {
    const found = AUTHORITY.exec(authority);
    return found !== null && (found[1] === undefined || /^v/iu.test(found[1]) || isIpv6(found[1]));
  }
  return SCHEME.test(text) || !/^[^/?]*:/u.test(after);
}

/** A URI has a scheme and text after the scheme. */
function isUri(text: string): boolean {
  return SCHEME.test(text) && !/^[^:]*:$/u.test(text) && isUriReference(text);
}

/** A web URL; its host name may use any alphabet. */
function isUrl(text: string): boolean {
  const found = /^(?:https?|ftp):\/\/(?:[^\s/?#@]*@)?([^\s/?#@:]+)(?::\d{1,5})?(?:[/?#]\S*)?$/iu.exec(text);
  const host = found?.[1] ?? "";
  if (isIpv4(host)) return true;
  const labels = host.split(".");
  const isName = labels.every((label) =>
    /^[a-z\d\u00a1-\uffff](?:[a-z\d\u00a1-\uffff-]*[a-z\d\u00a1-\uffff])?$/iu.test(label),
  );
  return host.length <= 253 && labels.length > 1 && isName && !/^\d+$/u.test(labels.at(-1) ?? "");
}

function isUriTemplate(text: string, judging: Judging): boolean {
  const outside = text.replaceAll(/\{([^{}]*)\}/gu, (_, expression: string) =>
    isExpression(expression, judging) ? "" : "{",
  );
  return !/[\0-\x20"'<>\\^`{|}\x7f]|%(?![\da-f]{2})/iu.test(outside);
}

function isExpression(text: string, judging: Judging): boolean {
  const names = (/^[+#./;?&=,!@|]?(.+)$/u.exec(text)?.[1] ?? "").split(",");
  // Many short names take several times as long as one text of the same length.
  judging.spend(names.length);
  return names.every((name) =>
    /^(?:\w|%[\da-f]{2})(?:\w|\.(?!\.|$)|%[\da-f]{2})*(?::[1-9]\d{0,3}|\*)?$/iu.test(name),
  );
}

function isRegex(text: string, judging: Judging): boolean {
  // Compiling an expression is native work that nothing can stop, and Unicode classes are large.
  if ((text.length > LONGEST_REGEX || /\\p/iu.test(text)) && !judging.mayBeSlow) throw new NotHere();
  judging.spend(STEPS_OF_REGEX);
  try {
    void new RegExp(text, "u");
    return true;
  } catch {
    return false;
  }
}

const TESTS: ReadonlyMap<string, FormatTest> = new Map<string, FormatTest>([
  ["date", isDate],
  ["time", isTime],
  ["date-time", isDateTime],
  ["duration", (text) => DURATION.test(text)],
  ["email", isEmail],
  ["hostname", isHostname],
  ["ipv4", isIpv4],
  ["ipv6", isIpv6],
  ["uri", isUri],
  ["uri-reference", isUriReference],
  ["uri-template", isUriTemplate],
  ["url", isUrl],
  ["uuid", (text) => /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/iu.test(text)],
  ["regex", isRegex],
  ["json-pointer", (text) => (text === "" || text.startsWith("/")) && !/~(?![01])/u.test(text)],
  [
    "json-pointer-uri-fragment",
    (text) => /^#(?:$|\/)/u.test(text) && !NO_URI_CHARACTER.test(text) && !/~(?![01])/u.test(text),
  ],
  ["relative-json-pointer", (text) => /^(?:0|[1-9]\d*)(?:#$|$|\/)/u.test(text) && !/~(?![01])/u.test(text)],
]);

export function formatTest(name: string): FormatTest | undefined {
  const test = TESTS.get(name);
  if (test === undefined) return undefined;
  return (text, judging) => {
    judging.spend(1 + (text.length >> 3));
    // On another thread a long text delays nobody else.
    if (text.length > LONGEST && !judging.mayBeSlow) throw new NotHere();
    return test(text, judging);
  };
}
