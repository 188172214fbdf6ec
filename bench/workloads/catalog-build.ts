/**
 * Builds a catalog, with everything that is ever computed for all of its tools at once, in a process that has built
 * no catalog before.
 *
 * A catalog computes on demand, so everything is asked for: its entries, convenience names, hash, and one search, for
 * which the index is built.
 */

import type { AnyTool, JsonSchema } from "codecell";
import type { ToolSource } from "codecell/catalog";
import type { SearchDocument } from "../../packages/codecell/src/catalog/search/document.ts";
import { loadSet, SET_NAMES } from "../../test/tool-search/sets.ts";
import { Attempts } from "../harness/attempts.ts";
import { CATALOG_CASES, takeTools } from "./catalog-tools.ts";
import type { Workload } from "./workload.ts";

const OWNERS = 40;

export const catalogBuild: Workload = {
  name: "catalog-build",
  title: "Building a catalog",
  process: "own",
  opens: true,
  only: ["codecell"],
  metrics: [
    { key: "total", label: "in all", better: "lower", unit: "ms" },
    { key: "entries", label: "entries", better: "lower", unit: "ms" },
    { key: "names", label: "names", better: "lower", unit: "ms" },
    { key: "hash", label: "hash", better: "lower", unit: "ms" },
    { key: "search", label: "first search", better: "lower", unit: "ms" },
  ],
  cases: CATALOG_CASES,
  rounds: 3,
  measure: async (_contestant, { size }) => {
    const { createCatalog } = await import("codecell/catalog");
    const attempts = new Attempts();
    const sources = toSources(takeTools(SET_NAMES.map(loadSet), size));
    const metrics: Record<string, number> = {};
    const begun = performance.now();
    let last = begun;
    const lap = (key: string): void => {
      const now = performance.now();
      metrics[key] = now - last;
      last = now;
    };
    await attempts.check(size, async () => {
      const catalog = createCatalog(sources);
      lap("entries");
      const { size: named } = catalog.names;
      lap("names");
      const { length: hashed } = catalog.hash;
      lap("hash");
      const { length: found } = await catalog.search("create a calendar event");
      lap("search");
      return named > 0 && hashed > 0 && found > 0 ? catalog.entries.length : 0;
    });
    return attempts.sample({ ...metrics, total: last - begun });
  },
};

/** Spreads the tools over forty servers. A name that a server already has is changed. */
function toSources(documents: readonly SearchDocument[]): readonly ToolSource[] {
  const tools = Array.from({ length: OWNERS }, (): Record<string, AnyTool> => ({}));
  for (const [at, { name, description, inputSchema }] of documents.entries()) {
    const ofOwner = tools[at % OWNERS] ?? {};
    const free = Object.hasOwn(ofOwner, name) ? `${name}_${at}` : name;
    ofOwner[free] = { description, input: inputSchema as JsonSchema, execute: () => null };
  }
  return tools.map((each, owner) => ({ kind: "mcp", owner: `server${owner}`, tools: each }));
}
