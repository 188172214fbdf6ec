/**
 * Runs on the host. Makes a JSON value fit, as a value of the same structure.
 *
 * - The result has at most as many bytes as asked for. Every part is unchanged or says what is missing: how many
 *   bytes of a text, items of a list, fields of a record.
 * - Small fields stay whole while large ones share the rest. A list keeps its first items.
 * - A value that fits is given back itself. Only the part of a large value that is needed for the cut is read.
 */
import { type KeysOf, rememberingKeys } from "../../catalog/observed-shape.ts";
import type { Json, JsonRecord } from "../../contract/value.ts";
import { bareEnd, cutText, jsonTextBytes } from "./shorten-text.ts";

/** The smallest size to which every value can be cut: `"…"`. */
const LEAST_BYTES = 5;

/** A field that has to be cut gets at least so many bytes. */
const LEAST_FIELD_BYTES = 24;
/** A record with more fields is a table, and is cut like a list. */
const MOST_FAIR_FIELDS = 32;
/** So many items of a list are shown that a large item gets this fraction of the room. */
const LARGE_ITEMS = 4;

export function shortenJson(value: Json, maxBytes: number, keysOf: KeysOf = rememberingKeys()): Json {
  return shorten(value, maxBytes, new Sizes(maxBytes, keysOf));
}

/** UTF-8 bytes of values as JSON text. Exact up to a limit; larger values give some number above the limit. */
class Sizes {
  readonly #limit: number;
  readonly #known = new Map<object, number>();
  readonly keysOf: KeysOf;

  constructor(limit: number, keysOf: KeysOf) {
    this.#limit = limit;
    this.keysOf = keysOf;
  }

  of(value: Json): number {
    if (typeof value === "string")
      return value.length > this.#limit ? value.length + 2 : jsonTextBytes(value);
    if (typeof value !== "object" || value === null) return String(value).length;
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const bytes = isList(value) ? this.#ofList(value) : this.#ofRecord(value);
    this.#known.set(value, bytes);
    return bytes;
  }

  #ofList(list: readonly Json[]): number {
    let bytes = list.length === 0 ? 2 : 1;
    for (const item of list) {
      bytes += this.of(item) + 1;
      if (bytes > this.#limit) break;
    }
    return bytes;
  }

  #ofRecord(record: JsonRecord): number {
    let bytes = 1;
    for (const key of this.keysOf(record)) {
      bytes += jsonTextBytes(key) + 1 + this.of(record[key] ?? null) + 1;
      if (bytes > this.#limit) break;
    }
    return bytes === 1 ? 2 : bytes;
  }
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function shorten(value: Json, room: number, sizes: Sizes): Json {
  if (sizes.of(value) <= room) return value;
  if (typeof value === "string") return cutText(value, room);
  if (typeof value !== "object" || value === null) return "…";
  return isList(value) ? shortenList(value, room, sizes) : shortenRecord(value, room, sizes);
}

function shortenList(list: readonly Json[], room: number, sizes: Sizes): Json {
  const note = (kept: number): string => `… ${list.length - kept} more of ${list.length} items`;
  const measure = (index: number): ShownPart => ({ fixed: 1, size: sizes.of(list[index] ?? null) });
  const shares = toSharesOrNote(list.length, measure, {
    room: room - 2,
    noteBytes: jsonTextBytes(note(0)),
    isTable: true,
  });
  if (shares.length === 0) return cutText(`a list of ${list.length} items`, room, bareEnd);
  const kept = shares.map((share, index) => shorten(list[index] ?? null, share, sizes));
  return shares.length === list.length ? kept : [...kept, note(shares.length)];
}

function shortenRecord(record: JsonRecord, room: number, sizes: Sizes): Json {
  const keys = sizes.keysOf(record);
  const noteKey = toFreeKey(record);
  const note = (kept: number): string => `${keys.length - kept} more of ${keys.length} fields`;
  const measure = (index: number): ShownPart => {
    const key = keys[index] ?? "";
    return { fixed: jsonTextBytes(key) + 2, size: sizes.of(record[key] ?? null) };
  };
  const shares = toSharesOrNote(keys.length, measure, {
    room: room - 2,
    noteBytes: jsonTextBytes(noteKey) + 1 + jsonTextBytes(note(0)),
    isTable: keys.length > MOST_FAIR_FIELDS,
  });
  if (shares.length === 0) return cutText(`a record of ${keys.length} fields`, room, bareEnd);
  // `fromEntries`, since a field may be called __proto__.
  const entries = shares.map((share, index): [string, Json] => {
    const key = keys[index] ?? "";
    return [key, shorten(record[key] ?? null, share, sizes)];
  });
  if (shares.length < keys.length) entries.push([noteKey, note(shares.length)]);
  return Object.fromEntries(entries);
}

/** Shares for all parts, or for fewer parts and a note. */
function toSharesOrNote(
  count: number,
  measure: (index: number) => ShownPart,
  {
    room,
    noteBytes,
    isTable,
  }: { readonly room: number; readonly noteBytes: number; readonly isTable: boolean },
): number[] {
  const least = isTable ? Math.floor(room / LARGE_ITEMS) : LEAST_FIELD_BYTES;
  const all = toShares(count, measure, { room, least });
  return all.length === count ? all : toShares(count, measure, { room: room - noteBytes, least });
}

function toFreeKey(record: JsonRecord): string {
  let key = "…";
  while (Object.hasOwn(record, key)) key += "…";
  return key;
}

interface ShownPart {
  /** Bytes that the part needs however little of it is shown. */
  readonly fixed: number;
  readonly size: number;
}

/**
 * How many bytes each part gets. A part needs its size or, if it is larger, `least`; as many of the first parts get a
 * share as fit. Large parts share what small ones leave.
 */
export function toShares(
  count: number,
  measure: (index: number) => ShownPart,
  { room, least }: { readonly room: number; readonly least: number },
): number[] {
  const floor = Math.max(least, LEAST_BYTES);
  const sizes: number[] = [];
  let left = room;
  let wanted = 0;
  for (let index = 0; index < count; index++) {
    const { fixed, size } = measure(index);
    if (wanted + fixed + Math.min(size, floor) > left) break;
    left -= fixed;
    wanted += Math.min(size, floor);
    sizes.push(size);
  }
  const level = levelOf(sizes, left);
  return sizes.map((size) => Math.min(size, level));
}

/** The size up to which all parts can be filled. */
function levelOf(sizes: readonly number[], room: number): number {
  let left = room;
  let open = sizes.length;
  for (const size of [...sizes].sort((a, b) => a - b)) {
    if (size * open > left) return Math.floor(left / open);
    left -= size;
    open--;
  }
  return Number.POSITIVE_INFINITY;
}
