/**
 * Inspect text: quotes strings and property keys, in linear time and within the room that is left. Runs inside the
 * guest.
 */
import {
  fromCharCode,
  max,
  numberToString,
  regExpExec,
  stringCharCodeAt,
  stringIndexOf,
  stringSlice,
  symbolToString,
} from "../primordials.ts";

const IDENTIFIER = /^[a-zA-Z_$][\w$]*$/;

export function renderString(text: string, room: number): string {
  const shown = text.length > room ? stringSlice(text, 0, max(room, 16)) : text;
  const mark =
    stringIndexOf(shown, "'") < 0
      ? "'"
      : stringIndexOf(shown, '"') < 0
        ? '"'
        : stringIndexOf(shown, "`") < 0 && stringIndexOf(shown, "${") < 0
          ? "`"
          : "'";
  const markCode = stringCharCodeAt(mark, 0);
  let result = mark;
  let plainFrom = 0;
  for (let i = 0; i < shown.length; i += 1) {
    const escaped = escapeUnit(shown, i, markCode);
    if (escaped === "") continue;
    result += stringSlice(shown, plainFrom, i) + escaped;
    plainFrom = i + 1;
  }
  result += stringSlice(shown, plainFrom) + mark;
  const left = text.length - shown.length;
  return left === 0 ? result : `${result}… ${left} more character${left === 1 ? "" : "s"}`;
}

function escapeUnit(text: string, index: number, mark: number): string {
  const unit = stringCharCodeAt(text, index);
  if (unit === mark || unit === 0x5c) return `\\${fromCharCode(unit)}`;
  if (unit >= 0x20 && unit < 0x7f) return "";
  switch (unit) {
    case 8:
      return "\\b";
    case 9:
      return "\\t";
    case 10:
      return "\\n";
    case 12:
      return "\\f";
    case 13:
      return "\\r";
    default:
  }
  if (unit < 0xa0) return `\\x${HEX[unit >> 4] as string}${HEX[unit & 15] as string}`;
  if (unit < 0xd800 || unit > 0xdfff) return "";
  return isPaired(text, index, unit) ? "" : `\\u${numberToString(unit, 16)}`;
}

function isPaired(text: string, index: number, unit: number): boolean {
  const other = stringCharCodeAt(text, unit < 0xdc00 ? index + 1 : index - 1);
  return unit < 0xdc00 ? other >= 0xdc00 && other <= 0xdfff : other >= 0xd800 && other < 0xdc00;
}

const HEX = "0123456789ABCDEF";

export function renderKey(key: string | symbol): string {
  if (typeof key === "symbol") return symbolToString(key);
  if (key === "__proto__") return "['__proto__']";
  return key.length < 256 && regExpExec(IDENTIFIER, key) !== null ? key : renderString(key, 256);
}
