/**
 * Score: how well a ranking answers a request, and a ranker a whole set.
 *
 * A needed capability counts as found at the rank of the first tool that has it.
 */

import type { SearchRequest, ToolSet } from "./sets.ts";

export const MEASURES = ["recall@5", "recall@8", "recall@10", "ndcg@10", "mrr"] as const;
export type Measure = (typeof MEASURES)[number];
export type Scores = Readonly<Record<Measure, number>>;

export interface Ranker {
  search(query: string, options: { readonly limit: number }): readonly { readonly id: string }[];
}

const DEPTH = 20;

/** In percent. */
export function scoreSet({ requests }: ToolSet, ranker: Ranker): Scores {
  const each = requests.map((request) => {
    const ids = ranker.search(request.query, { limit: DEPTH }).map(({ id }) => id);
    return scoreRequest(ids, request);
  });
  return meanOf(each, 100);
}

export function meanOf(scores: readonly Scores[], factor = 1): Scores {
  const mean = (measure: Measure): number =>
    (factor * scores.reduce((sum, each) => sum + each[measure], 0)) / scores.length;
  return Object.fromEntries(MEASURES.map((measure) => [measure, mean(measure)])) as Record<Measure, number>;
}

function scoreRequest(ids: readonly string[], { groups }: SearchRequest): Scores {
  const ranks = groups.map((group) => {
    const at = ids.findIndex((id) => group.includes(id));
    return at < 0 ? Infinity : at;
  });
  const recallAt = (depth: number): number => ranks.filter((rank) => rank < depth).length / ranks.length;
  const gain = (rank: number): number => (rank < 10 ? 1 / Math.log2(rank + 2) : 0);
  const total = (list: readonly number[]): number => list.reduce((sum, rank) => sum + gain(rank), 0);
  return {
    "recall@5": recallAt(5),
    "recall@8": recallAt(8),
    "recall@10": recallAt(10),
    "ndcg@10": total(ranks) / total(ranks.map((_, at) => at)),
    mrr: 1 / (Math.min(...ranks) + 1),
  };
}
