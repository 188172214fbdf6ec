/**
 * PrintJson: values as JSON text, where they are large in pieces, so that others have their turn in between.
 *
 * - The text is the one that `JSON.stringify` gives; with names sorted, if that is asked for.
 * - What is small is printed at once: an ordinary call waits for nothing.
 * - Who changes a large value while it is printed gets a text of several moments.
 */
import type { Json } from "../contract/value.ts";
import { MAX_JSON_DEPTH } from "./json-text.ts";
import { buildJson } from "./parse-json.ts";
import { inTurns, type Steps } from "../loop/turn.ts";

/** Characters, about, that are printed at once where there may be more: well below a millisecond. */
const SMALL = 65_536;
/** What is printed between two steps. */
const PIECE = 32_768;
const PARTS = 2048;
/** About what the engine itself prints before its stack is full. */
const MOST_LEVELS = 4096;

export interface PrintOptions {
  /** Equal values have the same text then, in whatever order their names are. */
  readonly isSorted?: boolean;
  /** What is printed in place of a part. */
  readonly spell?: ((part: unknown) => unknown) | undefined;
}

/** Undefined for what is no JSON: cycles, BigInts, functions, nothing at all. */
export function printJson(
  value: unknown,
  options: Pick<PrintOptions, "spell"> = {},
): string | undefined | Promise<string | undefined> {
  return isLarge(value) ? printLarge(value, options) : printSmall(value, options);
}

/** A copy as it survives being stored; undefined for what is no JSON. */
export function copyJson(
  value: unknown,
  options: Pick<PrintOptions, "spell"> = {},
): Json | undefined | Promise<Json | undefined> {
  const text = printJson(value, options);
  if (text instanceof Promise) return text.then((printed) => buildIfAny(printed));
  return buildIfAny(text);
}

function buildIfAny(text: string | undefined): Json | undefined | Promise<Json> {
  return text === undefined ? undefined : buildJson(text);
}

function printSmall(value: unknown, { spell }: PrintOptions): string | undefined {
  try {
    return JSON.stringify(value, spell && ((_, part: unknown) => spell(part)));
  } catch {
    return undefined;
  }
}

async function printLarge(value: unknown, options: PrintOptions): Promise<string | undefined> {
  const pieces: string[] = [];
  try {
    const isJson = await inTurns(printSteps(value, (piece) => pieces.push(piece), options));
    return isJson ? pieces.join("") : undefined;
  } catch {
    return undefined;
  }
}

/** How its text begins, of which no more is printed than it takes; empty for what is no JSON. */
export function printBeginning(value: unknown, length: number): string {
  let text = "";
  const steps = printSteps(value, (piece) => {
    text += piece;
  });
  try {
    while (text.length < length && steps.next().done !== true);
  } catch {
    return "";
  }
  return text.slice(0, length);
}

/** Whether its text may be long; of what prints itself nothing is known. */
export function isLarge(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return typeof value === "string" && value.length > SMALL;
  try {
    return weigh(value, SMALL) < 0;
  } catch {
    // Who prints it finds the same; what is nested so deeply that there is no room to look may be anything.
    return true;
  }
}

/** What is left of so many characters behind it; less than none as soon as they are too few. */
function weigh(part: object, most: number): number {
  let left = most - 2;
  if (Array.isArray(part)) {
    left -= 2 * part.length;
    for (let at = 0; at < part.length && left >= 0; at++) left = weighMember(part[at], left);
    return left;
  }
  const prototype: unknown = Object.getPrototypeOf(part);
  if (prototype !== Object.prototype && prototype !== null) {
    if (ArrayBuffer.isView(part)) return left - part.byteLength;
    if (part instanceof Set || part instanceof Map) return weigh([...part].slice(0, most), left);
  }
  if (typeof (part as { readonly toJSON?: unknown }).toJSON === "function") return left;
  for (const name in part) {
    left = weighMember((part as Readonly<Record<string, unknown>>)[name], left - name.length - 5);
    if (left < 0) return left;
  }
  return left;
}

/** Characters of a number that is not a small one: of all JSON they take longest to print. */
const DIGITS = 16;

function weighMember(member: unknown, left: number): number {
  if (typeof member === "string") return left - member.length;
  if (typeof member === "number") return (member | 0) === member ? left : left - DIGITS;
  return typeof member === "object" && member !== null ? weigh(member, left) : left;
}

/**
 * Whether it is nothing but JSON as it is, and a long text. Looks at each part once, whatever their number. Members of records
 * that are undefined are none.
 */
export function isLargeJson(value: unknown): value is Json {
  const left = typeof value === "object" && value !== null ? leftOf(value, SMALL, 1) : undefined;
  return left !== undefined && left < 0;
}

