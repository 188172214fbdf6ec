/**
 * Words: cuts any text into the lower-case words that are indexed and searched.
 *
 * - Identifiers fall apart where people would pause: camelCase, snake_case, kebab-case, dots, digits. A word with
 *   such a seam inside is also kept whole, so that both `git hub` and `github` find "GitHub".
 * - Scripts without spaces (Chinese, Japanese) become overlapping pairs of characters.
 * - Work is linear in the text and the text is cut at `MAX_TEXT_LENGTH`; no input throws.
 */

/** More of one text is not read: a description of a megabyte must not hold up the host. */
const MAX_TEXT_LENGTH = 20_000;
/** Longer words are base64, hashes and keys. */
const MAX_WORD_LENGTH = 40;

const ASCII = /^[\0-\x7f]*$/u;
const RUN = /[\p{L}\p{M}\p{N}]+/gu;
const PART = /\p{Lu}+(?![\p{Ll}\p{M}])|\p{Lu}?[\p{Ll}\p{Lm}\p{M}]+|\p{N}+|\p{Lo}[\p{Lo}\p{M}]*/gu;
const UNSPACED = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const ACCENTS = /\p{M}+/gu;

export function splitWords(text: string): string[] {
  const bounded = toBounded(text);
  return ASCII.test(bounded) ? splitAscii(bounded) : splitUnicode(toPlain(bounded));
}

function splitUnicode(text: string): string[] {
  const words: string[] = [];
  for (const run of text.match(RUN) ?? []) {
    const parts = run.match(PART) ?? [run];
    for (const part of parts) {
      if (UNSPACED.test(part)) pushPairs(part, words);
      else if (part.length <= MAX_WORD_LENGTH) words.push(part.toLowerCase());
    }
    if (parts.length > 1 && run.length <= MAX_WORD_LENGTH) words.push(run.toLowerCase());
  }
  return words;
}

/** The form in which names are compared: without case, accents and separators. */
export function toNameKey(name: string): string {
  return (toPlain(toBounded(name)).match(RUN) ?? []).join("").toLowerCase();
}

function toBounded(text: string): string {
  return text.length > MAX_TEXT_LENGTH ? text.slice(0, MAX_TEXT_LENGTH) : text;
}

function toPlain(text: string): string {
  return text.normalize("NFKD").replace(ACCENTS, "");
}

/** The same for the plain text that nearly all of a catalog is, several times faster. */
function splitAscii(text: string): string[] {
  const lower = text.toLowerCase();
  const words: string[] = [];
  const push = (from: number, to: number): void => {
    if (to - from <= MAX_WORD_LENGTH) words.push(lower.slice(from, to));
  };
  let at = 0;
  while (at < text.length) {
    let before = kindOf(text.charCodeAt(at));
    const begin = at;
    let part = at;
    at += 1;
    if (before === OTHER) continue;
    for (; at < text.length; at += 1) {
      const kind = kindOf(text.charCodeAt(at));
      if (kind === OTHER) break;
      if (kind === before) continue;
      // The last capital before small letters begins their word.
      const seam = before === UPPER && kind === LOWER ? at - 1 : at;
      before = kind;
      if (seam === part) continue;
      push(part, seam);
      part = seam;
    }
    push(part, at);
    if (part > begin) push(begin, at);
  }
  return words;
}

const OTHER = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;

function kindOf(code: number): number {
  if (code >= 97) return code <= 122 ? LOWER : OTHER;
  if (code >= 65) return code <= 90 ? UPPER : OTHER;
  return code >= 48 && code <= 57 ? DIGIT : OTHER;
}

function pushPairs(part: string, words: string[]): void {
  const characters = Array.from(part);
  if (characters.length === 1) words.push(part);
  for (let at = 0; at + 1 < characters.length; at += 1) words.push(`${characters[at]}${characters[at + 1]}`);
}
