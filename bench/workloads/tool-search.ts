/**
 * Tool search: how long it takes to index tools and to find some of them, and how often the right ones are found.
 *
 * - Times: tools and requests of all six sets. The index is the first that its process builds, with nothing compiled
 *   and no word vectors unpacked.
 * - Quality: each set is judged with word vectors that were trained without it. "mean" is the mean over the sets.
 * - The index has no public entry, so it is measured from the source. `catalog-build` uses the public entry of
 *   catalogs.
 */

import {
  createSearchIndex,
  type SearchIndex,
} from "../../packages/codecell/src/catalog/search/search-index.ts";
import { loadVectorsWithout } from "../../test/tool-search/held-out-vectors.ts";
import { meanOf, type Scores, scoreSet } from "../../test/tool-search/score.ts";
import { loadSet, SET_NAMES } from "../../test/tool-search/sets.ts";
import { percentile } from "../harness/statistics.ts";
import { CATALOG_CASES, takeTools } from "./catalog-tools.ts";
import type { Sample, Workload } from "./workload.ts";

const REQUESTS_PER_SET = 150;
const LIMIT = 8;

export const toolSearch: Workload = {
  name: "tool-search",
  title: "Finding tools in a catalog",
  process: "own",
  opens: true,
  only: ["codecell"],
  metrics: [
    { key: "p95", label: "query p95", better: "lower", unit: "ms" },
    { key: "p50", label: "query p50", better: "lower", unit: "ms" },
    { key: "build", label: "first build", better: "lower", unit: "ms" },
    { key: "rebuild", label: "later build", better: "lower", unit: "ms" },
  ],
  cases: CATALOG_CASES,
  rounds: 3,
  measure: async (_contestant, { size }) => {
    const sets = SET_NAMES.map(loadSet);
    const documents = takeTools(sets, size);
    const queries = sets.flatMap(({ requests }) =>
      requests.slice(0, REQUESTS_PER_SET).map(({ query }) => query),
    );
    const [index, build] = timed(() => createSearchIndex(documents));
    const times = queries.map((query) => timed(() => index.search(query, { limit: LIMIT }))[1]);
    const rebuild = timed(() => createSearchIndex(documents))[1];
    return toSample(
      { p95: percentile(times, 0.95), p50: percentile(times, 0.5), build, rebuild },
      queries.length,
    );
  },
};

export const toolSearchQuality: Workload = {
  name: "tool-search-quality",
  title: "Finding the right tools among the first eight",
  process: "own",
  opens: true,
  only: ["codecell"],
  metrics: [
    { key: "recall@8", label: "recall@8", better: "higher", unit: "%" },
    { key: "ndcg@10", label: "nDCG@10", better: "higher", unit: "%" },
    { key: "recall@5", label: "recall@5", better: "higher", unit: "%" },
    { key: "recall@10", label: "recall@10", better: "higher", unit: "%" },
    { key: "mrr", label: "MRR", better: "higher", unit: "%" },
  ],
  cases: ["mean", ...SET_NAMES].map((label) => ({ label, size: 1 })) as unknown as Workload["cases"],
  rounds: 1,
  measure: async (_contestant, { label }) => {
    const sets = SET_NAMES.filter((name) => label === "mean" || label === name).map(loadSet);
    const scores = sets.map((set): Scores => {
      const index: SearchIndex = createSearchIndex(set.documents, { vectors: loadVectorsWithout(set.name) });
      return scoreSet(set, index);
    });
    return toSample(
      meanOf(scores),
      sets.reduce((sum, { requests }) => sum + requests.length, 0),
    );
  },
};

function timed<Value>(work: () => Value): [Value, number] {
  const begun = performance.now();
  const value = work();
  return [value, performance.now() - begun];
}

function toSample(metrics: Readonly<Record<string, number>>, attempted: number): Sample {
  return { metrics, attempted, failed: 0 };
}
