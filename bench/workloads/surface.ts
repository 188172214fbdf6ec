/**
 * Surface: what a model reads in place of all its tools, in tokens, and how long making it takes.
 *
 * - Both tools are counted as JSON: names, descriptions with the index of tools, schemas.
 * - It has no public entry yet, so it is measured from the source.
 */

import { createCatalogOf, createFixtureCatalog, surfaceOf, tokensOf } from "../../test/surface/catalogs.ts";
import type { Case, Workload } from "./workload.ts";

/** Tools of seven MCP servers, on which others were measured too. */
const FIXTURE: Case = { label: "215 tools", size: 215 };
const CASES: readonly [Case, ...Case[]] = [
  FIXTURE,
  ...[10, 100, 500, 2000, 5000].map((size) => ({ label: `${size} tools`, size })),
];

export const surface: Workload = {
  name: "surface",
  title: "What a model reads of its tools",
  process: "own",
  opens: true,
  only: ["codecell"],
  metrics: [
    { key: "cl100k", label: "tokens (cl100k)", better: "lower", unit: "tokens" },
    { key: "o200k", label: "tokens (o200k)", better: "lower", unit: "tokens" },
    { key: "size", label: "size", better: "lower", unit: "KB" },
    { key: "first", label: "first", better: "lower", unit: "ms" },
  ],
  cases: CASES,
  rounds: 1,
  measure: async (_contestant, { size }) => {
    const catalog = size === FIXTURE.size ? createFixtureCatalog() : createCatalogOf(size);
    const begun = performance.now();
    const described = surfaceOf(catalog);
    const first = performance.now() - begun;
    const bytes = Buffer.byteLength(JSON.stringify([described.exec, described.wait]));
    return { metrics: { ...tokensOf(described), size: bytes / 1024, first }, attempted: 1, failed: 0 };
  },
};
