/**
 * Search index: finds the tools that fit a request in words.
 *
 * - A tool whose id or name is the query comes first, whatever else fits.
 * - Nothing fits: an empty list. The same documents and query give the same results, in the same order.
 * - Runs anywhere; a search in time bounded by the catalog: queries and texts of any length and content are fine. An index
 *   of many tools takes longer, and is built in turns.
 */

import { atOnce, type Steps } from "../../loop/turn.ts";
import { bestOf, type Ranked } from "./best.ts";
import { bundledVectors } from "./bundled-vectors.ts";
import type { SearchDocument } from "./document.ts";
import { buildMeanings } from "./meanings.ts";
import { buildPostings } from "./postings.ts";
import { DOCUMENTS_AT_ONCE, readDocuments } from "./read-documents.ts";
import { buildSpelling } from "./spelling.ts";
import { toTerms } from "./terms.ts";
import { scoreWords } from "./word-scores.ts";
import type { WordVectors } from "./word-vectors.ts";
import { toNameKey } from "./words.ts";

export interface SearchHit {
  readonly id: string;
  /** Comparable within one list of hits only. */
  readonly score: number;
  /** The query is this tool's id or name. */
  readonly exact: boolean;
}

export interface SearchOptions {
  /** At most so many hits; 8 unless said otherwise. */
  readonly limit?: number;
}

export interface SearchIndex {
  readonly size: number;
  search(query: string, options?: SearchOptions): SearchHit[];
}

export interface SearchIndexOptions {
  /** What words mean; the bundled table unless given. Without one, only words and synonyms are compared. */
  readonly vectors?: WordVectors | false;
}

export const DEFAULT_LIMIT = 8;
/** What full likeness is worth, in the unit of BM25: about two rare words. */
const LIKENESS_WEIGHT = 14;
const LEAST_LIKENESS = 0.25;
const NONE = -1;
/** Of a request that is no tool's id, more is not looked at: it has room for hundreds of words. */
const MAX_QUERY_LENGTH = 2000;

export function createSearchIndex(
  documents: readonly SearchDocument[],
  options: SearchIndexOptions = {},
): SearchIndex {
  return atOnce(searchIndexSteps(documents, options));
}

/** The same for many tools, in turns. */
export function* searchIndexSteps(
  documents: readonly SearchDocument[],
  options: SearchIndexOptions = {},
): Steps<SearchIndex> {
  const vectors = options.vectors ?? bundledVectors();
  yield;
  const read = yield* readDocuments(documents);
  const postings = yield* buildPostings(read);
  const meanings = vectors === false ? undefined : yield* buildMeanings(read, vectors);
  const isWord = (term: string): boolean => vectors !== false && vectors.offsetOf(term) !== undefined;
  const spelling = buildSpelling(read.terms, isWord);
  yield;
  const named = yield* numberByName(documents);
  return {
    size: documents.length,
    search(query, { limit = DEFAULT_LIMIT } = {}) {
      if (!Number.isSafeInteger(limit) || limit < 0) {
        throw new RangeError(`Cannot search: limit is ${limit}, an integer of at least 0 is wanted`);
      }
      const exact = named(query);
      const terms = new Set(toTerms(cutQuery(query)));
      const scores = scoreWords(terms, postings, spelling, documents.length);
      if (meanings !== undefined) addLikeness(scores, meanings.likenessTo([...terms]));
      const ranked = putFirst(exact, bestOf(scores, limit + exact.length)).slice(0, limit);
      return ranked.map(({ document, score }) => ({
        id: documents[document]?.id ?? "",
        score,
        exact: exact.includes(document),
      }));
    },
  };
}

/** What is looked at of a request. */
export function cutQuery(query: string): string {
  return query.length > MAX_QUERY_LENGTH ? query.slice(0, MAX_QUERY_LENGTH).toWellFormed() : query;
}

/** Adds likeness to what words found. What shares no word with the request has to be alike enough to be shown. */
function addLikeness(scores: Float64Array, likeness: Float32Array): void {
  for (let document = 0; document < scores.length; document += 1) {
    const found = scores[document]!;
    const alike = likeness[document]!;
    if (alike > 0 && (found > 0 || alike >= LEAST_LIKENESS))
      scores[document] = found + LIKENESS_WEIGHT * alike;
  }
}

/** Documents whose id, or else name, a query is. */
function* numberByName(documents: readonly SearchDocument[]): Steps<(query: string) => readonly number[]> {
  const ids = new Map<string, number>();
  // Hardly a name is there twice: one number by name, and for each the one before it, instead of a list by name.
  const lastByName = new Map<string, number>();
  const before = new Int32Array(2 * documents.length);
  const add = (name: string, entry: number): void => {
    const key = toNameKey(name);
    before[entry] = lastByName.get(key) ?? NONE;
    lastByName.set(key, entry);
  };
  for (let number = 0; number < documents.length; number += 1) {
    if (number % DOCUMENTS_AT_ONCE === 0) yield;
    const { id, name } = documents[number]!;
    ids.set(id, number);
    add(name, 2 * number);
    add(id, 2 * number + 1);
  }
  return (query) => {
    const text = query.trim();
    const byId = ids.get(text);
    if (byId !== undefined) return [byId];
    const key = toNameKey(cutQuery(text));
    if (key === "") return [];
    const found = new Set<number>();
    for (let entry = lastByName.get(key) ?? NONE; entry !== NONE; entry = before[entry]!)
      found.add(entry >> 1);
    return [...found].toReversed();
  };
}

function putFirst(exact: readonly number[], ranked: readonly Ranked[]): Ranked[] {
  if (exact.length === 0) return [...ranked];
  const top = (ranked[0]?.score ?? 0) + 1;
  const first = exact.map((document) => ({ document, score: top }));
  return [...first, ...ranked.filter(({ document }) => !exact.includes(document))];
}
