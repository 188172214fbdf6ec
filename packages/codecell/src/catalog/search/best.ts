/**
 * Best: finds the highest scores without sorting all of them. Runs anywhere.
 *
 * - Only scores above zero count. Equal scores keep the order of the documents, so the result is always the same.
 */

export interface Ranked {
  readonly document: number;
  readonly score: number;
}

export function bestOf(scores: Float64Array, limit: number): Ranked[] {
  const best: Ranked[] = [];
  let least = limit > 0 ? 0 : Infinity;
  for (let document = 0; document < scores.length; document += 1) {
    const score = scores[document]!;
    if (score <= least) continue;
    insert(best, { document, score });
    if (best.length > limit) best.pop();
    if (best.length === limit) least = best[limit - 1]?.score ?? Infinity;
  }
  return best;
}

/** Inserts after all entries with the same score. */
function insert(best: Ranked[], ranked: Ranked): void {
  let low = 0;
  let high = best.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((best[middle]?.score ?? 0) >= ranked.score) low = middle + 1;
    else high = middle;
  }
  best.splice(low, 0, ranked);
}
