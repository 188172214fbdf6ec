/**
 * Inspect table: console.table as box-drawn text. A value that is not a table is shown as a plain value. Runs inside
 * the guest.
 */
import { brandOf, unwrapProxy } from "../brands.ts";
import { renderValue } from "./inspect.ts";
import {
  append,
  arrayJoin,
  at,
  isArray,
  keys,
  type List,
  list,
  mapEntries,
  mapGet,
  mapNext,
  mapSet,
  mapSize,
  ownData,
  primordial,
  stringPadEnd,
  stringRepeat,
  stringSlice,
} from "../primordials.ts";

const MAX_ROWS = 100;
const MAX_COLUMNS = 20;
const MAX_CELL = 100;
const VALUES = "Values";
const { Map } = primordial;

type Row = { readonly index: string; readonly cells: Map<string, string> };

function cell(value: unknown): string {
  const text = renderValue(value, 0, MAX_CELL);
  return text.length > MAX_CELL ? `${stringSlice(text, 0, MAX_CELL)}…` : text;
}

export function renderTable(given: unknown, properties: unknown): string {
  if (typeof given !== "object" || given === null) {
    return typeof given === "string" ? given : renderValue(given, 4, 16_384);
  }
  const data = unwrapProxy(given);
  const brand = brandOf(data);
  if (brand !== "Array" && brand !== "Object") return renderValue(data, 4, 16_384);
  const rowKeys = keys(data) as List<string>;
  const columns = new Map<string, number>();
  const wanted = columnList(properties, columns);
  const rows = list<Row>();
  let hasValues = false;
  for (let i = 0; i < rowKeys.length && i < MAX_ROWS; i += 1) {
    const index = at(rowKeys, i);
    const cells = new Map<string, string>();
    const entry = ownData(data, index);
    if (typeof entry === "object" && entry !== null) fillRow(unwrapProxy(entry), columns, cells, wanted);
    else {
      hasValues = true;
      mapSet(cells, VALUES, cell(entry));
    }
    append(rows, { index, cells });
  }
  const text = draw(rows, columnNames(columns, hasValues));
  const left = rowKeys.length - rows.length;
  return left > 0 ? `${text}\n… ${left} more rows` : text;
}

function columnList(properties: unknown, columns: Map<string, number>): boolean {
  if (typeof properties !== "object" || properties === null || !isArray(unwrapProxy(properties)))
    return false;
  const names = unwrapProxy(properties) as List<unknown>;
  for (let i = 0; i < names.length && i < MAX_COLUMNS; i += 1) {
    const name = ownData(names, i);
    if (typeof name === "string" && mapGet(columns, name) === undefined)
      mapSet(columns, name, mapSize(columns));
  }
  return true;
}

function fillRow(
  entry: object,
  columns: Map<string, number>,
  cells: Map<string, string>,
  isFixed: boolean,
): void {
  const names = keys(entry) as List<string>;
  for (let i = 0; i < names.length && i < MAX_ROWS; i += 1) {
    const name = at(names, i);
    if (mapGet(columns, name) === undefined) {
      if (isFixed || mapSize(columns) >= MAX_COLUMNS) continue;
      mapSet(columns, name, mapSize(columns));
    }
    mapSet(cells, name, cell(ownData(entry, name)));
  }
}

function columnNames(columns: Map<string, number>, hasValues: boolean): List<string> {
  const names = list<string>();
  const cursor = mapEntries(columns);
  for (let step = mapNext(cursor); step.done !== true; step = mapNext(cursor)) {
    append(names, step.value[0] as string);
  }
  if (hasValues) append(names, VALUES);
  return names;
}

function draw(rows: List<Row>, columns: List<string>): string {
  const lines = list<List<string>>();
  const widths = list<number>();
  const head = list<string>();
  append(head, "(index)");
  for (let c = 0; c < columns.length; c += 1) append(head, stringSlice(at(columns, c), 0, MAX_CELL));
  append(lines, head);
  for (let r = 0; r < rows.length; r += 1) {
    const row = at(rows, r);
    const line = list<string>();
    append(line, stringSlice(row.index, 0, MAX_CELL));
    for (let c = 0; c < columns.length; c += 1) append(line, mapGet(row.cells, at(columns, c)) ?? "");
    append(lines, line);
  }
  for (let c = 0; c <= columns.length; c += 1) {
    let width = 0;
    for (let r = 0; r < lines.length; r += 1) {
      const length = at(at(lines, r), c).length;
      if (length > width) width = length;
    }
    append(widths, width + 2);
  }
  const text = list<string>();
  append(text, rule(widths, "┌", "┬", "┐"));
  for (let r = 0; r < lines.length; r += 1) {
    const padded = list<string>();
    for (let c = 0; c < widths.length; c += 1) {
      append(padded, stringPadEnd(` ${at(at(lines, r), c)}`, at(widths, c)));
    }
    append(text, `│${arrayJoin(padded, "│")}│`);
    if (r === 0) append(text, rule(widths, "├", "┼", "┤"));
  }
  append(text, rule(widths, "└", "┴", "┘"));
  return arrayJoin(text, "\n");
}

function rule(widths: List<number>, left: string, middle: string, right: string): string {
  const parts = list<string>();
  for (let i = 0; i < widths.length; i += 1) append(parts, stringRepeat("─", at(widths, i)));
  return left + arrayJoin(parts, middle) + right;
}
