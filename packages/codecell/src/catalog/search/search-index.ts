/**
 * Search index: finds the tools that fit a request in words.
 *
 * - A tool whose id or name is the query comes first, whatever else fits.
 * - Nothing fits: an empty list. The same documents and query give the same results, in the same order.
 * - Runs anywhere, synchronously, in time bounded by the catalog: queries and texts of any length and content are fine.
 */

import { bestOf, type Ranked } from "./best.ts";
import type { SearchDocument } from "./document.ts";
import { buildPostings, type Postings } from "./postings.ts";
import { toTerms } from "./terms.ts";
import { toNameKey } from "./words.ts";

export interface SearchHit {
  readonly id: string;
  /** Comparable within one list of hits only. */
  readonly score: number;
}

export interface SearchOptions {
  /** At most so many hits. */
  readonly limit?: number;
}

export interface SearchIndex {
  readonly size: number;
  search(query: string, options?: SearchOptions): SearchHit[];
}

const DEFAULT_LIMIT = 8;

export function createSearchIndex(documents: readonly SearchDocument[]): SearchIndex {
  const postings = buildPostings(documents);
  const named = numberByName(documents);
  return {
    size: documents.length,
    search(query, { limit = DEFAULT_LIMIT } = {}) {
      if (!Number.isSafeInteger(limit) || limit < 0) {
        throw new RangeError(`Cannot search: limit is ${limit}, an integer of at least 0 is wanted`);
      }
      const exact = named(query);
      const scores = addUp(query, postings, documents.length);
      const ranked = putFirst(exact, bestOf(scores, limit + exact.length)).slice(0, limit);
      return ranked.map(({ document, score }) => ({ id: documents[document]?.id ?? "", score }));
    },
  };
}

function addUp(query: string, postings: Postings, size: number): Float64Array {
  const scores = new Float64Array(size);
  for (const term of new Set(toTerms(query))) {
    const posting = postings.get(term);
    if (posting === undefined) continue;
    for (let at = 0; at < posting.documents.length; at += 1) {
      const document = posting.documents[at] ?? 0;
      scores[document] = (scores[document] ?? 0) + (posting.impacts[at] ?? 0);
    }
  }
  return scores;
}

/** Documents whose id, or else name, a query is. */
function numberByName(documents: readonly SearchDocument[]): (query: string) => readonly number[] {
  const ids = new Map<string, number[]>();
  const names = new Map<string, number[]>();
  for (const [number, { id, name }] of documents.entries()) {
    push(ids, id, number);
    push(names, toNameKey(name), number);
    push(names, toNameKey(id), number);
  }
  return (query) => {
    const text = query.trim();
    const byId = ids.get(text);
    if (byId !== undefined) return byId;
    const key = toNameKey(text);
    return key === "" ? [] : [...new Set(names.get(key))];
  };
}

function push(numbers: Map<string, number[]>, key: string, number: number): void {
  const found = numbers.get(key);
  if (found === undefined) numbers.set(key, [number]);
  else found.push(number);
}

function putFirst(exact: readonly number[], ranked: readonly Ranked[]): Ranked[] {
  if (exact.length === 0) return [...ranked];
  const top = (ranked[0]?.score ?? 0) + 1;
  const first = exact.map((document) => ({ document, score: top }));
  return [...first, ...ranked.filter(({ document }) => !exact.includes(document))];
}
