/** Tools for catalogs of any size: the tools of all six sets, repeated until there are enough. */

import type { SearchDocument } from "../../packages/codecell/src/catalog/search/document.ts";
import type { ToolSet } from "../../test/tool-search/sets.ts";
import type { Workload } from "./workload.ts";

/** A prime, which spreads the sets evenly over every size: their tools differ in how much they say. */
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
