/**
 * Catalog: all tools a run may use, named, described and searchable.
 *
 * - Immutable; a change makes a new one. Equal tools make equal catalogs, whatever order they came in.
 * - The policy is applied before anything is catalogued: what it denies is not here, under no name.
 * - Nothing is computed for a tool before somebody asks for it: thousands of them cost little.
 */
import type { AnyTool, ToolSet } from "../contract/tool.ts";
import { contentHash } from "./content-hash.ts";
import { resolveConvenienceNames } from "./convenience-names.ts";
import { type CatalogPolicy, createPolicy } from "./policy.ts";
import { toToolId } from "./tool-id.ts";

/** Tools that come from one place. */
export interface ToolSource {
  /** What kind of place: `core`, `plugin`, `mcp`, `openapi`, `client`, … */
  readonly kind: string;
  /** Which one of its kind: a server, a plugin, an application. */
  readonly owner: string;
  readonly tools: ToolSet;
}

export interface CatalogOptions {
  readonly policy?: CatalogPolicy;
}

export interface CatalogEntry {
  readonly id: string;
  readonly kind: string;
  readonly owner: string;
  readonly name: string;
  readonly tool: AnyTool;
}

export interface Catalog {
  /** By id, as code points compare. */
  readonly entries: readonly CatalogEntry[];
  /** Ids by convenience name. */
  readonly names: ReadonlyMap<string, string>;
  /** The same for equal tools, another one for any change a model or a caller could notice. */
  readonly hash: string;
  get(id: string): CatalogEntry | undefined;
  /** A new catalog in which a source of the same kind and owner is replaced, or there is one more. */
  withSource(source: ToolSource): Catalog;
  withoutSource(kind: string, owner: string): Catalog;
}

export function createCatalog(sources: readonly ToolSource[], options: CatalogOptions = {}): Catalog {
  return new SourceCatalog(sources, createPolicy(options.policy ?? {}));
}

class SourceCatalog implements Catalog {
  readonly entries: readonly CatalogEntry[];
  readonly #sources: readonly ToolSource[];
  readonly #isAllowed: ReturnType<typeof createPolicy>;
  readonly #byId = new Map<string, CatalogEntry>();
  #names: ReadonlyMap<string, string> | undefined;
  #hash: string | undefined;

  constructor(sources: readonly ToolSource[], isAllowed: ReturnType<typeof createPolicy>) {
    this.#sources = sources;
    this.#isAllowed = isAllowed;
    for (const source of sources) this.#add(source);
    this.entries = Object.freeze([...this.#byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1)));
  }

  get names(): ReadonlyMap<string, string> {
    this.#names ??= resolveConvenienceNames(this.entries);
    return this.#names;
  }

  get hash(): string {
    this.#hash ??= contentHash(this.entries.flatMap(({ id, name, tool }) => [id, name, contentOf(tool)]));
    return this.#hash;
  }

  get(id: string): CatalogEntry | undefined {
    return this.#byId.get(id);
  }

  withSource(source: ToolSource): Catalog {
    const others = this.#sources.filter((one) => one.kind !== source.kind || one.owner !== source.owner);
    return new SourceCatalog([...others, source], this.#isAllowed);
  }

  withoutSource(kind: string, owner: string): Catalog {
    const others = this.#sources.filter((one) => one.kind !== kind || one.owner !== owner);
    return new SourceCatalog(others, this.#isAllowed);
  }

  #add({ kind, owner, tools }: ToolSource): void {
    for (const [name, tool] of Object.entries(tools)) {
      const id = toToolId(kind, owner, name);
      if (!this.#isAllowed({ id, name })) continue;
      if (this.#byId.has(id)) {
        throw new TypeError(`Cannot catalog "${id}": two sources have it, give them different owners`);
      }
      this.#byId.set(id, Object.freeze({ id, kind, owner, name, tool }));
    }
  }
}

/** What a model or a caller could notice of a tool. */
function contentOf({ description, readOnly, idempotent }: AnyTool): string {
  return JSON.stringify([description ?? "", readOnly === true, idempotent === true]);
}
