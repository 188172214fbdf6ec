/**
 * Catalog tools: what the helpers of the catalog profile ask the host for. Search, describe, and load what was parked.
 *
 * - An id is taken, and a name where it can mean one tool only; what is not catalogued is unknown, whatever it is called.
 */
import type { Catalog } from "../catalog/catalog.ts";
import type { CatalogEntry } from "../catalog/catalog-entry.ts";
import { CATALOG_TOOLS } from "../contract/ledger.ts";
import type { AnyTool, ToolSet } from "../contract/tool.ts";
import { isRecord } from "../value/shape.ts";
import type { CodeModeSettings } from "./config.ts";
import type { ParkedValues } from "./parked-values.ts";
import type { Telemetry } from "./telemetry.ts";

interface Setup {
  readonly catalog: Catalog;
  readonly settings: CodeModeSettings;
  readonly telemetry: Telemetry;
  readonly parked: ParkedValues;
}

/** A tool as `ALL_TOOLS` and searches show it. */
export interface ToolCatalogEntry {
  readonly id: string;
  readonly name: string;
  readonly label?: string;
  readonly description: string;
  readonly source: string;
  readonly sourceName: string;
}

/** What is loaded goes to a program as the output of a call. */
export const LARGEST_LOAD: number = 4 * 1024 * 1024;

export function toCatalogEntry({ id, name, kind, owner, tool }: CatalogEntry): ToolCatalogEntry {
  const { label, description = "" } = tool;
  return {
    id,
    name,
    ...(label === undefined ? {} : { label }),
    description,
    source: kind,
    sourceName: owner,
  };
}

export function catalogTools(setup: Setup, find: (name: string) => CatalogEntry | undefined): ToolSet {
  const { catalog, settings, telemetry, parked } = setup;

  function found(id: unknown): CatalogEntry {
    if (typeof id !== "string") {
      throw new TypeError(`Cannot use ${nameOf(id)} as an id: expected a string, as in ALL_TOOLS[0].id`);
    }
    const entry = find(id);
    if (entry !== undefined) return entry;
    throw Object.assign(
      new Error(`No tool "${id.slice(0, 200)}" in the catalog: find its id with await tools.search("words")`),
      { code: "unknown_tool" },
    );
  }

  const search: AnyTool = {
    readOnly: true,
    execute: async ({ query, options }: { readonly query: unknown; readonly options?: unknown }) => {
      telemetry.search();
      if (typeof query !== "string") {
        throw new TypeError(`Cannot search for ${nameOf(query)}: expected a string`);
      }
      const limit = Math.min(limitOf(options, settings.searchDefaultLimit), settings.maxSearchLimit);
      const hits = await catalog.search(query, { limit });
      return hits.flatMap(({ id, signature }) => {
        const entry = catalog.get(id);
        return entry === undefined ? [] : [{ ...toCatalogEntry(entry), signature }];
      });
    },
  };

  const describe: AnyTool = {
    readOnly: true,
    execute: async ({ id }: { readonly id: unknown }) => {
      // Asked for in vain by a call whose id is none, too.
      if (typeof id === "string") telemetry.describe();
      const entry = found(id);
      const description = await catalog.describe(entry.id);
      if (description === undefined) return found(undefined);
      const { inputSchema, outputSchema, signature, typeScript, examples, observedOutput } = description;
      return {
        ...toCatalogEntry(entry),
        parameters: inputSchema,
        ...(outputSchema === undefined ? {} : { output: outputSchema }),
        signature,
        typeScript,
        ...(examples.length === 0 ? {} : { examples }),
        ...(observedOutput === undefined ? {} : { observedOutput: observedOutput.typeScript }),
      };
    },
  };

  const load: AnyTool = {
    readOnly: true,
    execute: ({ ref, options }: { readonly ref: unknown; readonly options?: unknown }) => {
      if (typeof ref !== "string")
        throw new TypeError(`Cannot load ${nameOf(ref)}: expected a ref, as "r_1"`);
      const loaded = parked.load(ref, { ...partOf(options), maxBytes: LARGEST_LOAD });
      if (!loaded.ok) throw new Error(loaded.message);
      return JSON.parse(loaded.json) as unknown;
    },
  };

  return {
    [CATALOG_TOOLS.search]: search,
    [CATALOG_TOOLS.describe]: describe,
    [CATALOG_TOOLS.load]: load,
  };
}

function limitOf(options: unknown, otherwise: number): number {
  if (options === undefined || options === null) return otherwise;
  if (!isRecord(options)) throw new TypeError(`Cannot search with ${nameOf(options)}: expected { limit }`);
  const { limit = otherwise } = options;
  if (typeof limit !== "number" || !Number.isInteger(limit) || limit < 1) {
    throw new RangeError("Cannot search: limit must be a whole number from 1 on");
  }
  return limit;
}

function partOf(options: unknown): { readonly from?: number; readonly count?: number } {
  if (!isRecord(options)) return {};
  const { from, count } = options;
  return {
    ...(typeof from === "number" ? { from } : {}),
    ...(typeof count === "number" ? { count } : {}),
  };
}

function nameOf(value: unknown): string {
  return value === null ? "null" : value === undefined ? "undefined" : `a ${typeof value}`;
}
