/**
 * Postings: for each term, the documents that have it and how much it counts there (fielded BM25).
 *
 * - A term's frequencies in the fields are weighted and normalised by the field's length first, and saturate together:
 *   a word in name and description counts once, more surely, not twice.
 * - What a term adds to a document is worked out when the index is built; a query only adds it up.
 */

import type { Field, FieldTerms } from "./document.ts";

interface FieldTuning {
  /** How much an occurrence counts. */
  readonly weight: number;
  /** How far long fields are held back: 0 not at all, 1 in proportion to their length. */
  readonly lengthShare: number;
}

const FIELDS: Readonly<Record<Field, FieldTuning>> = {
  name: { weight: 3, lengthShare: 0.5 },
  description: { weight: 1, lengthShare: 0.6 },
  parameterNames: { weight: 0.5, lengthShare: 0.75 },
  parameterTexts: { weight: 0.4, lengthShare: 0.75 },
  owner: { weight: 0.7, lengthShare: 0.3 },
  tags: { weight: 1, lengthShare: 0.3 },
};
const FIELD_NAMES = Object.keys(FIELDS) as readonly Field[];

/** How soon further occurrences stop to count. */
const SATURATION = 1.2;

export interface Posting {
  /** How much the term tells: the fewer documents have it, the more. */
  readonly rarity: number;
  readonly documents: Uint32Array;
  /** What the term adds to the score of each of these documents. */
  readonly impacts: Float64Array;
}

export type Postings = ReadonlyMap<string, Posting>;

export function buildPostings(read: readonly FieldTerms[]): Postings {
  const meanLengths = meanLengthsOf(read);
  const growing = new Map<string, { documents: number[]; frequencies: number[] }>();
  for (const [number, fields] of read.entries()) {
    for (const [term, frequency] of weighFrequencies(fields, meanLengths)) {
      const found = growing.get(term);
      if (found === undefined) growing.set(term, { documents: [number], frequencies: [frequency] });
      else {
        found.documents.push(number);
        found.frequencies.push(frequency);
      }
    }
  }
  const postings = new Map<string, Posting>();
  for (const [term, { documents, frequencies }] of growing) {
    const rarity = rarityOf(documents.length, read.length);
    const impacts = frequencies.map((each) => (rarity * each * (SATURATION + 1)) / (SATURATION + each));
    postings.set(term, {
      documents: Uint32Array.from(documents),
      impacts: Float64Array.from(impacts),
      rarity,
    });
  }
  return postings;
}

/** Inverse document frequency in the form that is never negative. */
function rarityOf(having: number, all: number): number {
  return Math.log(1 + (all - having + 0.5) / (having + 0.5));
}

function weighFrequencies(
  fields: FieldTerms,
  meanLengths: Readonly<Record<Field, number>>,
): Map<string, number> {
  const frequencies = new Map<string, number>();
  for (const field of FIELD_NAMES) {
    const { weight, lengthShare } = FIELDS[field];
    const terms = fields[field];
    const share = weight / (1 - lengthShare + (lengthShare * terms.length) / meanLengths[field]);
    for (const term of terms) frequencies.set(term, (frequencies.get(term) ?? 0) + share);
  }
  return frequencies;
}

function meanLengthsOf(read: readonly FieldTerms[]): Readonly<Record<Field, number>> {
  const mean = (field: Field): number => {
    const total = read.reduce((sum, fields) => sum + fields[field].length, 0);
    return total === 0 ? 1 : total / read.length;
  };
  return Object.fromEntries(FIELD_NAMES.map((field) => [field, mean(field)])) as Record<Field, number>;
}
