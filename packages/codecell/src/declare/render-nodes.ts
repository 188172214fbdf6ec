/**
 * Render nodes: prints nodes as TypeScript. Types that are used often or contain themselves get declarations of their
 * own. Runs anywhere.
 *
 * - Every node is rendered once, so the text is no longer than the graph is large.
 * - Without `aliases` every type is written out where it is used, and rendering stops when a text exceeds `most`.
 */
import { docLine, type Docs, toComment } from "./comment.ts";
import { Interned, type Usage } from "./intern.ts";
import { toFieldName } from "./literal.ts";
import { Names, toTypeName } from "./naming.ts";
import {
  type CombinedNode,
  type Definition,
  type Field,
  type LinkNode,
  type Node,
  type ObjectNode,
  type TupleNode,
  UNKNOWN,
  type Use,
} from "./node.ts";

export interface Root {
  readonly use: Use;
  /** If given, the type is declared under this name instead of being returned as text. */
  readonly name?: string | undefined;
}

export interface RenderOptions {
  readonly docs: Docs;
  readonly aliases: boolean;
  readonly most: number;
}

export interface Rendered {
  /** Declarations of types, one per line. */
  readonly declarations: readonly string[];
  /** The texts of the roots without a name, in order. */
  readonly types: readonly string[];
}

/** Characters of a declaration besides its body, and of a name at each use. */
const DECLARATION_COST = 8;
const NAME_COST = 12;

/** Undefined if a text exceeds `most`. */
export function renderNodes(roots: readonly Root[], options: RenderOptions): Rendered | undefined {
  try {
    return new NodeRenderer(roots, options).render();
  } catch (error) {
    if (error === TOO_LONG) return undefined;
    throw error;
  }
}

const TOO_LONG = new RangeError("Too long");

class NodeRenderer {
  readonly #roots: readonly Root[];
  readonly #options: RenderOptions;
  readonly #interned: Interned;
  readonly #texts = new Map<Node, string>();
  readonly #aliases = new Map<Node, string>();
  /** The definitions that are being written out. */
  readonly #open = new Set<Definition>();

