/**
 * Prune: makes a smaller graph for a shorter text. It removes what is farthest from the roots first, and counts what it
 * removes. Runs anywhere.
 *
 * - Every value that fitted the type before still fits.
 */
import {
  childrenOf,
  type CombinedNode,
  type Definition,
  type Field,
  type Node,
  type ObjectNode,
  plain,
  textNode,
  UNKNOWN,
  type Use,
} from "./node.ts";

export interface Bounds {
  /** The levels of objects that are kept below each root. */
  readonly levels: number;
  /** The fields of an object, and the members of a union, that are kept. */
  readonly members: number;
}

export function prune(uses: readonly Use[], bounds: Bounds): readonly Use[] {
  const pruner = new Pruner(levelsOf(uses), bounds);
  return uses.map((use) => pruner.use(use));
}

/** The smallest number of objects between each node and a root. */
function levelsOf(uses: readonly Use[]): ReadonlyMap<Node, number> {
  const levels = new Map<Node, number>();
  let open = uses.map(({ node }) => node);
  for (let level = 0; open.length > 0; level++) {
    const next: Node[] = [];
    const same = [...open];
    for (let node = same.pop(); node !== undefined; node = same.pop()) {
      if (levels.has(node)) continue;
      levels.set(node, level);
      const children = node.kind === "link" ? [node.target.body] : childrenOf(node).map((use) => use.node);
      if (node.kind === "object") next.push(...children);
      else same.push(...children);
    }
    open = next;
  }
  return levels;
}

class Pruner {
  readonly #levels: ReadonlyMap<Node, number>;
  readonly #bounds: Bounds;
  readonly #done = new Map<Node, Node>();
  readonly #definitions = new Map<Definition, Definition>();

  constructor(levels: ReadonlyMap<Node, number>, bounds: Bounds) {
    this.#levels = levels;
    this.#bounds = bounds;
  }

  use({ node, doc }: Use): Use {
    return { node: this.#node(node), doc };
  }

  #node(node: Node): Node {
    const done = this.#done.get(node);
    if (done !== undefined) return done;
    const pruned = this.#make(node);
    this.#done.set(node, pruned);
    return pruned;
  }

  #make(node: Node): Node {
    switch (node.kind) {
      case "text":
        return node;
      case "link":
        return { kind: "link", target: this.#definition(node.target) };
      case "array":
        return { ...node, item: this.use(node.item) };
      case "tuple":
        return {
          ...node,
          items: node.items.map((item) => this.use(item)),
          rest: node.rest && this.use(node.rest),
        };
      case "object":
        return this.#object(node);
      case "union":
        return this.#union(node);
      case "intersection":
        return { ...node, members: node.members.map((member) => this.use(member)) };
      default:
        return node satisfies never;
    }
  }

  #definition(target: Definition): Definition {
    const known = this.#definitions.get(target);
    if (known !== undefined) return known;
    const fresh: Definition = { hint: target.hint, body: UNKNOWN };
    this.#definitions.set(target, fresh);
    fresh.body = this.#node(target.body);
    return fresh;
  }

  #object(node: ObjectNode): Node {
    const isFar = (this.#levels.get(node) ?? 0) >= this.#bounds.levels;
    const kept = firstFields(node.fields, isFar ? 0 : this.#bounds.members);
    const fields = kept.map(({ name, optional, use }) => ({ name, optional, use: this.use(use) }));
    const omitted = node.omitted + node.fields.length - fields.length;
    const indexes = node.indexes.map((index) => ({ ...index, use: this.use(index.use) }));
    return { ...node, fields, omitted, indexes: omitted > 0 ? [] : indexes };
  }

  /** Replaces the removed members with a wider type: `string` if all of them are strings. */
  #union(node: CombinedNode): Node {
    const kept = node.members.slice(0, this.#bounds.members).map((member) => this.use(member));
    const rest = node.members.slice(kept.length);
    if (rest.length === 0) return { ...node, members: kept };
    const isText = rest.every((member) => member.node.kind === "text" && member.node.text.startsWith('"'));
    const wide = plain(isText ? textNode("string") : UNKNOWN);
    return { ...node, members: [...kept, wide], omitted: node.omitted + rest.length };
  }
}

/** Keeps `most` fields in their order. Required fields go first, because no caller can leave them out. */
function firstFields(fields: readonly Field[], most: number): readonly Field[] {
  if (fields.length <= most) return fields;
  const byNeed = [
    ...fields.filter(({ optional }) => !optional),
    ...fields.filter(({ optional }) => optional),
  ];
  const kept = new Set(byNeed.slice(0, most));
  return fields.filter((field) => kept.has(field));
}
