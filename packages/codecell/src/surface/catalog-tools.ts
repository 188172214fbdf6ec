/**
 * Runs on the host. The tools behind the helpers of the catalog profile: search, describe, and load a saved value.
 *
 * They take an id, or a name that can mean one tool only. A tool that is not catalogued is unknown under every name.
 */
import { noSuchTool } from "../calls/closest-names.ts";
import { PrintedOutput } from "../calls/encode-output.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { CatalogEntry } from "../catalog/catalog-entry.ts";
import { CATALOG_TOOLS } from "../contract/features.ts";
import type { AnyTool, ToolSet } from "../contract/tool.ts";
import { isRecord } from "../value/shape.ts";
import type { CodeModeSettings } from "./config.ts";
import type { SavedValues } from "./output/saved-values.ts";

interface CatalogToolsSetup {
  readonly catalog: Catalog;
  readonly settings: CodeModeSettings;
  readonly saved: SavedValues;
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

/** Descriptions in lists are short; `describe` gives more. */
const LONGEST_DESCRIPTION = 2000;
const LONGEST_LABEL = 200;
const LONGEST_DESCRIBED = 100_000;

/** Most characters of a name that a message repeats. */
const LONGEST_NAME = 200;

/** A loaded value goes to the program as the output of a call. */
export const LARGEST_LOAD: number = 4 * 1024 * 1024;

export function toCatalogEntry({ id, name, kind, owner, tool }: CatalogEntry): ToolCatalogEntry {
  return {
    id,
    name,
    ...(tool.label === undefined ? {} : { label: toWords(tool.label, LONGEST_LABEL) }),
    description: toWords(tool.description, LONGEST_DESCRIPTION),
    source: kind,
    sourceName: owner,
  };
}

/**
 * Servers write these texts. A value that is not a text, or a very long text, must not spoil a list for other tools.
 */
function toWords(words: unknown, longest: number): string {
  const whole = typeof words === "string" ? words : "";
  return whole.length <= longest ? whole : `${whole.slice(0, longest - 1).toWellFormed()}…`;
}

/** `byName` and `set` have all tools by id and by convenience name: as entries, and as the tools of a run. */
export function catalogTools(
  setup: CatalogToolsSetup,
  byName: ReadonlyMap<string, CatalogEntry>,
  set: ToolSet,
): ToolSet {
  const { catalog, settings, saved } = setup;

  function found(id: unknown): CatalogEntry {
    if (typeof id !== "string") {
      throw new TypeError(`Cannot use ${nameOf(id)} as an id: expected a string, as in ALL_TOOLS[0].id`);
    }
    const entry = byName.get(id);
    if (entry !== undefined) return entry;
    const shown = id.slice(0, LONGEST_NAME);
    throw Object.assign(new Error(`Cannot describe tool "${shown}": ${noSuchTool(shown, set)}`), {
      code: "unknown_tool",
    });
  }

  const search: AnyTool = {
    readOnly: true,
    execute: async ({ query, options }: { readonly query: unknown; readonly options?: unknown }) => {
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
      const entry = found(id);
      const description = await catalog.describe(entry.id);
      if (description === undefined) return found(undefined);
      const { inputSchema, outputSchema, signature, typeScript, examples, observedOutput } = description;
      return {
        ...toCatalogEntry(entry),
        description: toWords(entry.tool.description, LONGEST_DESCRIBED),
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
    execute: async ({ ref, options }: { readonly ref: unknown; readonly options?: unknown }) => {
      if (typeof ref !== "string")
        throw new TypeError(`Cannot load ${nameOf(ref)}: expected a ref, as a cut value has it`);
      const loaded = await saved.load(ref, { ...partOf(options), maxBytes: LARGEST_LOAD });
      if (!loaded.ok) throw new Error(loaded.message);
      return new PrintedOutput(loaded.json);
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
    throw new RangeError("Cannot search: limit must be a positive integer");
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
  if (value === null || value === undefined) return String(value);
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
