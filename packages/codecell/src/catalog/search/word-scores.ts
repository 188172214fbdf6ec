/**
 * Word scores: scores documents by the words of a request, by their synonyms and by likely spellings. Runs anywhere.
 *
 * - Each word counts once per document, with its best match there: itself, a synonym, or a likely spelling.
 * - A synonym counts at most as much as its word: a request with a common word stays common, even if the synonym is
 *   rare.
 */

import type { Postings } from "./postings.ts";
import type { Spelling } from "./spelling.ts";
import { synonymsOf } from "./synonyms.ts";

const SYNONYM_SHARE = 0.4;
const SPELLING_SHARE = 0.7;
/** The most words of a request that are used. */
const MAX_TERMS = 200;

export function scoreWords(
  terms: ReadonlySet<string>,
  postings: Postings,
  spelling: Spelling,
  size: number,
): Float64Array {
  const scores = new Float64Array(size);
  const best = new Float64Array(size);
  const { documents, impacts } = postings;
  const closestTo = spelling.ofRequest();
  for (const term of [...terms].slice(0, MAX_TERMS)) {
    const found: number[] = [];
    const own = postings.of(term);
    const take = (other: string, share: number): void => {
      const posting = postings.of(other);
      if (posting === undefined) return;
      const weight = own === undefined ? share : share * Math.min(1, own.rarity / posting.rarity);
      for (let at = posting.begin; at < posting.end; at += 1) {
        const document = documents[at]!;
        const value = weight * impacts[at]!;
        const before = best[document]!;
        if (before === 0) found.push(document);
        if (value > before) best[document] = value;
      }
    };
    take(term, 1);
    for (const synonym of synonymsOf(term)) take(synonym, SYNONYM_SHARE);
    if (own === undefined) for (const other of closestTo(term)) take(other, SPELLING_SHARE);
    for (const document of found) {
      scores[document]! += best[document]!;
      best[document] = 0;
    }
  }
  return scores;
}
