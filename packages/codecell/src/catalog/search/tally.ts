/**
 * Tally: adds up the weights of terms in one document, then in the next. Runs anywhere.
 *
 * - A term is its number in a vocabulary; a weight is above zero. Nothing is allocated per document.
 */

export class Tally {
  readonly #weights: Float64Array;
  /** Terms with a weight; only the first `#count` belong to this document. */
  readonly #terms: Uint32Array;
  #count = 0;

  constructor(terms: number) {
    this.#weights = new Float64Array(terms);
    this.#terms = new Uint32Array(terms);
  }

  add(term: number, weight: number): void {
    const before = this.#weights[term]!;
    if (before === 0) {
      this.#terms[this.#count] = term;
      this.#count += 1;
    }
    this.#weights[term] = before + weight;
  }

  /** Visits every term once, in the order of its first use, and starts again. */
  take(visit: (term: number, weight: number) => void): void {
    for (let at = 0; at < this.#count; at += 1) {
      const term = this.#terms[at]!;
      visit(term, this.#weights[term]!);
      this.#weights[term] = 0;
    }
    this.#count = 0;
  }
}
