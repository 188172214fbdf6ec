/**
 * PrintJson: prints values as JSON text. Prints large values in pieces, so that other work can run in between. Runs
 * anywhere.
 *
 * - The text equals that of `JSON.stringify`, with sorted names if asked for.
 * - Small values are printed at once: an ordinary call does not wait.
 * - If the caller changes a large value while it is printed, the text mixes old and new parts.
 */
import type { Json } from "../contract/value.ts";
import { MAX_JSON_DEPTH } from "./json-text.ts";
import { buildJson } from "./parse-json.ts";
import { inTurns, type Steps } from "../loop/turn.ts";

/** About how many characters are printed at once, without pieces: this takes well below a millisecond. */
const SMALL = 65_536;
/** About how many characters are printed between two steps. */
const PIECE = 32_768;
const PARTS = 2048;
/** About the depth at which the engine's own printing overflows its stack. */
const MOST_LEVELS = 4096;

export interface PrintOptions {
  /** Sorts names, so that equal values have the same text. */
  readonly isSorted?: boolean;
  /** Returns the value to print instead of a part. */
  readonly spell?: ((part: unknown) => unknown) | undefined;
  /** The text of a list or record, where it is known: it is not printed again, and its names are not listed. */
  readonly textOf?: ((part: object) => string | undefined) | undefined;
}

/** Undefined if the value is not JSON: a cycle, a BigInt, a function, undefined. */
export function printJson(
  value: unknown,
  options: Pick<PrintOptions, "spell"> = {},
): string | undefined | Promise<string | undefined> {
  return isLarge(value) ? printLarge(value, options) : printSmall(value, options);
}

/** A copy made by printing and parsing, as a store would give it back; undefined if the value is not JSON. */
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

function printLarge(value: unknown, options: PrintOptions): Promise<string | undefined> {
  return inTurns(printPieces(value, options));
}

/** Whether both values have the same text, whatever the order of their names. False if one is not JSON. Works in turns. */
export async function hasSameText(one: unknown, other: unknown): Promise<boolean> {
  const text = await printLarge(one, { isSorted: true });
  return text !== undefined && text === (await printLarge(other, { isSorted: true }));
}

/** Like `printJson`, as a part of other work in turns. */
export function* printWhole(value: unknown): Steps<string | undefined> {
  return isLarge(value) ? yield* printPieces(value, {}) : printSmall(value, {});
}

function* printPieces(value: unknown, options: PrintOptions): Steps<string | undefined> {
  const pieces: string[] = [];
  try {
    const isJson = yield* printSteps(value, (piece) => pieces.push(piece), options);
    return isJson ? pieces.join("") : undefined;
  } catch {
    return undefined;
  }
}

/** The first `length` characters of the value's text. Prints little more than these. Empty if the value is not JSON. */
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

/** Whether the value's text may be long. A value with `toJSON` counts as short, because its text is unknown. */
export function isLarge(value: unknown): boolean {
  return lengthUpTo(value, SMALL) > SMALL;
}

/** About how many characters the value's text has, if these are not more than `most`; otherwise any larger number. */
export function lengthUpTo(value: unknown, most: number): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  try {
    return most - weigh(value, most);
  } catch {
    // Printing meets the same error. A value nested so deeply that the stack overflows here may be of any size.
    return most + 1;
  }
}

/** Subtracts the part's approximate text length from `most`. Stops as soon as the rest is negative. */
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

/** Characters counted for a number that is not a small integer: numbers take longest to print. */
const DIGITS = 16;

function weighMember(member: unknown, left: number): number {
  if (typeof member === "string") return left - member.length;
  if (typeof member === "number") return (member | 0) === member ? left : left - DIGITS;
  return typeof member === "object" && member !== null ? weigh(member, left) : left;
}

/**
 * Whether the value consists of plain JSON data alone and has a long text. Visits every part once, however many there
 * are. Ignores record members that are undefined. `onRecord` gets every record.
 */
