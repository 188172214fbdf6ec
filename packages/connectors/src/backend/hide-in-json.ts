/**
 * Runs on the host. Takes hidden texts out of JSON before it is parsed: those that reach beyond one value, such as a secret
 * that is JSON itself, of which the values would be parts.
 *
 * - What is within one text or number stays: it is found in the parsed data, whatever its escapes are, and the JSON stays one.
 */
import type { HiddenTexts } from "./hidden-texts.ts";

export function* hidingInJson(text: string, hidden: HiddenTexts): Generator<undefined, string, undefined> {
  if (hidden.isEmpty) return text;
  const values = valuesIn(text);
  yield;
  return yield* hidden.hiding(text, ({ from, to }) => !isWithin(values, from, to));
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Where texts and other scalars begin and end, in order: two numbers for each. */
function valuesIn(text: string): readonly number[] {
  const values: number[] = [];
  for (let at = 0; at < text.length;) {
    const from = at;
    if (text.charCodeAt(at) === QUOTE) {
      for (at++; at < text.length && text.charCodeAt(at) !== QUOTE; at++)
        if (text.charCodeAt(at) === BACKSLASH) at++;
      at++;
    } else {
      while (at < text.length && isOfScalar(text.charCodeAt(at))) at++;
      if (at === from) {
        at++;
        continue;
      }
    }
    values.push(from, at);
  }
  return values;
}

/** Digits, letters, and the signs of numbers. */
function isOfScalar(code: number): boolean {
  const lower = code | 0x20;
  return (
    (code >= 0x30 && code <= 0x39) ||
    (lower >= 0x61 && lower <= 0x7a) ||
    code === 0x2b ||
    code === 0x2d ||
    code === 0x2e
  );
}

function isWithin(values: readonly number[], from: number, to: number): boolean {
  let [low, high] = [0, values.length / 2];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle * 2] as number) <= from) low = middle + 1;
    else high = middle;
  }
  return low > 0 && to <= (values[low * 2 - 1] as number);
}
