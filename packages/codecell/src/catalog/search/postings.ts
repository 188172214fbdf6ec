/**
 * Postings: for each term, the documents that contain it and its score in each (fielded BM25). Runs anywhere.
 *
 * - A term's frequencies in the fields are first weighted and normalised by the field's length, and saturate together:
 *   a word in both name and description counts as one stronger match, not as two.
 * - The score of a term in a document is computed when the index is built; a query only adds scores.
 */

import type { Steps } from "../../loop/turn.ts";
import { type SearchField, FIELDS } from "./document.ts";
import { DOCUMENTS_AT_ONCE, type FieldTerms, type ReadDocuments } from "./read-documents.ts";

interface FieldTuning {
  /** The weight of an occurrence. */
  readonly weight: number;
  /** How much the length of a field lowers the weight: 0 not at all, 1 in proportion. */
  readonly lengthShare: number;
}

const TUNINGS: Readonly<Record<SearchField, FieldTuning>> = {
  name: { weight: 3, lengthShare: 0.5 },
  description: { weight: 1, lengthShare: 0.6 },
  parameterNames: { weight: 0.5, lengthShare: 0.75 },
  parameterTexts: { weight: 0.4, lengthShare: 0.75 },
  owner: { weight: 0.7, lengthShare: 0.3 },
  tags: { weight: 1, lengthShare: 0.3 },
};

const TERMS_AT_ONCE = 1024;

/** How soon further occurrences stop counting. */
const SATURATION = 1.2;

export interface Posting {
  /** How much the term says: more if fewer documents have it. */
  readonly rarity: number;
  /** The range of its documents in `Postings.documents`. */
  readonly begin: number;
  readonly end: number;
}

export interface Postings {
  of(term: string): Posting | undefined;
  /** The documents of all terms, one term after the other. */
  readonly documents: Uint32Array;
  /** What the term adds to the score of each document at the same index. */
  readonly impacts: Float64Array;
}

export function* buildPostings({ size, fields, terms, numberOf }: ReadDocuments): Steps<Postings> {
  const begins = yield* findBegins(Object.values(fields), size, terms.length);
  const ends = begins.slice();
  const documents = new Uint32Array(begins[terms.length]!);
  const impacts = new Float64Array(documents.length);
  for (let document = 0; document < size; document += 1) {
    if (document % DOCUMENTS_AT_ONCE === 0) yield;
    for (const field of FIELDS) {
      const { weight, lengthShare } = TUNINGS[field];
      const { numbers, offsets } = fields[field];
      const [from, to] = [offsets[document]!, offsets[document + 1]!];
      const meanLength = numbers.length / size;
      const share = weight / (1 - lengthShare + (lengthShare * (to - from)) / meanLength);
      for (let at = from; at < to; at += 1) {
        const term = numbers[at]!;
        const end = ends[term]!;
        // Documents are visited in order, so only the last entry can belong to this document.
        if (end > begins[term]! && documents[end - 1] === document) impacts[end - 1]! += share;
        else {
          documents[end] = document;
          impacts[end] = share;
          ends[term] = end + 1;
        }
      }
    }
  }
  const rarityAt = (term: number): number => rarityOf(begins[term + 1]! - begins[term]!, size);
  for (let term = 0; term < terms.length; term += 1) {
    if (term % TERMS_AT_ONCE === 0) yield;
    saturate(impacts.subarray(begins[term], begins[term + 1]), rarityAt(term));
  }
  return {
    documents,
    impacts,
    of(term) {
      const number = numberOf(term);
      if (number === undefined) return undefined;
      return { rarity: rarityAt(number), begin: begins[number]!, end: begins[number + 1]! };
    },
  };
}

/** Where the documents of each term begin, one term after the other; the last entry is the end. */
function* findBegins(fields: readonly FieldTerms[], size: number, terms: number): Steps<Uint32Array> {
  const begins = new Uint32Array(terms + 1);
  const lastDocument = new Int32Array(terms).fill(-1);
  for (let document = 0; document < size; document += 1) {
    if (document % DOCUMENTS_AT_ONCE === 0) yield;
    for (const { numbers, offsets } of fields) {
      for (let at = offsets[document]!; at < offsets[document + 1]!; at += 1) {
        const term = numbers[at]!;
        if (lastDocument[term] === document) continue;
        lastDocument[term] = document;
        begins[term + 1]! += 1;
      }
    }
  }
  for (let term = 0; term < terms; term += 1) begins[term + 1]! += begins[term]!;
  return begins;
}

/** Turns weighted frequencies into scores. */
function saturate(frequencies: Float64Array, rarity: number): void {
  for (let at = 0; at < frequencies.length; at += 1) {
    const frequency = frequencies[at]!;
    frequencies[at] = (rarity * frequency * (SATURATION + 1)) / (SATURATION + frequency);
  }
}

/** Inverse document frequency in the form that is never negative. */
function rarityOf(having: number, all: number): number {
  return Math.log(1 + (all - having + 0.5) / (having + 0.5));
}
