/**
 * Node: a type between its schema and its text. Runs anywhere.
 *
 * - Nodes never change after they are made. Cycles in a graph of nodes go only through `link`, so every walk ends.
 * - Documentation belongs to the use of a type, not to the type. So equal types stay equal, whatever their comments
 *   say.
 */

export interface Doc {
  /** One line that is safe inside a comment; may be empty. */
  readonly text: string;
  /** What the type cannot express: formats, bounds, defaults. Short; may be empty. */
  readonly notes: string;
}

export interface Use {
  readonly node: Node;
  readonly doc: Doc | undefined;
}

export interface Field {
  readonly name: string;
  readonly optional: boolean;
  readonly use: Use;
}

export interface TextNode {
  readonly kind: "text";
  /** A type that needs no parentheses anywhere. */
  readonly text: string;
}

export interface ObjectNode {
  readonly kind: "object";
  readonly hint: string | undefined;
  readonly fields: readonly Field[];
  /** Index signatures, for all names (`string`) or for names with a prefix (a template literal). */
  readonly indexes: readonly { readonly key: string; readonly use: Use }[];
  /** The number of fields that are left out. */
  readonly omitted: number;
}

export interface ArrayNode {
  readonly kind: "array";
  readonly item: Use;
}

export interface TupleNode {
  readonly kind: "tuple";
  readonly hint: string | undefined;
  readonly items: readonly Use[];
  /** How many of the items are required. */
  readonly required: number;
  readonly rest: Use | undefined;
}

/** `union`: a value fits one member; `intersection`: a value fits all members. */
export interface CombinedNode {
  readonly kind: "union" | "intersection";
  readonly hint: string | undefined;
  readonly members: readonly Use[];
  /** The number of members that are left out; the last listed member stands for them. */
  readonly omitted: number;
}

/** A use of a type inside itself. */
export interface LinkNode {
  readonly kind: "link";
  readonly target: Definition;
}

/** A type that contains itself. Its body is set when its schema has been read. */
export interface Definition {
  readonly hint: string | undefined;
  body: Node;
}

export type Node = TextNode | ObjectNode | ArrayNode | TupleNode | CombinedNode | LinkNode;

/** The uses of types directly inside a node. The target of a link is not inside it. */
export function childrenOf(node: Node): readonly Use[] {
  switch (node.kind) {
    case "text":
    case "link":
      return [];
    case "array":
      return [node.item];
    case "tuple":
      return node.rest === undefined ? node.items : [...node.items, node.rest];
    case "object":
      return [...node.fields, ...node.indexes].map(({ use }) => use);
    case "union":
    case "intersection":
      return node.members;
    default:
      return node satisfies never;
  }
}

export const UNKNOWN: TextNode = { kind: "text", text: "unknown" };
export const NEVER: TextNode = { kind: "text", text: "never" };
export const NULL: TextNode = { kind: "text", text: "null" };

const COMMON: ReadonlyMap<string, TextNode> = new Map(
  [UNKNOWN, NEVER, NULL].map((node) => [node.text, node]),
);

export function textNode(text: string): TextNode {
  return COMMON.get(text) ?? { kind: "text", text };
}

export function plain(node: Node): Use {
  return { node, doc: undefined };
}

/** Nested unions are flattened up to this many members. */
const MOST_FLATTENED = 2000;

/** A union of types; `never` without members. */
export function unionOf(uses: readonly Use[], hint?: string): Use {
  const members: Use[] = [];
  const seen = new Set<Node | string>();
  const add = (use: Use): void => {
    const key = use.node.kind === "text" ? use.node.text : use.node;
    if (use.node === NEVER || seen.has(key)) return;
    seen.add(key);
    members.push(use);
  };
  for (const use of uses) {
    if (members.length < MOST_FLATTENED) for (const one of alternatives(use)) add(one);
    else add(use);
  }
  const [first] = members;
  if (first === undefined) return plain(NEVER);
  if (seen.has(UNKNOWN.text)) return plain(UNKNOWN);
  return members.length === 1 ? first : plain({ kind: "union", hint, members, omitted: 0 });
}

/** The members of a union, if it has no documentation and nothing is left out; otherwise the use itself. */
function alternatives(use: Use): readonly Use[] {
  const { node, doc } = use;
  return node.kind === "union" && doc === undefined && node.omitted === 0 ? node.members : [use];
}

/** An intersection of types; `unknown` without members. */
export function intersectionOf(uses: readonly Use[], hint?: string): Use {
  const members = [...new Map(uses.map((use) => [use.node, use])).values()].filter(
    ({ node }) => node !== UNKNOWN,
  );
  if (members.some(({ node }) => node === NEVER)) return plain(NEVER);
  const [first] = members;
  if (first === undefined) return plain(UNKNOWN);
  return members.length === 1 ? first : plain({ kind: "intersection", hint, members, omitted: 0 });
}