  constructor(roots: readonly Root[], options: RenderOptions) {
    this.#roots = roots;
    this.#options = options;
    this.#interned = new Interned(
      roots.map(({ use }) => use),
      options.docs,
    );
  }

  render(): Rendered {
    this.#chooseAliases();
    const unnamed = this.#interned.roots.filter((_, index) => this.#roots[index]?.name === undefined);
    return {
      declarations: [...this.#aliases].map(([node, name]) => this.#declaration(node, name)),
      types: unnamed.map((use) => this.#use(use)),
    };
  }

  #chooseAliases(): void {
    const { roots, usages, definitions } = this.#interned;
    const names = new Names(this.#roots.flatMap(({ name }) => name ?? []));
    for (const [index, { node }] of roots.entries()) {
      const name = this.#roots[index]?.name;
      if (name !== undefined) this.#aliases.set(this.#interned.bodyOf(node), name);
    }
    if (!this.#options.aliases) return;
    // Recursive types first, because the texts of other types contain their names.
    for (const node of definitions.values()) {
      if (!this.#aliases.has(node)) this.#aliases.set(node, names.take(usages.get(node)?.hint));
    }
    for (const [node, usage] of usages) {
      if (!this.#aliases.has(node) && this.#paysOff(node, usage))
        this.#aliases.set(node, names.take(usage.hint));
    }
  }

  #paysOff(node: Node, { uses }: Usage): boolean {
    if (uses < 2 || node.kind === "link" || node.kind === "text") return false;
    const length = this.#text(node).length;
    return (uses - 1) * length > uses * NAME_COST + DECLARATION_COST;
  }

  #declaration(node: Node, name: string): string {
    const doc = toComment(this.#interned.commonDoc(node) ?? "");
    return `${doc}type ${name}=${this.#text(node)}`;
  }

  /** A type at a use: its comment, unless the declaration has it, and then its name or its text. */
  #use(use: Use, needsParentheses = false): string {
    return `${this.#commentOf(use)}${this.#named(use.node, needsParentheses)}`;
  }

  #commentOf({ node, doc }: Use): string {
    const body = this.#interned.bodyOf(node);
    if (this.#aliases.has(body) && this.#interned.commonDoc(body) !== undefined) return "";
    return toComment(docLine(doc, this.#options.docs));
  }

  #named(node: Node, needsParentheses: boolean): string {
    const alias = this.#aliases.get(this.#interned.bodyOf(node));
    if (alias !== undefined) return alias;
    const text = this.#text(node);
    const isCombined = node.kind === "union" || node.kind === "intersection";
    return needsParentheses && isCombined ? `(${text})` : text;
  }

  #text(node: Node): string {
    const known = this.#texts.get(node);
    if (known !== undefined) return known;
    const text = this.#make(node);
    if (text.length > this.#options.most) throw TOO_LONG;
    this.#texts.set(node, text);
    return text;
  }

  #make(node: Node): string {
    switch (node.kind) {
      case "text":
        return node.text;
      case "link":
        return this.#link(node);
      case "array":
        return `${this.#use(node.item, true)}[]`;
      case "tuple":
        return this.#tuple(node);
      case "object":
        return this.#object(node);
      case "union":
        return this.#union(node);
      case "intersection":
        return this.#intersection(node);
      default:
        return node satisfies never;
    }
  }

  /** Used only without aliases: writes the type out once, and not again inside itself. */
  #link({ target }: LinkNode): string {
    if (this.#open.has(target))
      return `unknown/* ${target.hint === undefined ? "itself" : toTypeName(target.hint)} again */`;
    this.#open.add(target);
    const text = this.#named(this.#interned.definitions.get(target) ?? UNKNOWN, true);
    this.#open.delete(target);
    return text;
  }

  #tuple({ items, required, rest }: TupleNode): string {
    const first = items.map((item, index) =>
      index < required ? this.#use(item) : `${this.#use(item, true)}?`,
    );
    const more = rest === undefined ? [] : [`...${this.#use(rest, true)}[]`];
    return `[${[...first, ...more].join(",")}]`;
  }

  #object({ fields, indexes, omitted }: ObjectNode): string {
    const [index] = indexes;
    if (fields.length === 0 && index?.key === "string" && index.use.node.kind === "text" && omitted === 0)
      return `Record<string,${this.#use(index.use)}>`;
    return this.#braces([
      ...fields.map((field) => this.#field(field)),
      ...indexes.map(({ key, use }) => `[k:${key}]:${this.#use(use)}`),
      ...(omitted > 0 ? [`[k:string]:unknown/* …${omitted} more field${omitted === 1 ? "" : "s"} */`] : []),
    ]);
  }

  #braces(members: readonly string[]): string {
    // A space before a comment costs no token and is easier to read.
    return `{${members.map((member, index) => (index > 0 && member.startsWith("/**") ? ` ${member}` : member)).join(",")}}`;
  }

  #field({ name, optional, use }: Field): string {
    const comment = this.#commentOf(use);
    return `${comment}${toFieldName(name)}${optional ? "?" : ""}:${this.#named(use.node, false)}`;
  }

  #union({ members, omitted }: CombinedNode): string {
    const more = omitted > 0 ? `/* …${omitted} more */` : "";
    return `${members.map((member) => this.#use(member, member.node.kind === "intersection")).join("|")}${more}`;
  }

  /** Merges objects without a name into one object, unless they share a field. */
  #intersection({ members }: CombinedNode): string {
    const merged: ObjectNode[] = [];
    const parts: string[] = [];
    const names = new Set<string>();
    for (const member of members) {
      const { node } = member;
      const isMergeable =
        node.kind === "object" &&
        !this.#aliases.has(node) &&
        node.indexes.length === 0 &&
        node.fields.every(({ name }) => !names.has(name));
      if (isMergeable) {
        merged.push(node);
        for (const { name } of node.fields) names.add(name);
      } else parts.push(this.#use(member, true));
    }
    const [first] = merged;
    if (first !== undefined) {
      const fields = merged.flatMap((node) => node.fields);
      const omitted = merged.reduce((sum, node) => sum + node.omitted, 0);
      parts.push(this.#object({ ...first, fields, omitted }));
    }
    return parts.join("&");
  }
}
