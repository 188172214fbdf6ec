/**
 * Best: the highest scores of many, without sorting all of them.
 *
 * - Only scores above zero count. Equal scores keep the order of the documents, so results are the same every time.
 */

export interface Ranked {
  readonly document: number;
  readonly score: number;
}

export function bestOf(scores: ArrayLike<number>, limit: number): Ranked[] {
  const best: Ranked[] = [];
  for (let document = 0; document < scores.length; document += 1) {
    const score = scores[document] ?? 0;
    if (!(score > 0)) continue;
    const last = best[best.length - 1];
    if (best.length >= limit && last !== undefined && last.score >= score) continue;
    insert(best, { document, score });
    if (best.length > limit) best.pop();
  }
  return best;
}

/** Behind everything that scores as much. */
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
