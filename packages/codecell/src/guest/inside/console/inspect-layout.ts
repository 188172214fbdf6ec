/** Inspect layout: puts rendered entries on one line if they fit, else on indented lines. Runs inside the guest. */
import { append, at, arrayJoin, type List, list, stringIndexOf, stringSlice } from "../primordials.ts";

const LINE_WIDTH = 72;
const BREAK_WIDTH = 80;
const LEVELS_ON_A_LINE = 3;
const SHORT_ENTRY = 16;

/** The depth of an object, and the depth of the object entered last, which is the object itself or inside it. */
export type LayoutPlace = { readonly depth: number; readonly innerDepth: number };

export function layOut(
  prefix: string,
  open: string,
  entries: List<string>,
  close: string,
  place: LayoutPlace,
): string {
  const head = prefix === "" ? open : `${prefix} ${open}`;
  if (entries.length === 0) return head + close;
  let width = head.length + entries.length + 2 * place.depth + 8;
  let isMultiline = false;
  let longest = 0;
  for (let i = 0; i < entries.length; i += 1) {
    const entry = at(entries, i);
    width += entry.length + 1;
    if (entry.length > longest) longest = entry.length;
    if (stringIndexOf(entry, "\n") >= 0) isMultiline = true;
  }
  const isShallow = place.innerDepth - place.depth < LEVELS_ON_A_LINE;
  if (stringIndexOf(prefix, "\n") >= 0) isMultiline = true;
  if (!isMultiline && isShallow && width <= BREAK_WIDTH)
    return `${head} ${arrayJoin(entries, ", ")} ${close}`;
  const lines =
    open === "[" && !isMultiline && entries.length > 6 && longest <= SHORT_ENTRY ? fill(entries) : entries;
  let text = head;
  for (let i = 0; i < lines.length; i += 1) {
    text += `\n  ${indentLines(at(lines, i), "  ")}${i + 1 < lines.length ? "," : ""}`;
  }
  return `${text}\n${close}`;
}

/** Puts several short entries on a line. */
function fill(entries: List<string>): List<string> {
  const lines = list<string>();
  let line = "";
  for (let i = 0; i < entries.length; i += 1) {
    const entry = at(entries, i);
    if (line !== "" && line.length + entry.length + 2 > LINE_WIDTH) {
      append(lines, line);
      line = entry;
    } else line = line === "" ? entry : `${line}, ${entry}`;
  }
  append(lines, line);
  return lines;
}

export function indentLines(text: string, indent: string): string {
  let from = 0;
  let found = stringIndexOf(text, "\n");
  if (found < 0) return text;
  let result = "";
  while (found >= 0) {
    result += stringSlice(text, from, found + 1) + indent;
    from = found + 1;
    found = stringIndexOf(text, "\n", from);
  }
  return result + stringSlice(text, from);
}
