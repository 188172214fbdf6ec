/**
 * Intern: merges equal nodes into one node, and records how often and with which comments each is used. Runs anywhere.
 *
 * - Two nodes are equal if they print the same text, whichever schema objects they came from.
 * - Nodes are listed children first.
 */
import { docLine, type Docs } from "./comment.ts";
import { childrenOf, type Definition, type Node, type Use } from "./node.ts";

/** What is known about a type over all its uses. */
export interface Usage {
  readonly id: number;
  /** In how many places of the text the type would be written. */
  uses: number;
  /** The comments at its uses. */
  readonly docs: Set<string>;
  /** The text that its name may be made from. */
  hint: string | undefined;
}

export class Interned {
  readonly docs: Docs;
  readonly roots: readonly Use[];
  /** Has every node once, children before their parents. */
  readonly usages: Map<Node, Usage> = new Map();
  readonly definitions: Map<Definition, Node> = new Map();
  readonly #byKey = new Map<string, Node>();
  readonly #done = new Map<Node, Node>();
  readonly #numbers = new Map<Definition, number>();

  constructor(roots: readonly Use[], docs: Docs) {
    this.docs = docs;
    this.roots = roots.map((root) => this.#use(root, undefined));
    for (const use of [...this.roots, ...[...this.usages.keys()].flatMap(childrenOf)]) this.#count(use);
  }

  /** The node itself, or, for a link, the body that it links to. */
  bodyOf(node: Node): Node {
    return node.kind === "link" ? (this.definitions.get(node.target) ?? node) : node;
  }

  /** The comment of a type's uses, if all of them have the same one. */
  commonDoc(node: Node): string | undefined {
    const [doc, another] = this.usages.get(node)?.docs ?? [];
    return another === undefined ? doc : undefined;
  }

  /** `name` is a fallback for the type's name. */
  #use({ node, doc }: Use, name: string | undefined): Use {
    return { node: this.#intern(node, name), doc };
  }

  #count({ node, doc }: Use): void {
    const usage = this.usages.get(this.bodyOf(node));
    if (usage === undefined) return;
    const line = docLine(doc, this.docs);
    // A use of a type inside itself has no comment. It must not hide the comment that all other uses share.
    if (node.kind !== "link" || line !== "") usage.docs.add(line);
    usage.uses++;
  }

  #intern(node: Node, name: string | undefined): Node {
    const done = this.#done.get(node);
    if (done !== undefined) return done;
    const fresh = this.#withInternedChildren(node, name);
    const key = this.#keyOf(fresh);
    const one = this.#byKey.get(key) ?? fresh;
    this.#done.set(node, one);
    this.#byKey.set(key, one);
    const usage = this.usages.get(one) ?? {
      id: this.usages.size,
      uses: 0,
      docs: new Set<string>(),
      hint: undefined,
    };
    this.usages.set(one, usage);
    usage.hint ??= ("hint" in node ? node.hint : undefined) ?? name;
    if (node.kind === "link" && !this.definitions.has(node.target)) {
      // Reserve the entry before walking the body, because the body links back.
      this.definitions.set(node.target, one);
      this.definitions.set(node.target, this.#intern(node.target.body, node.target.hint ?? name));
    }
    return one;
  }

  #withInternedChildren(node: Node, name: string | undefined): Node {
    switch (node.kind) {
      case "text":
      case "link":
        return node;
      case "array":
        return { ...node, item: this.#use(node.item, name?.replace(/(?<!s)s$/u, "")) };
      case "tuple": {
        const items = node.items.map((item) => this.#use(item, undefined));
        return { ...node, items, rest: node.rest && this.#use(node.rest, undefined) };
      }
      case "object": {
        const fields = node.fields.map((field) => ({
          name: field.name,
          optional: field.optional,
          use: this.#use(field.use, field.name),
        }));
        const indexes = node.indexes.map(({ key, use }) => ({ key, use: this.#use(use, undefined) }));
        return { ...node, fields, indexes };
      }
      case "union":
      case "intersection": {
        const members = node.members.map((member) => this.#use(member, undefined));
        return { ...node, members: [...new Map(members.map((use) => [use.node, use])).values()] };
      }
      default:
        return node satisfies never;
    }
  }

  #keyOf(node: Node): string {
    const say = ({ node: child, doc }: Use): string =>
      `${this.usages.get(child)?.id} ${JSON.stringify(docLine(doc, this.docs))}`;
    switch (node.kind) {
      case "text":
        return `text ${node.text}`;
      case "link":
        return `link ${this.#numberOf(node.target)}`;
      case "array":
        return `array ${say(node.item)}`;
      case "tuple":
        return `tuple ${node.required} ${node.items.map(say).join()} ${node.rest === undefined ? "" : say(node.rest)}`;
      case "object":
        return `object ${node.omitted} ${node.fields
          .map(({ name, optional, use }) => `${JSON.stringify(name)}${optional ? "?" : ""}${say(use)}`)
          .join()} ${node.indexes.map(({ key, use }) => `${key} ${say(use)}`).join()}`;
      case "union":
      case "intersection":
        return `${node.kind} ${node.omitted} ${node.members.map(say).join()}`;
      default:
        return node satisfies never;
    }
  }

  #numberOf(definition: Definition): number {
    const number = this.#numbers.get(definition) ?? this.#numbers.size;
    this.#numbers.set(definition, number);
    return number;
  }
}
