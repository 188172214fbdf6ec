/**
 * Tools for catalogs of any size: those of all six sets, repeated until there are enough.
 */

import type { SearchDocument } from "../../packages/codecell/src/catalog/search/document.ts";
import type { ToolSet } from "../../test/tool-search/sets.ts";
import type { Workload } from "./workload.ts";

/** A prime: the sets, which differ in how much their tools say, are spread evenly over every size. */
const STRIDE = 7919;

export const CATALOG_CASES: Workload["cases"] = [
  { label: "100 tools", size: 100 },
  { label: "1000 tools", size: 1000 },
  { label: "10000 tools", size: 10_000 },
];

export function takeTools(sets: readonly ToolSet[], size: number): readonly SearchDocument[] {
  const all = sets.flatMap(({ documents }) => documents);
  return Array.from({ length: size }, (_, at) => {
    const document = all[(at * STRIDE) % all.length];
    if (document === undefined) throw new RangeError("Cannot measure: there are no tools");
    return { ...document, id: `${at}/${document.id}` };
  });
}
