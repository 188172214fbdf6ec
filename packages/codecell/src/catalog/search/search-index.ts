/**
 * Search index: finds the tools that fit a request in words. Runs anywhere.
 *
 * - A tool whose id, name or title equals the query comes first, whatever else fits.
 * - If nothing fits, the list is empty. The same documents and query give the same results in the same order.
 * - The size of the catalog bounds the time of a search: queries and texts may have any length and content. Building an
 *   index of many tools takes longer, and happens in turns.
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
  /** Scores can be compared only within one list of hits. */
  readonly score: number;
  /** Whether the query is this tool's id, name or title. */
  readonly exact: boolean;
}

export interface SearchOptions {
  /** The most hits. Default 8. */
  readonly limit?: number;
}

export interface SearchIndex {
  readonly size: number;
  search(query: string, options?: SearchOptions): SearchHit[];
}

export interface SearchIndexOptions {
  /** The meanings of words. Default: the bundled table. With `false`, only words and synonyms are compared. */
  readonly vectors?: WordVectors | false;
}

export const DEFAULT_LIMIT = 8;
/** The score of full likeness, in the unit of BM25: about two rare words. */
const LIKENESS_WEIGHT = 14;
const LEAST_LIKENESS = 0.25;
const NONE = -1;
/** The names by which a document is found: its name, its id and its title. */
const ENTRIES = 3;
/** The most characters of a request that are read, unless it is a tool's id; hundreds of words fit. */
const MAX_QUERY_LENGTH = 2000;

export function createSearchIndex(
  documents: readonly SearchDocument[],
  options: SearchIndexOptions = {},
): SearchIndex {
  return atOnce(searchIndexSteps(documents, options));
}

/** The same in turns, for many tools. */
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
        throw new RangeError(`Cannot search: limit is ${limit}, it must be an integer of at least 0`);
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

/** The part of a request that is read. */
export function cutQuery(query: string): string {
  return query.length > MAX_QUERY_LENGTH ? query.slice(0, MAX_QUERY_LENGTH).toWellFormed() : query;
}

/**
 * Adds likeness to the scores of words. A document that shares no word with the request is shown only if it is alike
 * enough.
 */
function addLikeness(scores: Float64Array, likeness: Float32Array): void {
  for (let document = 0; document < scores.length; document += 1) {
    const found = scores[document]!;
    const alike = likeness[document]!;
    if (alike > 0 && (found > 0 || alike >= LEAST_LIKENESS))
      scores[document] = found + LIKENESS_WEIGHT * alike;
  }
}

/** Finds the documents whose id, or else whose name or title, equals the query. */
function* numberByName(documents: readonly SearchDocument[]): Steps<(query: string) => readonly number[]> {
  const ids = new Map<string, number>();
  // Few names occur twice. So each name has the number of its last entry, and each entry the number of the one before
  // it, instead of a list per name.
  const lastByName = new Map<string, number>();
  const before = new Int32Array(ENTRIES * documents.length);
  const add = (name: string, entry: number): void => {
    const key = toNameKey(name);
    before[entry] = lastByName.get(key) ?? NONE;
    lastByName.set(key, entry);
  };
  for (let number = 0; number < documents.length; number += 1) {
    if (number % DOCUMENTS_AT_ONCE === 0) yield;
    const { id, name, title } = documents[number]!;
    ids.set(id, number);
    add(name, ENTRIES * number);
    add(id, ENTRIES * number + 1);
    if (title !== undefined) add(title, ENTRIES * number + 2);
  }
  return (query) => {
    const text = query.trim();
    const byId = ids.get(text);
    if (byId !== undefined) return [byId];
    const key = toNameKey(cutQuery(text));
    if (key === "") return [];
    const found = new Set<number>();
    for (let entry = lastByName.get(key) ?? NONE; entry !== NONE; entry = before[entry]!)
      found.add(Math.floor(entry / ENTRIES));
    return [...found].toReversed();
  };
}

function putFirst(exact: readonly number[], ranked: readonly Ranked[]): Ranked[] {
  if (exact.length === 0) return [...ranked];
  const top = (ranked[0]?.score ?? 0) + 1;
  const first = exact.map((document) => ({ document, score: top }));
  return [...first, ...ranked.filter(({ document }) => !exact.includes(document))];
}
