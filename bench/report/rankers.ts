/**
 * Rankers: what others reach on the six sets of tool search, beside Codecell's figures of this run.
 *
 * The others were measured with the same scorer and the same data, but not by this bench: recall@8 of each set, and
 * the mean of nDCG@10. Nothing else is known about them.
 */

import { SET_NAMES } from "../../test/tool-search/sets.ts";
import type { Row } from "../harness/rows.ts";
import { align } from "./table.ts";

/** recall@8 in the order of `SET_NAMES`, its mean, and the mean of nDCG@10. */
const OTHERS: Readonly<Record<string, readonly number[]>> = {
  "lexical + a small static embedding": [45.0, 91.1, 61.1, 75.0, 93.0, 83.5, 74.8, 64.3],
  "a better lexical candidate (synonyms, fusion)": [43.8, 87.2, 61.2, 70.6, 94.3, 82.8, 73.3, 62.2],
  "fielded BM25, stemming, parameter names (reference)": [42.1, 83.0, 62.3, 67.4, 91.2, 82.6, 71.4, 61.3],
  "OpenClaw (native tools)": [41.5, 83.0, 59.1, 67.3, 90.4, 79.9, 70.2, 60.8],
  "MiniSearch, tuned": [39.4, 79.4, 59.7, 66.6, 89.0, 82.5, 69.5, 59.6],
  "SQLite FTS5": [41.4, 81.6, 55.3, 61.4, 90.2, 81.6, 68.6, 58.5],
  "OpenClaw (MCP tools)": [41.0, 83.0, 61.1, 67.3, 86.7, 72.2, 68.5, 58.6],
  Codex: [46.5, 79.8, 60.4, 64.9, 78.3, 66.5, 66.1, 56.7],
  lunr: [34.0, 83.0, 59.8, 59.9, 80.9, 70.9, 64.7, 54.6],
  mcpproxy: [39.0, 70.2, 51.0, 55.6, 88.9, 74.4, 63.2, 54.7],
  ToolHive: [36.7, 81.6, 53.8, 58.8, 80.0, 65.3, 62.7, 53.7],
  StackOne: [35.8, 72.3, 56.1, 55.0, 55.2, 49.7, 54.0, 47.3],
  UTCP: [24.8, 71.3, 46.3, 40.6, 50.1, 30.3, 43.9, 35.8],
  Orama: [25.9, 68.4, 51.2, 27.3, 39.8, 30.5, 40.5, 30.5],
  FlexSearch: [16.4, 59.6, 40.0, 18.6, 34.6, 26.9, 32.7, 24.3],
  Caplets: [13.4, 63.1, 36.1, 26.8, 17.2, 27.9, 30.8, 23.2],
};

export function renderRankers(rows: readonly Row[]): string {
  const figure = (label: string, metric: string): string =>
    rows.find((row) => row.caseLabel === label)?.metrics[metric]?.toFixed(1) ?? "–";
  const own = [...SET_NAMES, "mean"].map((label) => figure(label, "recall@8"));
  const others = Object.entries(OTHERS).map(([name, figures]) =>
    [name].concat(figures.map((each) => each.toFixed(1))),
  );
  return [
    "\nrecall@8 of other rankers (measured elsewhere, same scorer and data)",
    ...align([
      ["", ...SET_NAMES, "mean", "nDCG@10"],
      ["Codecell", ...own, figure("mean", "ndcg@10")],
      ...others,
    ]),
  ].join("\n");
}
