/**
 * Catalog: all tools that a run may use, named, described and searchable. Needs Node.js for `content-hash.ts` alone.
 *
 * - A catalog never changes; a change makes a new catalog. Equal tools make equal catalogs, in whatever order they
 *   come.
 * - The policy applies before a tool is catalogued: a denied tool is not in the catalog under any name.
 * - Nothing is computed for a tool before somebody asks for it, so thousands of tools cost little.
 */
import { inTurns, isTurnLong, nextTurn, type Steps } from "../loop/turn.ts";
import { assertNames, type OptionNames } from "../contract/assert-names.ts";
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
  /** The kind of source: `core`, `plugin`, `mcp`, `openapi`, `client`, … */
  readonly kind: string;
  /** The name of the source within its kind: a server, a plugin, an application. */
  readonly owner: string;
  readonly tools: ToolSet;
  /** Change this when the service behind the tools changes. Then everything learnt about their outputs is forgotten. */
  readonly identity?: string | undefined;
}

export interface CatalogOptions {
  /** Which tools are catalogued. Default: all. */
  readonly policy?: CatalogPolicy;
  /** Keeps what is learnt about outputs after the process ends. */
  readonly memory?: ShapeMemory;
  /**
   * An embedding model that takes part in searches. If it fails, its `onFailure` is called and the search goes on
   * without it.
   */
  readonly embedding?: HybridSearchOptions;
}

export interface Catalog {
  /** All tools, sorted by id. */
  readonly entries: readonly CatalogEntry[];
  /** The ids by convenience name. */
  readonly names: ReadonlyMap<string, string>;
  /** Equal for equal tools, and different after any change that a model could notice. */
  readonly hash: string;
  get(id: string): CatalogEntry | undefined;
  /**
   * Finds the tools that fit a request in words, best first. A query that is a tool's name or id finds that tool first.
   */
  search(query: string, options?: SearchOptions): Promise<FoundTool[]>;
  /** The entries of the tools that `search` finds. */
  entriesFor(query: string, options?: SearchOptions): Promise<CatalogEntry[]>;
  /** Undefined if the id is not in the catalog. */
  describe(id: string): Promise<ToolDescription | undefined>;
  /** Learns from an outcome what a tool without an output schema returns. Never fails. */
  observe(id: string, output: Json): Promise<void>;
  /** A new catalog that has this source, instead of a source of the same kind and owner if there is one. */
  withSource(source: ToolSource): Catalog;
  withoutSource(kind: string, owner: string): Catalog;
}

const NAMES: OptionNames<CatalogOptions> = { policy: true, memory: true, embedding: true };

export function createCatalog(sources: readonly ToolSource[], options: CatalogOptions = {}): Catalog {
  if (!Array.isArray(sources)) {
    throw new TypeError("Cannot create a catalog: expected a list of sources, { kind, owner, tools }");
  }
  if (typeof options !== "object" || options === null) {
    throw new TypeError("Cannot create a catalog: expected an object of options");
  }
  assertNames(options, NAMES, "create a catalog");
  const { policy = {}, memory, embedding } = options;
  return new SourceCatalog(sources, {
    isAllowed: createPolicy(policy),
    observed: new ObservedOutputs(memory),
    embedding,
  });
}

/** The parts that a catalog shares with the catalogs made from it. */
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

  async search(query: string, options: SearchOptions = {}): Promise<FoundTool[]> {
    const found: FoundTool[] = [];
    for (const entry of await this.entriesFor(query, options)) {
      // Large schemas take milliseconds each.
      while (isTurnLong()) await nextTurn();
      found.push({ ...toSummary(entry), signature: this.#signatureOf(entry) });
    }
    return found;
  }

  async entriesFor(query: string, { limit = DEFAULT_LIMIT }: SearchOptions = {}): Promise<CatalogEntry[]> {
    if (typeof query !== "string") throw new TypeError("Cannot search: the query must be a string");
    if (!Number.isInteger(limit) || limit < 1) {
      throw new RangeError(`Cannot search: limit is ${String(limit)}, it must be a positive integer`);
    }
    this.#search ??= openSearch(this.entries, this.#setup.embedding);
    const hits = await (await this.#search).search(query, { limit });
    return hits.flatMap(({ id }) => this.#byId.get(id) ?? []);
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

/** Converts schemas to JSON Schema, which may take a while for many tools. */
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
  // One tool with a faulty description must not break the search for all.
  const description = typeof tool.description === "string" ? tool.description : "";
  const title = typeof tool.label === "string" ? { title: tool.label } : {};
  return { id, kind, owner, name, ...title, description, tags, inputSchema: inputSchemaOf(tool) };
}

/** Everything about a tool that a model could notice. */
function contentOf({ id, name, tool }: CatalogEntry): string[] {
  const { description, label, tags, examples } = tool;
  const schemas = [inputSchemaOf(tool), outputSchemaOf(tool)];
  return [id, name, ...[[description, label, tags, examples], ...schemas].map(textOf)];
}

/** A schema that is cyclic in memory has no JSON text; its declaration is used instead. */
function textOf(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return isRecord(value) ? renderType("Value", value) : "";
  }
}
