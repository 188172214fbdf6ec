/**
 * Format: joins the arguments of one console call into one bounded text, with printf-like specifiers. Runs inside the
 * guest.
 */
import { renderValue, renderBigInt, renderPrimitive } from "./inspect.ts";
import {
  is,
  isError,
  jsonStringify,
  list,
  append,
  arrayJoin,
  numberToString,
  stringSlice,
  stringIndexOf,
} from "../primordials.ts";

const MAX_TEXT = 16_384;
const DEPTH = 4;
const parseInteger = parseInt;
const parseDecimal = parseFloat;

/** Cuts a text to the bound and says how much is missing. */
export function clip(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  const room = MAX_TEXT - 40;
  return `${stringSlice(text, 0, room)}… ${text.length - room} more characters`;
}

export function formatArguments(args: readonly unknown[]): string {
  const parts = list<string>();
  let room = MAX_TEXT;
  let next = 0;
  if (args.length > 1 && typeof args[0] === "string" && stringIndexOf(args[0], "%") >= 0) {
    const head = formatTemplate(args[0], args);
    append(parts, head.text);
    room -= head.text.length;
    next = head.used;
  }
  for (; next < args.length && room > 0; next += 1) {
    const text = formatOne(args[next], room);
    append(parts, text);
    room -= text.length;
  }
  if (next < args.length) append(parts, `… ${args.length - next} more arguments`);
  return clip(arrayJoin(parts, " "));
}

function formatOne(value: unknown, room: number): string {
  return typeof value === "string" ? value : renderValue(value, DEPTH, room);
}

function formatTemplate(template: string, args: readonly unknown[]): { text: string; used: number } {
  let text = "";
  let used = 1;
  let from = 0;
  for (;;) {
    const found = stringIndexOf(template, "%", from);
    if (found < 0 || found + 1 >= template.length || text.length > MAX_TEXT) break;
    const letter = template[found + 1] as string;
    text += stringSlice(template, from, found);
    from = found + 2;
    if (letter === "%") text += "%";
    else if (used >= args.length || stringIndexOf("sdifjoOc", letter) < 0) text += `%${letter}`;
    else {
      text += formatSpecifier(letter, args[used], MAX_TEXT - text.length);
      used += 1;
    }
  }
  return { text: text + stringSlice(template, from), used };
}

function formatSpecifier(letter: string, value: unknown, room: number): string {
  switch (letter) {
    case "s":
      if (typeof value === "string") return value;
      return typeof value === "object" && value !== null && !isError(value)
        ? renderValue(value, 1, room)
        : renderValue(value, DEPTH, room);
    case "d":
    case "i":
    case "f":
      return formatNumber(letter, value);
    case "j":
      return formatJson(value);
    case "c":
      return "";
    default:
      return renderValue(value, DEPTH, room);
  }
}

function formatNumber(letter: string, value: unknown): string {
  if (typeof value === "bigint" && letter !== "f") return `${renderBigInt(value)}n`;
  if (typeof value === "object" || typeof value === "symbol" || typeof value === "function") return "NaN";
  if (letter === "d") return renderPrimitive(typeof value === "bigint" ? value : toNumber(value), 32);
  const text = typeof value === "string" ? stringSlice(value, 0, 400) : toPlainText(value);
  const parsed = letter === "i" ? parseInteger(text, 10) : parseDecimal(text);
  return is(parsed, -0) ? "-0" : numberToString(parsed);
}

function toNumber(value: unknown): number {
  return +(typeof value === "string" ? stringSlice(value, 0, 400) : (value as boolean));
}

function toPlainText(value: unknown): string {
  return typeof value === "bigint" ? renderBigInt(value) : `${value as number | boolean | undefined}`;
}

function formatJson(value: unknown): string {
  try {
    return jsonStringify(value) ?? "undefined";
  } catch {
    return "[Circular]";
  }
}
