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

/** What is known of a term while documents are still being read. */
interface Occurrences {
  readonly documents: number[];
  readonly frequencies: number[];
}

export function buildPostings(read: readonly FieldTerms[]): Postings {
  const all = new Map<string, Occurrences>();
  const meanLengths = meanLengthsOf(read);
  for (const [document, fields] of read.entries()) {
    for (const field of FIELD_NAMES) {
      const { weight, lengthShare } = FIELDS[field];
      const terms = fields[field];
      const share = weight / (1 - lengthShare + (lengthShare * terms.length) / meanLengths[field]);
      for (const term of terms) count(all, term, document, share);
    }
  }
  const postings = new Map<string, Posting>();
  for (const [term, occurrences] of all) postings.set(term, toPosting(occurrences, read.length));
  return postings;
}

/** Documents come one after the other, so the last entry is the only one that can be this document's. */
function count(all: Map<string, Occurrences>, term: string, document: number, share: number): void {
  const found = all.get(term);
  if (found === undefined) {
    all.set(term, { documents: [document], frequencies: [share] });
    return;
  }
  const { documents, frequencies } = found;
  const last = documents.length - 1;
  if (documents[last] === document) frequencies[last]! += share;
  else {
    documents.push(document);
    frequencies.push(share);
  }
}

function toPosting({ documents, frequencies }: Occurrences, size: number): Posting {
  const rarity = rarityOf(documents.length, size);
  const impacts = new Float64Array(frequencies);
  for (let at = 0; at < impacts.length; at += 1) {
    const frequency = impacts[at]!;
    impacts[at] = (rarity * frequency * (SATURATION + 1)) / (SATURATION + frequency);
  }
  return { documents: new Uint32Array(documents), impacts, rarity };
}

/** Inverse document frequency in the form that is never negative. */
function rarityOf(having: number, all: number): number {
  return Math.log(1 + (all - having + 0.5) / (having + 0.5));
}

function meanLengthsOf(read: readonly FieldTerms[]): Readonly<Record<Field, number>> {
  const mean = (field: Field): number => {
    const total = read.reduce((sum, fields) => sum + fields[field].length, 0);
    return total === 0 ? 1 : total / read.length;
  };
  return Object.fromEntries(FIELD_NAMES.map((field) => [field, mean(field)])) as Record<Field, number>;
}
