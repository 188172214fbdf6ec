/** Packs word vectors into the text that the library carries; `word-vectors.ts` unpacks it. */

import { type PackedVectors, ZERO } from "../../packages/codecell/src/catalog/search/word-vectors.ts";

const MOST = 7;
/** Cutting off the extremes of a row makes its other values finer. The best of these cuts is taken. */
const CUTS = [0.6, 0.7, 0.8, 0.9, 1];

export function packVectors(words: readonly string[], values: Float32Array): PackedVectors {
  const dimensions = values.length / words.length;
  const rows = words.map((_, row) => values.subarray(row * dimensions, (row + 1) * dimensions));
  const scales = rows.map(bestScale);
  const largestScale = Math.max(...scales);
  const bytes: number[] = [];
  for (const [row, vector] of rows.entries()) {
    const step = Math.max(1, Math.round(((scales[row] ?? 0) / largestScale) * 255));
    bytes.push(step);
    const scale = (step / 255) * largestScale;
    for (let at = 0; at < dimensions; at += 2) {
      bytes.push((toHalfByte(vector[at] ?? 0, scale) << 4) | toHalfByte(vector[at + 1] ?? 0, scale));
    }
  }
  return { dimensions, largestScale, words: words.join(" "), rows: Buffer.from(bytes).toString("base64") };
}

function bestScale(vector: Float32Array): number {
  const largest = Math.max(...vector.map(Math.abs), 1e-9);
  const errors = CUTS.map((cut) => {
    const scale = (largest * cut) / MOST;
    const error = vector.reduce(
      (sum, value) => sum + (value - (toHalfByte(value, scale) - ZERO) * scale) ** 2,
      0,
    );
    return { scale, error };
  });
  return errors.reduce((best, each) => (each.error < best.error ? each : best)).scale;
}

function toHalfByte(value: number, scale: number): number {
  return Math.max(-MOST, Math.min(MOST, Math.round(value / scale))) + ZERO;
}
