/**
 * Runs in tests. Catalogs of real tools, and how many tokens a model reads about them.
 *
 * - The fixture: 215 tools of seven MCP servers, on which other code modes were measured too.
 * - Any number of tools from the six sets for searches, spread over all sets.
 */
import { readFileSync } from "node:fs";
import { type Catalog, createCatalog, type ToolSource } from "codecell/catalog";
import { countTokens as countCl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as countO200k } from "gpt-tokenizer/encoding/o200k_base";
import { resolveCodeMode } from "../../packages/codecell/src/surface/config.ts";
import { describeSurface, type Surface } from "../../packages/codecell/src/surface/shown/describe-surface.ts";
import { loadSet, SET_NAMES } from "../tool-search/sets.ts";

interface ListedTool {
  readonly origin: string;
  /** `<server>_<tool>`. */
  readonly name: string;
  readonly description: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output?: Readonly<Record<string, unknown>>;
}

interface OwnedTool {
  readonly owner: string;
  readonly name: string;
  readonly description: string;
  readonly input?: Readonly<Record<string, unknown>> | undefined;
  readonly output?: Readonly<Record<string, unknown>> | undefined;
}

const TOOLS = new URL("../data/tools/tools.jsonl", import.meta.url);

export function createFixtureCatalog(): Catalog {
  const listed = readFileSync(TOOLS, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as ListedTool)
    .filter(({ origin }) => origin === "caplets");
  return toCatalog(
    listed.map(({ name, description, input, output }): OwnedTool => {
      const [owner = "", ...rest] = name.split("_");
      return { owner, name: rest.join("_"), description, input, output };
    }),
  );
}

/** A catalog of tools from the sets. Their descriptions and schemas all differ. */
export function createCatalogOf(size: number): Catalog {
  const all = SET_NAMES.map(loadSet).flatMap(({ name: set, documents }) =>
    documents.map(({ name, owner, description, inputSchema }): OwnedTool => {
      // A set without servers counts as one server here, and so does a set with nearly as many servers as tools.
      const isOwned = owner !== undefined && owner !== "" && set !== "sealtools";
      const input = inputSchema as OwnedTool["input"];
      return { owner: isOwned ? owner : set, name, description, input };
    }),
  );
  const taken = new Set<string>();
  const spread = Array.from({ length: size }, (_, at) => {
    const tool = all[(at * 7919) % all.length];
    if (tool === undefined) throw new RangeError("Cannot make a catalog: there are no tools");
    const id = `${tool.owner}:${tool.name}`;
    const isNew = !taken.has(id);
    taken.add(id);
    return isNew ? tool : { ...tool, name: `${tool.name}_${at}` };
  });
  return toCatalog(spread);
}

function toCatalog(tools: readonly OwnedTool[]): Catalog {
  const owners = Map.groupBy(tools, ({ owner }) => owner);
  return createCatalog(
    Array.from(owners, ([owner, owned]): ToolSource => ({
      kind: "mcp",
      owner,
      tools: Object.fromEntries(
        owned.map(({ name, description, input, output }) => [
          name,
          { description, input, output, execute: () => null },
        ]),
      ),
    })),
  );
}

export function surfaceOf(catalog: Catalog, config: object = {}): Surface {
  const resolved = resolveCodeMode({ enabled: true, ...config });
  if (resolved.status !== "on") throw new TypeError(`Cannot describe: code mode is ${resolved.status}`);
  return describeSurface(catalog, resolved.settings, { yields: true });
}

/** Tokens of both tools as JSON: names, descriptions and schemas, as a provider gets them. */
export function tokensOf({ exec, wait }: Surface): { readonly cl100k: number; readonly o200k: number } {
  const text = JSON.stringify([exec, wait]);
  return { cl100k: countCl100k(text), o200k: countO200k(text) };
}
