/**
 * Catalog: all tools a run may use, named, described and searchable.
 *
 * - Immutable; a change makes a new one. Equal tools make equal catalogs, whatever order they came in.
 * - The policy is applied before anything is catalogued: what it denies is not here, under no name.
 * - Nothing is computed for a tool before somebody asks for it: thousands of them cost little.
 */
import { inTurns, type Steps } from "../loop/turn.ts";
import { AGENT_TOOL_KEYS, assertTool, assertToolSet } from "../contract/assert-tools.ts";
import type { ToolSet } from "../contract/tool.ts";
import type { ShapeMemory } from "../contract/shape-memory.ts";
import type { Json } from "../contract/value.ts";
import { renderType } from "../declare/render-type.ts";
import { inputSchemaOf, outputSchemaOf } from "../declare/tool-schemas.ts";
import { isRecord } from "../value/shape.ts";
import type { CatalogEntry } from "./catalog-entry.ts";
import { contentHash } from "./content-hash.ts";
import { resolveConvenienceNames } from "./convenience-names.ts";
import {
  type FoundTool,
  toDescription,
  type ToolDescription,
  toSignature,
  toSummary,
  usefulOutputSchemaOf,
} from "./describe.ts";
import { ObservedOutputs } from "./observed-outputs.ts";
import { type CatalogPolicy, createPolicy } from "./policy.ts";
import type { SearchDocument } from "./search/document.ts";
import { createHybridSearch, type HybridSearch, type HybridSearchOptions } from "./search/hybrid-search.ts";
import { DEFAULT_LIMIT, searchIndexSteps, type SearchOptions } from "./search/search-index.ts";
import { toToolId } from "./tool-id.ts";

/** Tools that come from one place. */
export interface ToolSource {
  /** What kind of place: `core`, `plugin`, `mcp`, `openapi`, `client`, … */
  readonly kind: string;
  /** Which one of its kind: a server, a plugin, an application. */
  readonly owner: string;
  readonly tools: ToolSet;
  /** Changes when what is behind the tools does: what was learnt about their outputs is forgotten then. */
  readonly identity?: string;
}

export interface CatalogOptions {
  /** Which tools are catalogued; all unless said otherwise. */
  readonly policy?: CatalogPolicy;
  /** Where what is learnt about outputs outlives the process. */
  readonly memory?: ShapeMemory;
  /** An embedding model that takes part in searches. One that fails is told about, and not waited for. */
  readonly embedding?: HybridSearchOptions;
}

export interface Catalog {
  /** By id, as code points compare. */
  readonly entries: readonly CatalogEntry[];
  /** Ids by convenience name. */
  readonly names: ReadonlyMap<string, string>;
  /** The same for equal tools, another one for any change that a model could notice. */
  readonly hash: string;
  get(id: string): CatalogEntry | undefined;
  /** The tools that fit a request in words, best first; a name or an id finds its tool before all others. */
  search(query: string, options?: SearchOptions): Promise<FoundTool[]>;
  /** Undefined for an id that is not catalogued. */
  describe(id: string): Promise<ToolDescription | undefined>;
  /** Learns from an outcome what a tool gives that does not say it. Never fails. */
  observe(id: string, output: Json): Promise<void>;
  /** A new catalog in which a source of the same kind and owner is replaced, or there is one more. */
  withSource(source: ToolSource): Catalog;
  withoutSource(kind: string, owner: string): Catalog;
}

export function createCatalog(sources: readonly ToolSource[], options: CatalogOptions = {}): Catalog {
  if (!Array.isArray(sources)) {
    throw new TypeError("Cannot create a catalog: expected a list of sources, { kind, owner, tools }");
  }
  if (typeof options !== "object" || options === null) {
    throw new TypeError("Cannot create a catalog: expected an object of options");
  }
  const { policy = {}, memory, embedding } = options;
  return new SourceCatalog(sources, {
    isAllowed: createPolicy(policy),
    observed: new ObservedOutputs(memory),
    embedding,
  });
}

/** What a catalog shares with those that are made of it. */
interface CatalogParts {
  readonly isAllowed: ReturnType<typeof createPolicy>;
  readonly observed: ObservedOutputs;
  readonly embedding: HybridSearchOptions | undefined;
}

class SourceCatalog implements Catalog {
  readonly entries: readonly CatalogEntry[];
  readonly #sources: readonly ToolSource[];
  readonly #setup: CatalogParts;
  readonly #byId = new Map<string, CatalogEntry>();
  readonly #identities = new Map<CatalogEntry, string>();
  #names: ReadonlyMap<string, string> | undefined;
  #convenience: ReadonlyMap<string, string> | undefined;
  #hash: string | undefined;
  #search: Promise<HybridSearch> | undefined;

