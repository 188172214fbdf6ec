/** Public API of codecell/catalog. Named exports only. Needs Node.js for `content-hash.ts` alone. */
export { createCatalog } from "./catalog.ts";
export type { Catalog, CatalogOptions, ToolSource } from "./catalog.ts";
export type { CatalogEntry } from "./catalog-entry.ts";
export type { FoundTool, ToolDescription, ToolSummary } from "./describe.ts";
export type { ObservedOutput } from "./observed-outputs.ts";
export type { JsonShape, ShapeField } from "./observed-shape.ts";
export type { CatalogPolicy } from "./policy.ts";
export type { Embed, HybridSearchOptions } from "./search/hybrid-search.ts";
export type { SearchOptions } from "./search/search-index.ts";
