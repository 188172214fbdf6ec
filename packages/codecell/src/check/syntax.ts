/**
 * Runs in the check's thread. Answers small questions about the compiler's tree.
 *
 * Parentheses, `!` and `satisfies` make no difference here; `as` does.
 */
import type ts from "@typescript/typescript6";
import type { TypeScript } from "./load-typescript.ts";

function isWrapper(
  compiler: TypeScript,
  node: ts.Node,
): node is ts.ParenthesizedExpression | ts.NonNullExpression | ts.SatisfiesExpression {
  return (
    compiler.isParenthesizedExpression(node) ||
    compiler.isNonNullExpression(node) ||
    compiler.isSatisfiesExpression(node)
  );
}

/** The expression without parentheses, `!` and `satisfies` around it. */
export function bare(compiler: TypeScript, node: ts.Expression): ts.Expression {
  let inner = node;
  while (isWrapper(compiler, inner)) inner = inner.expression;
  return inner;
}

/** The expression with all parentheses, `!` and `satisfies` around it. */
export function whole(compiler: TypeScript, node: ts.Node): ts.Node {
  let outer = node;
  while (isWrapper(compiler, outer.parent)) outer = outer.parent;
  return outer;
}

/** The call whose callee is this expression; undefined for `f?.()`. */
export function callOf(compiler: TypeScript, node: ts.Node): ts.CallExpression | undefined {
  const callee = whole(compiler, node);
  const { parent } = callee;
  const isCalled =
    compiler.isCallExpression(parent) &&
    parent.expression === callee &&
    parent.questionDotToken === undefined;
  return isCalled ? parent : undefined;
}

/** Methods that call their argument: at once, with every element, or when a promise is fulfilled. */
const CALLERS: ReadonlySet<string> = new Set(
  "map flatMap forEach filter find findIndex findLast findLastIndex some every reduce reduceRight from then".split(
    " ",
  ),
);

/** The method that gets a function as an argument and calls it; undefined for other methods. */
export function callerOf(compiler: TypeScript, user: ts.Node): ts.PropertyAccessExpression | undefined {
  const { parent } = user;
  if (!compiler.isCallExpression(parent) || parent.expression === user) return undefined;
  const callee = parent.expression;
  return compiler.isPropertyAccessExpression(callee) && CALLERS.has(callee.name.text) ? callee : undefined;
}

export interface Member {
  readonly node: ts.PropertyAccessExpression | ts.ElementAccessExpression;
  readonly name: string;
  readonly nameNode: ts.Node;
}

/** Parses `object.name` and `object["name"]`; undefined for computed names and for `?.`. */
export function memberOf(compiler: TypeScript, node: ts.Node): Member | undefined {
  if (compiler.isPropertyAccessExpression(node)) {
    if (node.questionDotToken !== undefined || !compiler.isIdentifier(node.name)) return undefined;
    return { node, name: node.name.text, nameNode: node.name };
  }
  if (!compiler.isElementAccessExpression(node) || node.questionDotToken !== undefined) return undefined;
  const { argumentExpression: key } = node;
  return compiler.isStringLiteralLike(key) ? { node, name: key.text, nameNode: key } : undefined;
}

export function isAwaited(compiler: TypeScript, node: ts.Node): boolean {
  return compiler.isAwaitExpression(whole(compiler, node).parent);
}

/** Visits all nodes in the order of the text. */
export function visitNodes(compiler: TypeScript, root: ts.Node, visit: (node: ts.Node) => void): void {
  const open: ts.Node[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    visit(node);
    const children: ts.Node[] = [];
    compiler.forEachChild(node, (child) => {
      children.push(child);
    });
    for (const child of children.toReversed()) open.push(child);
  }
}

export function isConst(compiler: TypeScript, node: ts.VariableDeclaration): boolean {
  return (
    (node.parent.flags & compiler.NodeFlags.Const) !== 0 && compiler.isVariableDeclarationList(node.parent)
  );
}
