/**
 * Meanings: compares a request with every tool by the meaning of their words, so that "give the money back" is near
 * "refund" without sharing a word. Runs anywhere.
 *
 * - The meaning of a text is the direction of the weighted sum of its words' vectors.
 * - Likeness is a cosine; it is 0 for texts without a known word.
 */

import type { Steps } from "../../loop/turn.ts";
import type { SearchField } from "./document.ts";
import { DOCUMENTS_AT_ONCE, type FieldTerms, type ReadDocuments } from "./read-documents.ts";
import { Tally } from "./tally.ts";
import { addTo, dot, normalise } from "./vector-arithmetic.ts";
import type { WordVectors } from "./word-vectors.ts";

export interface Meanings {
  /** The likeness of a request to each document, in the order of the documents. */
  likenessTo(terms: readonly string[]): Float32Array;
}

interface ToolPart {
  readonly fields: readonly SearchField[];
  readonly weight: number;
}

/** How much each part of a tool says about its purpose. The weight is for the whole part, however long it is. */
export const PARTS: readonly ToolPart[] = [
  { fields: ["name"], weight: 0.8 },
  { fields: ["description"], weight: 1 },
  { fields: ["parameterNames", "parameterTexts"], weight: 0.3 },
  { fields: ["owner"], weight: 0.2 },
  { fields: ["tags"], weight: 0.2 },
];

interface PartTerms {
  readonly fields: readonly FieldTerms[];
  readonly weight: number;
}

const UNKNOWN = -1;

export function* buildMeanings(
  { size, fields, terms }: ReadDocuments,
  { dimensions, offsetOf, values }: WordVectors,
): Steps<Meanings> {
  const vectorOf = Int32Array.from(terms, (term) => offsetOf(term) ?? UNKNOWN);
  const parts = PARTS.map(({ fields: names, weight }) => ({
    fields: names.map((name) => fields[name]),
    weight,
  }));
  const all = new Float32Array(size * dimensions);
  const tally = new Tally(terms.length);
  const sum = new Float64Array(dimensions);
  for (let document = 0; document < size; document += 1) {
    if (document % DOCUMENTS_AT_ONCE === 0) yield;
    for (const part of parts) weigh(part, document, vectorOf, tally);
    sum.fill(0);
    tally.take((term, weight) => addTo(sum, values, vectorOf[term]!, weight));
    all.set(sum, document * dimensions);
    normalise(all.subarray(document * dimensions, (document + 1) * dimensions));
  }
  return {
    likenessTo(request) {
      const requested = new Float64Array(dimensions);
      for (const term of request) {
        const offset = offsetOf(term);
        if (offset !== undefined) addTo(requested, values, offset, 1);
      }
      const wanted = new Float32Array(requested);
      normalise(wanted);
      const likeness = new Float32Array(size);
      for (let document = 0; document < size; document += 1) {
        likeness[document] = dot(all, document * dimensions, wanted);
      }
      return likeness;
    },
  };
}

/** Divides the weight of a part among its terms that have a meaning. */
function weigh({ fields, weight }: PartTerms, document: number, vectorOf: Int32Array, tally: Tally): void {
  let known = 0;
  for (const { numbers, offsets } of fields) {
    for (let at = offsets[document]!; at < offsets[document + 1]!; at += 1) {
      if (vectorOf[numbers[at]!] !== UNKNOWN) known += 1;
    }
  }
  const share = weight / Math.sqrt(known);
  for (const { numbers, offsets } of fields) {
    for (let at = offsets[document]!; at < offsets[document + 1]!; at += 1) {
      if (vectorOf[numbers[at]!] !== UNKNOWN) tally.add(numbers[at]!, share);
    }
  }
}
