/**
 * Prints how good the search index is on the six sets: `npm run search-score`.
 *
 * - "held out": every set with word vectors trained without it. Believe these figures.
 * - "bundled": with the vectors of the library, which were trained with the sets.
 * - "words only": without vectors.
 */

import { createSearchIndex } from "../packages/codecell/src/catalog/search/search-index.ts";
import type { WordVectors } from "../packages/codecell/src/catalog/search/word-vectors.ts";
import { loadVectorsWithout } from "../test/tool-search/held-out-vectors.ts";
import { MEASURES, meanOf, type Scores, scoreSet } from "../test/tool-search/score.ts";
import { loadSet, SET_NAMES, type SetName } from "../test/tool-search/sets.ts";

const WAYS: Readonly<Record<string, (name: SetName) => { readonly vectors?: WordVectors | false }>> = {
  "held out": (name) => ({ vectors: loadVectorsWithout(name) }),
  "words only": () => ({ vectors: false }),
  bundled: () => ({}),
};

const sets = SET_NAMES.map(loadSet);
for (const [way, optionsFor] of Object.entries(WAYS)) {
  console.log(`\n${way.padEnd(18)}${MEASURES.map((measure) => measure.padStart(11)).join("")}`);
  const scores = sets.map((set) => scoreSet(set, createSearchIndex(set.documents, optionsFor(set.name))));
  for (const [at, set] of sets.entries()) printLine(set.name, scores[at]);
  printLine("mean", meanOf(scores));
}

function printLine(label: string, scores: Scores | undefined): void {
  const cells = MEASURES.map((measure) => (scores?.[measure] ?? 0).toFixed(1).padStart(11));
  console.log(`${label.padEnd(18)}${cells.join("")}`);
}
