/**
 * Tree: the parts of the parser's syntax tree that this folder needs, and a walk over the tree. Runs anywhere.
 *
 * - The walk keeps its own stack instead of recursing, so it can walk a tree of any depth.
 * - The walk does not visit names that are not references (property names, labels): every visited `Identifier` is a
 *   variable that is read, written or declared. It does not visit types inside expressions either.
 */

export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** Called for each node, parents first. Returns whether to visit the node's children. */
export type Visit = (node: SyntaxNode, insideFunction: boolean) => boolean;

const FUNCTIONS: ReadonlySet<string> = new Set([
  "ArrowFunctionExpression",
  "ClassMethod",
  "ClassPrivateMethod",
  "FunctionDeclaration",
  "FunctionExpression",
  "ObjectMethod",
]);

export function walk(root: SyntaxNode, visit: Visit): void {
  const nodes: SyntaxNode[] = [root];
  const inside: boolean[] = [false];
  for (let node = nodes.pop(); node !== undefined; node = nodes.pop()) {
    const insideFunction = inside.pop() === true;
    if (!visit(node, insideFunction)) continue;
    const skipped = skippedField(node);
    const below = insideFunction || FUNCTIONS.has(node.type);
    for (const field in node) {
      if (field === skipped || field === "loc" || field === "extra") continue;
      const value = node[field];
      if (typeof value !== "object" || value === null) continue;
      if (Array.isArray(value)) {
        for (const item of value as readonly unknown[]) {
          if (!isNode(item)) continue;
          nodes.push(item);
          inside.push(below);
        }
      } else if (isNode(value)) {
        nodes.push(value);
        inside.push(below);
      }
    }
  }
}

export function isNode(value: unknown): value is SyntaxNode {
  return (
    typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string"
  );
}

export function child(node: SyntaxNode, field: string): SyntaxNode | undefined {
  const value = node[field];
  return isNode(value) ? value : undefined;
}

export function children(node: SyntaxNode, field: string): readonly SyntaxNode[] {
  const value = node[field];
  return Array.isArray(value) ? (value as readonly unknown[]).filter(isNode) : [];
}

export function isParenthesized(node: SyntaxNode): boolean {
  const extra = node["extra"];
  return (
    typeof extra === "object" && extra !== null && "parenthesized" in extra && extra.parenthesized === true
  );
}

/** Removes parentheses and types around an expression. */
export function bareExpression(node: SyntaxNode): SyntaxNode {
  let bare = node;
  for (;;) {
    switch (bare.type) {
      case "TSAsExpression":
      case "TSSatisfiesExpression":
      case "TSNonNullExpression":
      case "TSTypeAssertion":
      case "TSInstantiationExpression": {
        const inner = child(bare, "expression");
        if (inner === undefined) return bare;
        bare = inner;
        break;
      }
      default:
        return bare;
    }
  }
}

function skippedField(node: SyntaxNode): string | undefined {
  switch (node.type) {
    case "MemberExpression":
    case "OptionalMemberExpression":
      return node["computed"] === true ? undefined : "property";
    case "ObjectProperty":
    case "ObjectMethod":
    case "ClassMethod":
    case "ClassProperty":
    case "ClassAccessorProperty":
      return node["computed"] === true ? undefined : "key";
    case "ClassPrivateMethod":
    case "ClassPrivateProperty":
      return "key";
    case "PrivateName":
      return "id";
    case "BreakStatement":
    case "ContinueStatement":
    case "LabeledStatement":
      return "label";
    case "TSAsExpression":
    case "TSSatisfiesExpression":
    case "TSTypeAssertion":
      return "typeAnnotation";
    case "ClassDeclaration":
    case "ClassExpression":
      return "implements";
    default:
      return undefined;
  }
}
