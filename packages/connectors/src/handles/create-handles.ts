/**
 * Runs on the host. Handles: what a program has of its connectors, and what a model is told of that.
 *
 * - Making handles asks no backend for anything. A backend that is down has its handle, which says so.
 * - Equal connectors make equal declarations, in whatever order they come.
 */
import { createHash } from "node:crypto";
import type { ConnectorHandles, ToolSet } from "codecell";
import { type Catalog, type CatalogOptions, type CatalogPolicy, createCatalog } from "codecell/catalog";
import {
  assertNames,
  createPolicy,
  declareHandles,
  FEATURE_GLOBALS,
  type OptionNames,
  resultTypeOf,
  toConvenienceName,
  type ToolRule,
  withLateTools,
} from "codecell/kit";
import { Artifacts } from "../artifacts/artifacts.ts";
import type { Connector } from "../contract/connector.ts";
import { ConnectedTools } from "./connected-tools.ts";
import { type Connected, createHandleTools } from "./handle-tools.ts";

const DEFAULT_ROOT = "connectors";

export interface HandlesOptions {
  /** The name of the global that holds the handles. Default: `connectors`. */
  readonly root?: string;
  /**
   * Which tools of the backends there are. Default: all. Resources and prompts are no tools: leave a connector out if a
   * program may know nothing of it.
   */
  readonly policy?: CatalogPolicy;
  /** Keeps the bytes that backends give. Default: some that nobody else can read. */
  readonly artifacts?: Artifacts;
  /** Keeps what is learnt about outputs after the process ends. */
  readonly memory?: NonNullable<CatalogOptions["memory"]>;
}

const NAMES: OptionNames<HandlesOptions> = { root: true, policy: true, artifacts: true, memory: true };
/** An agent has a few policies, and makes many runs with each. */
const MOST_POLICIES = 20;

export interface Handles extends ConnectorHandles {
  /** 64 hexadecimal digits; equal for equal declarations. */
  readonly declarationHash: string;
  /** Where the bytes are that backends gave. */
  readonly artifacts: Artifacts;
}

export function createHandles(connectors: readonly Connector[], options: HandlesOptions = {}): Handles {
  assertNames(options, NAMES, "create handles");
  assertHandles(connectors, options);
  const { root = DEFAULT_ROOT, policy = {}, artifacts = new Artifacts(), memory } = options;
  const shared = createCatalog([], memory === undefined ? {} : { memory });
  return makeHandles(connectors, { root, isAllowed: createPolicy(policy), artifacts, shared });
}

interface HandlesSetup {
  readonly root: string;
  readonly isAllowed: ToolRule;
  readonly artifacts: Artifacts;
  /** An empty catalog: what is learnt of outputs belongs to all that are made from it. */
  readonly shared: Catalog;
}

function makeHandles(connectors: readonly Connector[], setup: HandlesSetup): Handles {
  const { root, isAllowed, artifacts, shared } = setup;
  const result = resultTypeOf(root);
  const sorted = connectors.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const connected = new Map(
    sorted.map((connector): [string, Connected] => [
      connector.id,
      { connector, tools: new ConnectedTools({ connector, artifacts, shared, isAllowed, result }) },
    ]),
  );
  const byPrefix = new Map([...connected.values()].map(({ tools }) => [tools.prefix, tools]));
  const find = (id: string): ToolSet[string] | undefined => {
    const end = id.indexOf(":", id.indexOf(":") + 1) + 1;
    return end === 0 ? undefined : byPrefix.get(id.slice(0, end))?.find(id);
  };
  const declarations = declareHandles(
    root,
    sorted.map(({ id, card }) => ({ id, hint: hintOf(card) })),
  );
  const underPolicies = new Map<string, Handles>();
  const handles: Handles = {
    setting: {
      root,
      handles: Object.fromEntries([...connected].map(([id, { tools }]) => [id, tools.prefix])),
    },
    tools: withLateTools(createHandleTools({ connected, artifacts, result }), find),
    declarations,
    declarationHash: createHash("sha256").update(declarations).digest("hex"),
    artifacts,
    withPolicy: ({ allow, deny = [] }) => {
      if (allow === undefined && deny.length === 0) return handles;
      const isAllowedToo = createPolicy({ deny, ...(allow === undefined ? {} : { allow }) });
      const key = JSON.stringify([allow, deny]);
      let under = underPolicies.get(key);
      if (under === undefined) {
        under = makeHandles(connectors, {
          ...setup,
          isAllowed: (one) => isAllowed(one) && isAllowedToo(one),
        });
        if (underPolicies.size >= MOST_POLICIES) underPolicies.clear();
        underPolicies.set(key, under);
      }
      return under;
    },
  };
  return handles;
}

function hintOf({ name, description, useWhen }: Connector["card"]): string {
  const purpose = `${name}: ${description}`;
  return useWhen === undefined ? purpose : `${purpose} Use when: ${useWhen}`;
}

const NAME = /^[A-Za-z_][A-Za-z\d_]{0,63}$/u;

/** Whether a program can use the name for a global, and loses nothing by that. */
function isFree(name: string): boolean {
  if (name === DEFAULT_ROOT) return true;
  const isWord = toConvenienceName(name) !== name;
  return NAME.test(name) && !isWord && !(name in globalThis) && !FEATURE_GLOBALS.has(name);
}

function assertHandles(
  connectors: unknown,
  { root }: HandlesOptions,
): asserts connectors is readonly Connector[] {
  if (!Array.isArray(connectors)) throw new TypeError("Cannot create handles: expected a list of connectors");
  const ids = new Set<string>();
  for (const { id } of connectors as readonly Connector[]) {
    if (ids.has(id))
      throw new TypeError(`Cannot create handles: two connectors have the id "${id}", rename one`);
    ids.add(id);
  }
  if (root !== undefined && !isFree(root))
    throw new TypeError(
      `Cannot create handles: "${root}" cannot be the name of their root, choose another one`,
    );
}