  constructor(sources: readonly ToolSource[], setup: CatalogParts) {
    this.#sources = [...sources];
    this.#setup = setup;
    for (const source of sources) this.#add(source);
    this.entries = Object.freeze([...this.#byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1)));
  }

  get names(): ReadonlyMap<string, string> {
    this.#names ??= resolveConvenienceNames(this.entries);
    return this.#names;
  }

  get hash(): string {
    this.#hash ??= contentHash(this.entries.flatMap(contentOf));
    return this.#hash;
  }

  get(id: string): CatalogEntry | undefined {
    return this.#byId.get(id);
  }

  async search(query: string, { limit = DEFAULT_LIMIT }: SearchOptions = {}): Promise<FoundTool[]> {
    if (typeof query !== "string") throw new TypeError("Cannot search: the query must be a string");
    if (!Number.isInteger(limit) || limit < 1) {
      throw new RangeError(`Cannot search: limit is ${String(limit)}, it must be a positive integer`);
    }
    this.#search ??= openSearch(this.entries, this.#setup.embedding);
    const hits = await (await this.#search).search(query, { limit });
    return hits.flatMap(({ id }) => {
      const entry = this.#byId.get(id);
      return entry === undefined ? [] : [{ ...toSummary(entry), signature: this.#signatureOf(entry) }];
    });
  }

  async describe(id: string): Promise<ToolDescription | undefined> {
    const entry = this.#byId.get(id);
    if (entry === undefined) return undefined;
    const observed =
      usefulOutputSchemaOf(entry) === undefined
        ? await this.#setup.observed.of(this.#keyOf(entry))
        : undefined;
    return toDescription(entry, this.#nameOf(id), observed);
  }

  async observe(id: string, output: Json): Promise<void> {
    const entry = this.#byId.get(id);
    if (entry === undefined || usefulOutputSchemaOf(entry) !== undefined) return;
    await this.#setup.observed.observe(this.#keyOf(entry), output);
  }

  withSource(source: ToolSource): Catalog {
    return this.#replace(source.kind, source.owner, [source]);
  }

  withoutSource(kind: string, owner: string): Catalog {
    return this.#replace(kind, owner, []);
  }

  #replace(kind: string, owner: string, by: readonly ToolSource[]): Catalog {
    const others = this.#sources.filter((one) => one.kind !== kind || one.owner !== owner);
    return new SourceCatalog([...others, ...by], this.#setup);
  }

  #add({ kind, owner, tools, identity = "" }: ToolSource): void {
    assertToolSet(tools, `catalog "${kind}:${owner}"`);
    for (const [name, tool] of Object.entries(tools)) {
      const id = toToolId(kind, owner, name);
      if (!this.#setup.isAllowed({ id, name })) continue;
      assertTool(tool, id, "create a catalog", AGENT_TOOL_KEYS);
      if (this.#byId.has(id)) {
        throw new TypeError(`Cannot catalog "${id}": two sources have it, give them different owners`);
      }
      const entry = Object.freeze({ id, kind, owner, name, tool });
      this.#byId.set(id, entry);
      this.#identities.set(entry, identity);
    }
  }

  #nameOf(id: string): string | undefined {
    this.#convenience ??= new Map([...this.names].map(([name, of]) => [of, name]));
    return this.#convenience.get(id);
  }

  #signatureOf(entry: CatalogEntry): string {
    return toSignature(entry, this.#nameOf(entry.id));
  }

  #keyOf(entry: CatalogEntry): string {
    return contentHash(["observed output", entry.id, this.#identities.get(entry) ?? ""]);
  }
}

async function openSearch(
  entries: readonly CatalogEntry[],
  embedding: HybridSearchOptions | undefined,
): Promise<HybridSearch> {
  const documents = await inTurns(toDocuments(entries));
  const index = await inTurns(searchIndexSteps(documents));
  const alone: HybridSearch = { search: async (query, options) => index.search(query, options) };
  if (embedding === undefined) return alone;
  try {
    return await createHybridSearch(documents, index, embedding);
  } catch (error) {
    embedding.onFailure?.(error);
    return alone;
  }
}

/** Schemas are made JSON Schema for it, which may take a while for many. */
function* toDocuments(entries: readonly CatalogEntry[]): Steps<SearchDocument[]> {
  const documents: SearchDocument[] = [];
  for (const entry of entries) {
    documents.push(toDocument(entry));
    yield;
  }
  return documents;
}

function toDocument({ id, kind, owner, name, tool }: CatalogEntry): SearchDocument {
  const { tags = [] } = tool;
  // Whoever wrote it, one tool must not break the search for all.
  const description = typeof tool.description === "string" ? tool.description : "";
  return { id, kind, owner, name, description, tags, inputSchema: inputSchemaOf(tool) };
}

/** What a model could notice of a tool. */
function contentOf({ id, name, tool }: CatalogEntry): string[] {
  const { description, label, tags, examples } = tool;
  const schemas = [inputSchemaOf(tool), outputSchemaOf(tool)];
  return [id, name, ...[[description, label, tags, examples], ...schemas].map(textOf)];
}

/** Schemas may be cyclic in memory; what can be told of those is how they are declared. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return isRecord(value) ? renderType("Value", value) : "";
  }
}
