/**
 * AgentTools: the tools of one agent run, sorted: what the catalog gets, and what stays in the model's sight.
 *
 * - Policy comes first: what it denies is neither catalogued nor shown.
 * - What is no tool is refused before anything is sorted, unless the policy denies it: one that is misread would be called
 *   without what its owner wrote down for it.
 * - Tools that control code mode or tool search are never catalogued: no program can reach them.
 */
import { type Catalog, createCatalog } from "../catalog/catalog.ts";
import { type CatalogPolicy, createPolicy } from "../catalog/policy.ts";
import { toToolId } from "../catalog/tool-id.ts";
import { AGENT_TOOL_KEYS, assertTool, assertToolSet } from "../contract/assert-tools.ts";
import type { ShapeMemory } from "../contract/shape-memory.ts";
import type { AnyTool, ToolSet } from "../contract/tool.ts";

export type AgentTool = AnyTool & {
  /** Stays in the model's sight, and is not catalogued. */
  readonly directOnly?: boolean;
  /** Is never called while another such tool of this run executes. */
  readonly sequential?: boolean;
};

export type AgentToolSet = Readonly<Record<string, AgentTool>>;

/** By where they come from; `core` has one owner, the others have names of their own. */
export interface AgentTools {
  readonly core?: AgentToolSet;
  readonly plugin?: Readonly<Record<string, AgentToolSet>>;
  readonly mcp?: Readonly<Record<string, AgentToolSet>>;
  readonly client?: Readonly<Record<string, AgentToolSet>>;
}

export interface SortedTools {
  /** Of all that is hidden from the model; a run whose code mode is off has none. */
  readonly toCatalog: (memory: ShapeMemory | undefined) => Catalog;
  /** What the policy allows, in the order it was given. */
  readonly all: readonly NamedTool[];
  /** Tools that the model calls by itself. */
  readonly direct: readonly NamedTool[];
}

export interface NamedTool {
  readonly name: string;
  readonly tool: AgentTool;
}

const ACTION = "prepare an agent run";

/** Of tool search, which the catalog supersedes. */
const SEARCH_CONTROLS: ReadonlySet<string> = new Set([
  "tool_search_code",
  "tool_search",
  "tool_describe",
  "tool_call",
]);

/** By what they do, so that a copy is recognised too. */
const controls = new WeakSet<AgentTool["execute"]>();

/** Marks a tool that code mode itself shows to the model: whatever it is called, no catalog takes it. */
export function markControl<T extends AgentTool>(tool: T): T {
  controls.add(tool.execute);
  return tool;
}

/** Whether it is code mode itself: it reads what it is called with by itself. */
export function isMarkedControl(tool: AgentTool): boolean {
  return controls.has(tool.execute);
}

export function sortTools(tools: AgentTools, policy: CatalogPolicy): SortedTools {
  const isAllowed = createPolicy(policy);
  const sources = sourcesOf(tools).map(({ kind, owner, tools: given }) => {
    const allowed = Object.entries(given).filter(([name]) =>
      isAllowed({ id: toToolId(kind, owner, name), name }),
    );
    for (const [name, tool] of allowed) {
      assertTool(tool, toToolId(kind, owner, name), ACTION, AGENT_TOOL_KEYS);
    }
    return { kind, owner, tools: Object.fromEntries(allowed) };
  });
  const all = sources.flatMap(({ kind, tools: given }) =>
    Object.entries(given).map(([name, tool]) => ({ kind, name, tool })),
  );
  return {
    toCatalog: (memory) => {
      const hidden = sources.map(({ kind, owner, tools: given }) => ({
        kind,
        owner,
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
  readonly tools: AgentToolSet;
}

const OWNED = ["plugin", "mcp", "client"] as const;

function sourcesOf(tools: AgentTools): GivenTools[] {
  assertToolSet(tools, ACTION);
  const other = Object.keys(tools).find((key) => key !== "core" && !OWNED.some((kind) => kind === key));
  if (other !== undefined) {
    throw new TypeError(
      `Cannot ${ACTION}: its tools have no kind "${other}", give { core: { ${other}: … } }, or ${OWNED.join(", ")} with tools by their owners`,
    );
  }
  const { core = {} } = tools;
  assertToolSet(core, ACTION);
  return [
    { kind: "core", owner: "core", tools: core },
    ...OWNED.flatMap((kind) => ownedBy(kind, tools[kind])),
  ];
}

function ownedBy(kind: string, owners: Readonly<Record<string, AgentToolSet>> = {}): GivenTools[] {
  assertToolSet(owners, ACTION);
  return Object.entries(owners).map(([owner, tools]) => {
    assertToolSet(tools, ACTION);
    // A tool where its owner should be.
    if (typeof (tools as Record<string, unknown>)["execute"] === "function") {
      throw new TypeError(
        `Cannot ${ACTION}: tools of kind "${kind}" are given by their owners, as in { ${kind}: { server: { ${owner}: … } } }`,
      );
    }
    return { kind, owner, tools };
  });
}

/** All but what the model sees itself, and what controls code mode or tool search. */
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
