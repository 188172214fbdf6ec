/** Mime type: reads a content type and its parameters, in linear time. Runs inside the guest. */
import {
  append,
  at,
  type List,
  list,
  regExpExec,
  stringCharAt,
  stringIndexOf,
  stringSlice,
  stringToLowerCase,
} from "../../primordials.ts";
import type { Pair } from "../../web/webidl.ts";

const TYPE = /^[\t\n\r ]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+\/[!#$%&'*+\-.^_`|~0-9A-Za-z]+)[\t\n\r ]*(?:;|$)/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** The type without its parameters, in lower case; undefined for what is no content type. */
export function essenceOf(text: string): string | undefined {
  const found = regExpExec(TYPE, text);
  return found === null ? undefined : stringToLowerCase(found[1] as string);
}

/** The type in the standard's way of writing; empty for what is no content type. */
export function normalMimeType(text: string): string {
  const essence = essenceOf(text);
  if (essence === undefined) return "";
  let written = essence;
  const parameters = parametersOf(text, true);
  for (let i = 0; i < parameters.length; i += 1) {
    const { name, value } = at(parameters, i);
    if (regExpExec(TOKEN, name) === null || find(parameters, name) !== at(parameters, i)) continue;
    written += `;${name}=${regExpExec(TOKEN, value) === null ? quoted(value) : value}`;
  }
  return written;
}

function quoted(value: string): string {
  let text = '"';
  for (let i = 0; i < value.length; i += 1) {
    const character = stringCharAt(value, i);
    text += character === '"' || character === "\\" ? `\\${character}` : character;
  }
  return `${text}"`;
}

/** The value of the first parameter of that name. `escapes`: a backslash in quotes stands for the next character. */
export function parameterOf(text: string, name: string, escapes: boolean): string | undefined {
  return find(parametersOf(text, escapes), name)?.value;
}

function find(parameters: List<Pair>, name: string): Pair | undefined {
  for (let i = 0; i < parameters.length; i += 1)
    if (at(parameters, i).name === name) return at(parameters, i);
  return undefined;
}

function parametersOf(text: string, escapes: boolean): List<Pair> {
  const found = list<Pair>();
  let from = stringIndexOf(text, ";");
  while (from >= 0 && from < text.length) {
    from = skipSpace(text, from + 1);
    let end = from;
    while (end < text.length && stringCharAt(text, end) !== "=" && stringCharAt(text, end) !== ";") end += 1;
    const name = stringToLowerCase(stringSlice(text, from, end));
    if (stringCharAt(text, end) !== "=") {
      from = end;
      continue;
    }
    from = end + 1;
    let value = "";
    if (stringCharAt(text, from) === '"') {
      from += 1;
      if (escapes) {
        for (; from < text.length && stringCharAt(text, from) !== '"'; from += 1) {
          if (stringCharAt(text, from) === "\\" && from + 1 < text.length) from += 1;
          value += stringCharAt(text, from);
        }
      } else {
        end = stringIndexOf(text, '"', from);
        if (end < 0) return found;
        value = stringSlice(text, from, end);
        from = end;
      }
      from = stringIndexOf(text, ";", from);
    } else {
      end = stringIndexOf(text, ";", from);
      let last = end < 0 ? text.length : end;
      while (last > from && isSpace(stringCharAt(text, last - 1))) last -= 1;
      value = stringSlice(text, from, last);
      from = end;
    }
    append(found, { name, value });
  }
  return found;
}

function isSpace(character: string): boolean {
  return character === " " || character === "\t" || character === "\r" || character === "\n";
}

function skipSpace(text: string, start: number): number {
  let from = start;
  while (from < text.length && isSpace(stringCharAt(text, from))) from += 1;
  return from;
}
