/**
 * Terms: the words of a text as the index compares them, stemmed and without stop words, in order.
 *
 * - The same for tools and queries, so what is written the same way always meets.
 * - What a word becomes is remembered; the memory is bounded and dropped as a whole when full.
 */

import { stem } from "./stem.ts";
import { isStopWord } from "./stop-words.ts";
import { splitWords } from "./words.ts";

const MAX_REMEMBERED = 50_000;
/** What a stop word becomes. */
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
