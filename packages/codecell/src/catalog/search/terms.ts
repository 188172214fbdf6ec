/**
 * Terms: the words of a text as the index compares them, stemmed and without stop words, in order.
 *
 * - The same for tools and queries, so what is written the same way always meets.
 * - Stems are remembered; the memory is bounded and dropped as a whole when full.
 */

import { stem } from "./stem.ts";
import { isStopWord } from "./stop-words.ts";
import { splitWords } from "./words.ts";

const MAX_REMEMBERED = 50_000;
const remembered = new Map<string, string>();

export function toTerms(text: string): string[] {
  const terms: string[] = [];
  for (const word of splitWords(text)) if (!isStopWord(word)) terms.push(toTerm(word));
  return terms;
}

function toTerm(word: string): string {
  const known = remembered.get(word);
  if (known !== undefined) return known;
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  const term = stem(word);
  remembered.set(word, term);
  return term;
}