export function isLargeJson(value: unknown, onRecord?: OnRecord): value is Json {
  const left = typeof value === "object" && value !== null ? leftOf(value, SMALL, 1, onRecord) : undefined;
  return left !== undefined && left < 0;
}

type OnRecord = (record: object) => void;

/**
 * Like `weigh`, but visits every part. Undefined if the value is not JSON, contains itself, or could read differently
 * the next time.
 */
function leftOf(part: object, most: number, level: number, onRecord?: OnRecord): number | undefined {
  let left: number | undefined = most - 2;
  if (level > MAX_JSON_DEPTH) return undefined;
  if (Array.isArray(part)) {
    left -= 2 * part.length;
    for (let at = 0; at < part.length && left !== undefined; at++)
      left = leftOfMember(part[at], left, level, onRecord);
    return left;
  }
  const prototype: unknown = Object.getPrototypeOf(part);
  if (prototype !== Object.prototype && prototype !== null) return undefined;
  if (typeof (part as { readonly toJSON?: unknown }).toJSON === "function") return undefined;
  onRecord?.(part);
  for (const name of Object.keys(part)) {
    const member = (part as Readonly<Record<string, unknown>>)[name];
    // Its text leaves this member out.
    if (member === undefined) continue;
    left = leftOfMember(member, left - name.length - 5, level, onRecord);
    if (left === undefined) return undefined;
  }
  return left;
}

function leftOfMember(member: unknown, left: number, level: number, onRecord?: OnRecord): number | undefined {
  if (typeof member === "object" && member !== null) return leftOf(member, left, level + 1, onRecord);
  const isJson =
    member === null ||
    typeof member === "string" ||
    typeof member === "boolean" ||
    (typeof member === "number" && Number.isFinite(member));
  return isJson ? weighMember(member, left) : undefined;
}

/** A list or record whose beginning is printed and whose end is not. */
interface OpenValue {
  readonly holder: object;
  readonly isList: boolean;
  /** A record's names, read when printing reaches the record. */
  names: readonly string[] | undefined;
  at: number;
  /** Whether none of its members is printed yet. */
  isFirst: boolean;
}

/**
 * Gives the text piece by piece to `put`. Returns false if the value has no text. Throws where `JSON.stringify` throws.
 */
export function* printSteps(
  value: unknown,
  put: (piece: string) => void,
  { isSorted = false, spell, textOf }: PrintOptions = {},
): Steps<boolean> {
  const open: OpenValue[] = [];
  const holders = new Set<object>();
  /** The part's text, or its opening bracket; undefined if the part is left out. */
  const begin = (given: unknown, name: string): string | undefined => {
    const own = ownJson(given, name);
    const part = spell === undefined ? own : spell(own);
    if (typeof part !== "object" || part === null || isLeaf(part)) return JSON.stringify(part);
    const known = textOf?.(part);
    if (known !== undefined) return known;
    if (holders.has(part)) throw new TypeError("Cannot print a value that is part of itself");
    if (open.length === MOST_LEVELS) throw new RangeError("Cannot print a value that is nested so deeply");
    holders.add(part);
    const isList = Array.isArray(part);
    open.push({ holder: part, isList, names: undefined, at: 0, isFirst: true });
    return isList ? "[" : "{";
  };
  const first = begin(value, "");
  if (first === undefined) return false;
  // Pieces are joined, not concatenated: a concatenated text is a tree of its parts until somebody reads it, and kept
  // trees of hundreds of thousands of parts block the thread in the garbage collector.
  let parts = [first];
  let length = first.length;
  // Members that are left out take time, too.
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
      // Listing and sorting the names are short enough each, but not together.
      if (names.length > PARTS) yield;
      // In the engine's own order, which needs no function call for each pair.
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

/** Objects that print as a single value: boxed numbers, strings and booleans, and raw JSON text. */
function isLeaf(part: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(part);
  if (prototype === Object.prototype || Array.isArray(part)) return false;
  if (LEAF_TAGS.has(Object.prototype.toString.call(part))) return true;
  return (JSON as { isRawJSON?: (part: object) => boolean }).isRawJSON?.(part) === true;
}
