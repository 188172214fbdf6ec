/**
 * URL IDNA: converts domain names to ASCII. Runs inside the guest.
 *
 * - Close to UTS #46, but without its tables. Mapping removes ignored characters, lower-cases each character and
 *   applies NFKC. Validity depends on general category and script.
 * - Differences from the real tables: it accepts characters that UTS #46 disallows individually although their category
 *   is fine, the Bidi rule uses blocks instead of Bidi classes, and the joiner rule knows only the common viramas.
 */
import { decodePunycode, encodePunycode } from "./punycode.ts";
import {
  append,
  arrayJoin,
  at,
  fromCharCode,
  type List,
  list,
  regExpExec,
  stringCharCodeAt,
  stringCodePointAt,
  stringIndexOf,
  stringNormalize,
  stringSlice,
  stringToLowerCase,
} from "../primordials.ts";

const NOT_ASCII = /[^\0-\x7f]/;
const IGNORED =
  /[\u00AD\u034F\u180B-\u180D\u180F\u200B\u2060\u2064\uFE00-\uFE0F\uFEFF]|[\u{E0100}-\u{E01EF}]/u;
const DOT = /[\u3002\uFF0E\uFF61]/;
const DISALLOWED = /[\p{C}\p{Z}\u2FF0-\u2FFF\uFFFC\uFFFD\u0340\u0341\u115F\u1160\u3164\uFFA0]/u;
const MARK_FIRST = /^\p{M}/u;
const DIGIT_FIRST = /^[0-9]/;
const JOINER = /[\u200C\u200D]/;
const VIRAMA_BEFORE_JOINER =
  /(?:^|[^\u094D\u09CD\u0A4D\u0ACD\u0B4D\u0BCD\u0C4D\u0CCD\u0D4D\u0DCA\u0E3A\u0F84\u1039\u17D2])[\u200C\u200D]/;
const RIGHT_TO_LEFT =
  /(?=\p{L})[\u0590-\u08FF\u200F\uFB1D-\uFDFF\uFE70-\uFEFF\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;
const LEFT_TO_RIGHT = /[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Han}\p{Script=Hangul}]/u;

function isMatch(pattern: RegExp, text: string): boolean {
  return regExpExec(pattern, text) !== null;
}

/**
 * Maps each character by itself, so that a final sigma stays an ordinary sigma; undefined if a character hides a dot.
 */
function mapText(text: string): string | undefined {
  const parts = list<string>();
  for (let i = 0; i < text.length;) {
    const point = stringCodePointAt(text, i);
    const size = point > 0xffff ? 2 : 1;
    const one = stringSlice(text, i, i + size);
    i += size;
    if (isMatch(IGNORED, one)) continue;
    if (isMatch(DOT, one)) append(parts, ".");
    else if (point > 0x7f && stringIndexOf(stringNormalize(one, "NFKC"), ".") >= 0) return undefined;
    else append(parts, toFolded(one));
  }
  return arrayJoin(parts, "");
}

/** Folds a character: Cherokee to its capitals, everything else to lower case. */
function toFolded(one: string): string {
  const lower = stringToLowerCase(one);
  const unit = stringCharCodeAt(lower, 0);
  if (unit >= 0xab70 && unit <= 0xabbf) return fromCharCode(unit - 0x97d0);
  return unit >= 0x13f8 && unit <= 0x13fd ? fromCharCode(unit - 8) : lower;
}

function mapDomain(domain: string): string | undefined {
  const once = mapText(domain);
  const twice = once === undefined ? undefined : mapText(stringNormalize(once, "NFKC"));
  return twice === undefined ? undefined : stringNormalize(twice, "NFKC");
}

function splitLabels(domain: string): List<string> {
  const labels = list<string>();
  let from = 0;
  for (let dot = stringIndexOf(domain, "."); dot >= 0; dot = stringIndexOf(domain, ".", from)) {
    append(labels, stringSlice(domain, from, dot));
    from = dot + 1;
  }
  append(labels, stringSlice(domain, from));
  return labels;
}

/** Undefined if the name is not valid. */
export function domainToAscii(domain: string): string | undefined {
  const lower = stringToLowerCase(domain);
  if (!isMatch(NOT_ASCII, domain) && stringIndexOf(lower, "xn--") < 0) return lower;
  const mapped = mapDomain(domain);
  if (mapped === undefined) return undefined;
  const labels = splitLabels(mapped);
  let isBidi = false;
  for (let i = 0; i < labels.length; i += 1) {
    const label = at(labels, i);
    let shown = label;
    if (stringSlice(label, 0, 4) === "xn--") {
      const decoded = isMatch(NOT_ASCII, label) ? undefined : decodePunycode(stringSlice(label, 4));
      if (decoded === undefined || !isMatch(NOT_ASCII, decoded)) return undefined;
      if (mapDomain(decoded) !== decoded) return undefined;
      shown = decoded;
    }
    if (!isMatch(NOT_ASCII, shown)) continue;
    if (!isValidLabel(shown)) return undefined;
    if (isMatch(RIGHT_TO_LEFT, shown)) isBidi = true;
    labels[i] = shown;
  }
  for (let i = 0; i < labels.length; i += 1) {
    const label = at(labels, i);
    if (isBidi && label !== "" && !isBidiLabel(label)) return undefined;
    if (!isMatch(NOT_ASCII, label)) continue;
    const encoded = encodePunycode(label);
    if (encoded === undefined) return undefined;
    labels[i] = `xn--${encoded}`;
  }
  return arrayJoin(labels, ".");
}

function isValidLabel(label: string): boolean {
  if (isMatch(MARK_FIRST, label)) return false;
  if (isMatch(JOINER, label) && isMatch(VIRAMA_BEFORE_JOINER, label)) return false;
  let bare = label;
  if (isMatch(JOINER, label)) {
    bare = "";
    for (let i = 0; i < label.length; i += 1) {
      const unit = label[i] as string;
      if (unit !== fromCharCode(0x200c) && unit !== fromCharCode(0x200d)) bare += unit;
    }
  }
  return !isMatch(DISALLOWED, bare);
}

function isBidiLabel(label: string): boolean {
  const found = regExpExec(RIGHT_TO_LEFT, label);
  if (found !== null) return found.index === 0 && !isMatch(LEFT_TO_RIGHT, label);
  return !isMatch(DIGIT_FIRST, label);
}