/** As `weigh`, to the end; undefined for what is no JSON, is part of itself, or may be another value the next time. */
function leftOf(part: object, most: number, level: number): number | undefined {
  let left: number | undefined = most - 2;
  if (level > MAX_JSON_DEPTH) return undefined;
  if (Array.isArray(part)) {
    left -= 2 * part.length;
    for (let at = 0; at < part.length && left !== undefined; at++) left = leftOfMember(part[at], left, level);
    return left;
  }
  const prototype: unknown = Object.getPrototypeOf(part);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  if (typeof (part as { readonly toJSON?: unknown }).toJSON === "function") return undefined;
  for (const name of Object.keys(part)) {
    const member = (part as Readonly<Record<string, unknown>>)[name];
    // It is left out of the text.
    if (member === undefined) continue;
    left = leftOfMember(member, left - name.length - 5, level);
    if (left === undefined) return undefined;
  }
  return left;
}

function leftOfMember(member: unknown, left: number, level: number): number | undefined {
  if (typeof member === "object" && member !== null) return leftOf(member, left, level + 1);
  const isJson =
    member === null ||
    typeof member === "string" ||
    typeof member === "boolean" ||
    (typeof member === "number" && Number.isFinite(member));
  return isJson ? weighMember(member, left) : undefined;
}

/** A list or record that has begun and not ended. */
interface OpenValue {
  readonly holder: object;
  readonly isList: boolean;
  /** Of a record; found when it is come to. */
  names: readonly string[] | undefined;
  at: number;
  /** Whether nothing of it is printed yet. */
  isFirst: boolean;
}

/** Gives the text piece by piece; false for what has none. Throws where `JSON.stringify` does. */
export function* printSteps(
  value: unknown,
  put: (piece: string) => void,
  { isSorted = false, spell }: PrintOptions = {},
): Steps<boolean> {
  const open: OpenValue[] = [];
  const holders = new Set<object>();
  /** Its text, or how it begins; undefined for what is left out. */
  const begin = (given: unknown, name: string): string | undefined => {
    const own = ownJson(given, name);
    const part = spell === undefined ? own : spell(own);
    if (typeof part !== "object" || part === null || isLeaf(part)) return JSON.stringify(part);
    if (holders.has(part)) throw new TypeError("Cannot print a value that is part of itself");
    if (open.length === MOST_LEVELS) throw new RangeError("Cannot print a value that is nested so deeply");
    holders.add(part);
    const isList = Array.isArray(part);
    open.push({ holder: part, isList, names: undefined, at: 0, isFirst: true });
    return isList ? "[" : "{";
  };
  const first = begin(value, "");
  if (first === undefined) return false;
  // Joined, not added to each other: such a text is a tree of its parts until somebody reads it, and trees of hundreds of
  // thousands that are kept hold the thread in the garbage collector.
  let parts = [first];
  let length = first.length;
  // What is left out takes its time, too.
  let looked = 0;
  for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
    if (++looked > PARTS || length > PIECE) {
      put(parts.join(""));
      parts = [];
      length = 0;
      looked = 0;
      yield;
    }
    if (!last.isList && last.names === undefined) {
      const names = Object.keys(last.holder);
      // Neither takes long, both together do.
      if (names.length > PARTS) yield;
      // As the engine compares texts, without a function that is asked for each pair.
      last.names = isSorted ? names.sort() : names;
      if (isSorted && names.length > PARTS) yield;
    }
    const { holder, isList, names, at, isFirst } = last;
    if (at >= (isList ? (holder as unknown[]).length : (names?.length ?? 0))) {
      parts.push(isList ? "]" : "}");
      length++;
      holders.delete(holder);
      open.pop();
      continue;
    }
    last.at++;
    const name = names?.[at] ?? String(at);
    const member = begin((holder as Record<string, unknown>)[name], name) ?? (isList ? "null" : undefined);
    if (member === undefined) continue;
    last.isFirst = false;
    const part = `${isFirst ? "" : ","}${isList ? "" : `${JSON.stringify(name)}:`}${member}`;
    parts.push(part);
    length += part.length;
  }
  put(parts.join(""));
  return true;
}

function ownJson(part: unknown, name: string): unknown {
  if (part === null || (typeof part !== "object" && typeof part !== "bigint" && typeof part !== "function")) {
    return part;
  }
  const { toJSON } = part as { readonly toJSON?: unknown };
  return typeof toJSON === "function" ? toJSON.call(part, name) : part;
}

const LEAF_TAGS: ReadonlySet<string> = new Set(["[object Number]", "[object String]", "[object Boolean]"]);

/** What is an object and no record: numbers, texts and the like that were made into one, and JSON text as it is. */
function isLeaf(part: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(part);
  if (prototype === Object.prototype || Array.isArray(part)) return false;
  if (LEAF_TAGS.has(Object.prototype.toString.call(part))) return true;
  return (JSON as { isRawJSON?: (part: object) => boolean }).isRawJSON?.(part) === true;
}
