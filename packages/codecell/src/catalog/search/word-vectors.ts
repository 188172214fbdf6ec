/**
 * Word vectors: a table of the meanings of words, packed into text, and its unpacking. Runs anywhere.
 *
 * - A row has one byte for its scale and half a byte for each dimension. A longer vector belongs to a word that says
 *   more.
 * - Words are stems, as `terms.ts` makes them. A word outside the table has no meaning here, which is fine.
 */

export interface PackedVectors {
  readonly dimensions: number;
  /** The scale of a row whose byte is 255. */
  readonly largestScale: number;
  /** The words, separated by spaces, in the order of the rows. */
  readonly words: string;
  /** Base64. */
  readonly rows: string;
}

export interface WordVectors {
  readonly dimensions: number;
  /** Where the vector of a term begins in `values`. */
  readonly offsetOf: (term: string) => number | undefined;
  readonly values: Float32Array;
}

/** Half bytes hold -7 to 7, shifted by this number. */
export const ZERO = 8;
const SCALES = 255;

export function unpackVectors(packed: PackedVectors): WordVectors {
  const { dimensions, largestScale } = packed;
  const bytes = atob(packed.rows);
  const words = packed.words.split(" ");
  const values = new Float32Array(words.length * dimensions);
  const offsets = new Map<string, number>();
  let read = 0;
  for (const [row, word] of words.entries()) {
    offsets.set(word, row * dimensions);
    const scale = (bytes.charCodeAt(read) / SCALES) * largestScale;
    read += 1;
    for (let at = 0; at < dimensions; at += 2) {
      const pair = bytes.charCodeAt(read);
      read += 1;
      values[row * dimensions + at] = ((pair >> 4) - ZERO) * scale;
      values[row * dimensions + at + 1] = ((pair & 15) - ZERO) * scale;
    }
  }
  return { dimensions, values, offsetOf: (term) => offsets.get(term) };
}
