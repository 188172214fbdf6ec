/**
 * Trainer: moves word vectors so that a request and the tool it asks for point in the same direction.
 *
 * - A text is the normalised sum of its words' vectors. For each left text, its right text has to beat the others of
 *   the batch (softmax over cosines). Words of the left text are dropped at random, so that no single word decides.
 * - Deterministic: one seed, one order of additions.
 */

import { addTo, dot, normalise } from "../../packages/codecell/src/catalog/search/vector-arithmetic.ts";

export interface Bag {
  readonly words: readonly number[];
  readonly weights: readonly number[];
}

export interface Batch {
  readonly left: readonly Bag[];
  readonly right: readonly Bag[];
  /** For each left text, the right text that belongs to it. */
  readonly target: readonly number[];
  /** Whether another right text fits as well, so that it is not pushed away. */
  readonly isAlsoRight: (left: number, right: number) => boolean;
}

export interface TrainerOptions {
  readonly dimensions: number;
  readonly steps: number;
  readonly rate: number;
  readonly temperature: number;
  /** The fraction of a left text's words that are dropped. */
  readonly dropped: number;
}

interface Text {
  readonly bag: Bag;
  readonly unit: Float32Array;
  readonly length: number;
  readonly gradient: Float32Array;
}

export class Trainer {
  readonly #options: TrainerOptions;
  readonly #vectors: Float32Array;
  readonly #random: () => number;
  readonly #mean: Float32Array;
  readonly #variance: Float32Array;
  readonly #gradient: Float32Array;
  #step = 0;

  constructor(vectors: Float32Array, options: TrainerOptions, random: () => number) {
    this.#vectors = vectors;
    this.#options = options;
    this.#random = random;
    this.#mean = new Float32Array(vectors.length);
    this.#variance = new Float32Array(vectors.length);
    this.#gradient = new Float32Array(vectors.length);
  }

  /** Learns from one batch and gives its loss. */
  learn(batch: Batch): number {
    this.#step += 1;
    const left = batch.left.map((bag) => this.#read(this.#thinOut(bag)));
    const right = batch.right.map((bag) => this.#read(bag));
    const loss = this.#compare(left, right, batch);
    const touched = new Set<number>();
    for (const text of [...left, ...right]) this.#spread(text, touched);
    this.#move(touched);
    return loss;
  }

  #thinOut(bag: Bag): Bag {
    const kept = bag.words.map(() => this.#random() >= this.#options.dropped);
    if (!kept.includes(true)) return bag;
    return { words: bag.words.filter((_, at) => kept[at]), weights: bag.weights.filter((_, at) => kept[at]) };
  }

  #read(bag: Bag): Text {
    const { dimensions } = this.#options;
    const unit = sumOf(bag, this.#vectors, dimensions);
    const length = normalise(unit) + 1e-6;
    return { bag, unit, length, gradient: new Float32Array(dimensions) };
  }

  #compare(left: readonly Text[], right: readonly Text[], { target, isAlsoRight }: Batch): number {
    const { temperature } = this.#options;
    let loss = 0;
    const scores = new Float64Array(right.length);
    for (const [row, text] of left.entries()) {
      let highest = -Infinity;
      for (const [column, other] of right.entries()) {
        const open = column === target[row] || !isAlsoRight(row, column);
        scores[column] = open ? dot(text.unit, 0, other.unit) / temperature : -Infinity;
        highest = Math.max(highest, scores[column] ?? 0);
      }
      let total = 0;
      for (let column = 0; column < scores.length; column += 1) {
        scores[column] = Math.exp((scores[column] ?? 0) - highest);
        total += scores[column] ?? 0;
      }
      loss -= Math.log((scores[target[row] ?? 0] ?? 0) / total);
      for (const [column, other] of right.entries()) {
        const share = (scores[column] ?? 0) / total - (column === target[row] ? 1 : 0);
        if (Math.abs(share) < 1e-6) continue;
        const slope = share / (temperature * left.length);
        addTo(text.gradient, other.unit, 0, slope);
        addTo(other.gradient, text.unit, 0, slope);
      }
    }
    return loss / left.length;
  }

  /** Passes a text's gradient on to the vectors of its words. */
  #spread({ bag, unit, length, gradient }: Text, touched: Set<number>): void {
    const { dimensions } = this.#options;
    const along = dot(gradient, 0, unit);
    for (const [place, word] of bag.words.entries()) {
      touched.add(word);
      const weight = (bag.weights[place] ?? 0) / length;
      for (let at = 0; at < dimensions; at += 1) {
        const value = weight * ((gradient[at] ?? 0) - along * (unit[at] ?? 0));
        this.#gradient[word * dimensions + at] = (this.#gradient[word * dimensions + at] ?? 0) + value;
      }
    }
  }

  /** Adam, for the words that occurred. */
  #move(touched: ReadonlySet<number>): void {
    const { dimensions, rate, steps } = this.#options;
    const pace = rate * Math.min(1, this.#step / 50) * (1 - this.#step / (steps + 1));
    for (const word of touched) {
      for (let at = word * dimensions; at < (word + 1) * dimensions; at += 1) {
        const slope = this.#gradient[at] ?? 0;
        this.#gradient[at] = 0;
        this.#mean[at] = 0.9 * (this.#mean[at] ?? 0) + 0.1 * slope;
        this.#variance[at] = 0.98 * (this.#variance[at] ?? 0) + 0.02 * slope * slope;
        const mean = (this.#mean[at] ?? 0) / (1 - 0.9 ** this.#step);
        const variance = (this.#variance[at] ?? 0) / (1 - 0.98 ** this.#step);
        this.#vectors[at] = (this.#vectors[at] ?? 0) - (pace * mean) / (Math.sqrt(variance) + 1e-8);
      }
    }
  }
}

function sumOf({ words, weights }: Bag, vectors: Float32Array, dimensions: number): Float32Array {
  const sum = new Float32Array(dimensions);
  for (const [place, word] of words.entries()) {
    addTo(sum, vectors, word * dimensions, weights[place] ?? 0);
  }
  return sum;
}
