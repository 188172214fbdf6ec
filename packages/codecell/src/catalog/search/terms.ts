/**
 * Terms: the words of a text as the index compares them: stemmed, without stop words, in order. Runs anywhere.
 *
 * - Tools and queries are treated alike, so equal words always meet.
 * - The term of each word is remembered. The memory is bounded and is cleared when it is full.
 */

import { stem } from "./stem.ts";
import { isStopWord } from "./stop-words.ts";
import { splitWords } from "./words.ts";

const MAX_REMEMBERED = 50_000;
/** The term of a stop word. */
export const NO_TERM = "";
const remembered = new Map<string, string>();

export function toTerms(text: string): string[] {
  const terms: string[] = [];
  for (const word of splitWords(text)) {
    const term = toTerm(word);
    if (term !== NO_TERM) terms.push(term);
  }
  return terms;
}

export function toTerm(word: string): string {
  return remembered.get(word) ?? remember(word);
}

function remember(word: string): string {
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  const term = isStopWord(word) ? NO_TERM : stem(word);
  remembered.set(word, term);
  return term;
}
