/**
 * Words: splits any text into the lower-case words that are indexed and searched. Runs anywhere.
 *
 * - Identifiers are split where people would pause: camelCase, snake_case, kebab-case, dots, digits. A word that is
 *   split inside is also kept whole, so that both `git hub` and `github` find "GitHub".
 * - Scripts without spaces (Chinese, Japanese) become overlapping pairs of characters.
 * - The work is linear in the text, which is cut at `MAX_TEXT_LENGTH`. No input throws.
 */

import { toNormalForm } from "../../value/normal-form.ts";

/** The rest of a longer text is not read: a description of a megabyte must not block the host. */
const MAX_TEXT_LENGTH = 20_000;
/** Longer words are base64, hashes or keys. */
const MAX_WORD_LENGTH = 40;

const ASCII = /^[\0-\x7f]*$/u;
const ASCII_RUN = /[A-Za-z0-9]+/gu;
const RUN = /[\p{L}\p{M}\p{N}]+/gu;
const PART = /\p{Lu}+(?![\p{Ll}\p{M}])|\p{Lu}?[\p{Ll}\p{Lm}\p{M}]+|\p{N}+|\p{Lo}[\p{Lo}\p{M}]*/gu;
const UNSPACED = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const ACCENTS = /\p{M}+/gu;

export function splitWords(text: string): string[] {
  return splitRuns(text).flatMap(splitRun);
}

/** The parts between separators, as written except for accents. */
export function splitRuns(text: string): readonly string[] {
  const bounded = text.length > MAX_TEXT_LENGTH ? text.slice(0, MAX_TEXT_LENGTH) : text;
  // Nearly all text of a catalog is ASCII, which needs no Unicode tables.
  if (ASCII.test(bounded)) return bounded.match(ASCII_RUN) ?? [];
  return toNormalForm(bounded, "NFKD").replace(ACCENTS, "").match(RUN) ?? [];
}

/** The words of one run. */
export function splitRun(run: string): string[] {
  const words: string[] = [];
  const parts = run.match(PART) ?? [run];
  for (const part of parts) {
    if (UNSPACED.test(part)) pushPairs(part, words);
    else if (part.length <= MAX_WORD_LENGTH) words.push(part.toLowerCase());
  }
  if (parts.length > 1 && run.length <= MAX_WORD_LENGTH) words.push(run.toLowerCase());
  return words;
}

/** The form in which names are compared: without case, accents and separators. */
export function toNameKey(name: string): string {
  return splitRuns(name).join("").toLowerCase();
}

function pushPairs(part: string, words: string[]): void {
  const characters = Array.from(part);
  if (characters.length === 1) words.push(part);
  for (let at = 0; at + 1 < characters.length; at += 1) words.push(`${characters[at]}${characters[at + 1]}`);
}
