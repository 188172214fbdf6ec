/**
 * Runs on the host. AgentTools sorts the tools of one agent run into those for the catalog and those that the model
 * sees.
 *
 * - The policy comes first: a tool that it denies is neither catalogued nor shown.
 * - What is not a tool is refused before anything is sorted, unless the policy denies it: a tool that is misread would
 *   be called without the protection that its owner wrote down.
 * - Tools that control code mode or tool search are never catalogued, so no program can reach them.
 */
import { type Catalog, createCatalog, type ToolSource } from "../catalog/catalog.ts";
import { type CatalogPolicy, createPolicy } from "../catalog/policy.ts";
import { toToolId } from "../catalog/tool-id.ts";
import { AGENT_TOOL_KEYS, assertTool, assertToolSet } from "../contract/assert-tools.ts";
import type { ShapeMemory } from "../contract/shape-memory.ts";
import type { AnyTool, ToolSet } from "../contract/tool.ts";

export type AgentTool = AnyTool & {
  /** The model sees this tool itself, and it is not catalogued. */
  readonly directOnly?: boolean;
  /** The tool is never called while another sequential tool of this run executes. */
  readonly sequential?: boolean;
};

export type AgentToolSet = Readonly<Record<string, AgentTool>>;

/** Tools by where they come from. `core` has one owner; the other kinds have tools by the names of their owners. */
export interface AgentTools {
  readonly core?: AgentToolSet;
  readonly plugin?: Readonly<Record<string, AgentToolSet>>;
  readonly mcp?: Readonly<Record<string, AgentToolSet>>;
  readonly client?: Readonly<Record<string, AgentToolSet>>;
  /** Tools of other places, such as those of `connectTools` of @codecell/connectors. */
  readonly sources?: readonly ToolSource[];
}

export interface SortedTools {
  /** Makes the catalog of all tools that are hidden from the model. Not called when code mode is off. */
  readonly toCatalog: (memory: ShapeMemory | undefined) => Catalog;
  /** The tools that the policy allows, in the order in which they were given. */
  readonly all: readonly NamedTool[];
  /** Tools that the model calls directly. */
  readonly direct: readonly NamedTool[];
}

export interface NamedTool {
  readonly name: string;
  readonly tool: AgentTool;
}

const ACTION = "prepare an agent run";

/** Tools of tool search, which the catalog replaces. */
const SEARCH_CONTROLS: ReadonlySet<string> = new Set([
  "tool_search_code",
  "tool_search",
  "tool_describe",
  "tool_call",
]);

/** Controls by their `execute`, so that a copy of a tool is recognised too. */
const controls = new WeakSet<AgentTool["execute"]>();

/** Marks a tool of code mode itself. No catalog takes it, whatever its name. */
export function markControl<T extends AgentTool>(tool: T): T {
  controls.add(tool.execute);
  return tool;
}

/** Whether a tool belongs to code mode itself: such a tool reads its own input. */
export function isMarkedControl(tool: AgentTool): boolean {
  return controls.has(tool.execute);
}

export function sortTools(tools: AgentTools, policy: CatalogPolicy): SortedTools {
  const isAllowed = createPolicy(policy);
  const sources = sourcesOf(tools).map(({ kind, owner, identity, tools: given }) => {
    const allowed = Object.entries(given).filter(([name]) =>
      isAllowed({ id: toToolId(kind, owner, name), name }),
    );
    for (const [name, tool] of allowed) {
      assertTool(tool, toToolId(kind, owner, name), ACTION, AGENT_TOOL_KEYS);
    }
    return { kind, owner, identity, tools: Object.fromEntries(allowed) };
  });
  const all = sources.flatMap(({ kind, tools: given }) =>
    Object.entries(given).map(([name, tool]) => ({ kind, name, tool })),
  );
  return {
    toCatalog: (memory) => {
      const hidden = sources.map(({ kind, owner, identity, tools: given }) => ({
        kind,
        owner,
        identity,
        tools: hiddenOf(kind, given),
      }));
      return createCatalog(hidden, { policy, ...(memory === undefined ? {} : { memory }) });
    },
    all: all.map(toNamed),
    direct: all.filter((one) => one.tool.directOnly === true && !isControl(one)).map(toNamed),
  };
}

interface GivenTools {
  readonly kind: string;
  readonly owner: string;
  readonly identity?: string | undefined;
  readonly tools: AgentToolSet;
}

const OWNED = ["plugin", "mcp", "client"] as const;

function sourcesOf(tools: AgentTools): GivenTools[] {
  assertToolSet(tools, ACTION);
  const other = Object.keys(tools).find(
    (key) => key !== "core" && key !== "sources" && !OWNED.some((kind) => kind === key),
  );
  if (other !== undefined) {
    throw new TypeError(
      `Cannot ${ACTION}: its tools have no kind "${other}", give { core: { ${other}: … } }, or ${OWNED.join(", ")} with tools by their owners`,
    );
  }
  const { core = {}, sources = [] } = tools;
  assertToolSet(core, ACTION);
  if (!Array.isArray(sources))
    throw new TypeError(`Cannot ${ACTION}: sources must be a list of { kind, owner, tools }`);
  for (const source of sources) assertToolSet(source.tools, ACTION);
  return [
    { kind: "core", owner: "core", tools: core },
    ...OWNED.flatMap((kind) => ownedBy(kind, tools[kind])),
    ...sources,
  ];
}

function ownedBy(kind: string, owners: Readonly<Record<string, AgentToolSet>> = {}): GivenTools[] {
  assertToolSet(owners, ACTION);
  return Object.entries(owners).map(([owner, tools]) => {
    assertToolSet(tools, ACTION);
    // There is a tool in the place of an owner.
    if (typeof (tools as Record<string, unknown>)["execute"] === "function") {
      throw new TypeError(
        `Cannot ${ACTION}: tools of kind "${kind}" are given by their owners, as in { ${kind}: { server: { ${owner}: … } } }`,
      );
    }
    return { kind, owner, tools };
  });
}

/** All tools except those that the model sees itself and those that control code mode or tool search. */
function hiddenOf(kind: string, tools: AgentToolSet): ToolSet {
  const kept = Object.entries(tools).filter(
    ([name, tool]) => tool.directOnly !== true && !isControl({ kind, name, tool }),
  );
  return Object.fromEntries(kept);
}

function isControl({ kind, name, tool }: NamedTool & { readonly kind: string }): boolean {
  return isMarkedControl(tool) || (kind === "core" && SEARCH_CONTROLS.has(name));
}

function toNamed({ name, tool }: NamedTool): NamedTool {
  return { name, tool };
}
