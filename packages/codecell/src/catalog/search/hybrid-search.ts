/**
 * Hybrid search: merges the index's ranking with the ranking of an embedding model that the host provides. Runs
 * anywhere.
 *
 * - Merges by rank, not by score (reciprocal-rank fusion), because scores of different rankers cannot be compared. Few
 *   ranks decide, because both rankings are best at the top.
 * - The model embeds all tools once, in batches, and then each query. If it fails for a query, the host hears of the
 *   failure and the index answers alone: a search must not depend on a service that is away.
 */

import { bestOf } from "./best.ts";
import type { SearchDocument } from "./document.ts";
import {
  cutQuery,
  DEFAULT_LIMIT,
  type SearchHit,
  type SearchIndex,
  type SearchOptions,
} from "./search-index.ts";
import { dot, normalise } from "./vector-arithmetic.ts";

/** Gives each text a vector, all of the same length. */
export type Embed = (
  texts: readonly string[],
  purpose: "document" | "query",
) => Promise<readonly ArrayLike<number>[]>;

export interface HybridSearchOptions {
  readonly embed: Embed;
  /** Called if the model fails, for the tools or for a query. */
  readonly onFailure?: (error: unknown) => void;
}

export interface HybridSearch {
  search(query: string, options?: SearchOptions): Promise<SearchHit[]>;
}

const BATCH = 64;
/** The least number of ranks that are read from each ranking. */
const DEPTH = 50;
/** A larger offset gives the very first ranks less weight. */
const RANK_OFFSET = 10;

export async function createHybridSearch(
  documents: readonly SearchDocument[],
  index: SearchIndex,
  { embed, onFailure = () => {} }: HybridSearchOptions,
): Promise<HybridSearch> {
  const vectors = await embedDocuments(documents, embed);
  return {
    async search(query, { limit = DEFAULT_LIMIT } = {}) {
      const hits = index.search(query, { limit: Math.max(limit, DEPTH) });
      let embedded: readonly string[];
      try {
        embedded = await rankByModel(query);
      } catch (error) {
        onFailure(error);
        return hits.slice(0, limit);
      }
      const exact = hits.filter(({ exact: isExact }) => isExact).map(({ id }) => id);
      return merge(
        hits.map(({ id }) => id),
        embedded,
        exact,
      ).slice(0, limit);
    },
  };

  async function rankByModel(query: string): Promise<readonly string[]> {
    const [given] = await embed([cutQuery(query)], "query");
    const wanted = Float32Array.from(given ?? []);
    if (vectors.length > 0 && wanted.length !== vectors[0]?.length) {
      throw new RangeError(
        `Cannot compare: the query's vector has ${wanted.length} dimensions, the tools' ${vectors[0]?.length}`,
      );
    }
    normalise(wanted);
    const likeness = Float64Array.from(vectors, (vector) => dot(vector, 0, wanted));
    return bestOf(likeness, DEPTH).map(({ document }) => documents[document]?.id ?? "");
  }
}

async function embedDocuments(
  documents: readonly SearchDocument[],
  embed: Embed,
): Promise<readonly Float32Array[]> {
  const vectors: Float32Array[] = [];
  for (let begin = 0; begin < documents.length; begin += BATCH) {
    const batch = documents.slice(begin, begin + BATCH);
    const given = await embed(
      batch.map(({ name, description }) => `${name}: ${description}`),
      "document",
    );
    if (given.length !== batch.length) {
      throw new RangeError(`Cannot embed tools: ${given.length} vectors for ${batch.length} texts`);
    }
    for (const each of given) {
      const vector = Float32Array.from(each);
      normalise(vector);
      vectors.push(vector);
    }
  }
  if (vectors.some(({ length }) => length !== vectors[0]?.length)) {
    throw new RangeError("Cannot embed tools: vectors of different lengths");
  }
  return vectors;
}

function merge(words: readonly string[], model: readonly string[], exact: readonly string[]): SearchHit[] {
  const scores = new Map<string, number>();
  for (const ranking of [words, model]) {
    for (const [rank, id] of ranking.entries())
      scores.set(id, (scores.get(id) ?? 0) + 1 / (RANK_OFFSET + rank));
  }
  for (const id of exact) scores.set(id, (scores.get(id) ?? 0) + 1);
  return [...scores]
    .map(([id, score]): SearchHit => ({ id, score, exact: exact.includes(id) }))
    .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
}
