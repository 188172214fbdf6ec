/**
 * Meanings: compares a request with every tool by what their words mean, so that "give the money back" is near
 * "refund" without sharing a word with it.
 *
 * - The meaning of a text is the direction of the weighted sum of its words' vectors.
 * - Likeness is a cosine; 0 for texts without a known word.
 */

import type { FieldTerms } from "./document.ts";
import { addTo, dot, normalise } from "./vector-arithmetic.ts";
import type { WordVectors } from "./word-vectors.ts";

export interface Meanings {
  /** How alike a request is to each document, in their order. */
  likenessTo(terms: readonly string[]): Float32Array;
}

export interface Part {
  readonly terms: readonly string[];
  readonly weight: number;
}

/** How much the parts of a tool say about what it is for, each as a whole, however long. */
export function partsOf(fields: FieldTerms): readonly Part[] {
  return [
    { terms: fields.name, weight: 0.8 },
    { terms: fields.description, weight: 1 },
    { terms: [...fields.parameterNames, ...fields.parameterTexts], weight: 0.3 },
    { terms: fields.owner, weight: 0.2 },
    { terms: fields.tags, weight: 0.2 },
  ];
}

export function buildMeanings(read: readonly FieldTerms[], vectors: WordVectors): Meanings {
  const { dimensions } = vectors;
  const all = new Float32Array(read.length * dimensions);
  for (const [number, fields] of read.entries()) {
    const meaning = all.subarray(number * dimensions, (number + 1) * dimensions);
    for (const part of partsOf(fields)) addPart(meaning, part, vectors);
    normalise(meaning);
  }
  return {
    likenessTo(terms) {
      const wanted = new Float32Array(dimensions);
      addPart(wanted, { terms, weight: 1 }, vectors);
      normalise(wanted);
      const likeness = new Float32Array(read.length);
      for (let number = 0; number < likeness.length; number += 1) {
        likeness[number] = dot(all, number * dimensions, wanted);
      }
      return likeness;
    },
  };
}

function addPart(meaning: Float32Array, { terms, weight }: Part, vectors: WordVectors): void {
  const offsets: number[] = [];
  for (const term of terms) {
    const offset = vectors.offsetOf(term);
    if (offset !== undefined) offsets.push(offset);
  }
  const share = weight / Math.sqrt(Math.max(1, offsets.length));
  for (const offset of offsets) addTo(meaning, vectors.values, offset, share);
}
