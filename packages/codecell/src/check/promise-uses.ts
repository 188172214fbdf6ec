/**
 * Runs in the check's thread. Finds where a program uses the promises of its calls.
 *
 * The call itself is a use, and so is every read of a variable that holds the promise and never anything else. A
 * promise that the program hands on, or gives properties, is left out: nobody knows which properties it has then.
 */
import type ts from "@typescript/typescript6";
import type { CallSite } from "./call-sites.ts";
import type { LinkedProgram } from "./linked-program.ts";
import type { TypeScript } from "./load-typescript.ts";
import { isAwaited, isConst, visitNodes, whole } from "./syntax.ts";

export interface PromiseUse {
  readonly node: ts.Expression;
  readonly tool: string;
  readonly isCall: boolean;
  /** Whether the program knows that this is a promise: it awaits the promise elsewhere. */
  readonly isKnown: boolean;
}

export function promisesOf(linked: LinkedProgram, sites: readonly CallSite[]): PromiseUse[] {
  const { ts: compiler, checker, main } = linked;
  const uses: PromiseUse[] = [];
  const held = new Map<ts.Symbol, string>();
  let isTampered = false;
  for (const { call, name } of sites) {
    if (!isPromise(linked, call)) continue;
    uses.push({ node: call, tool: name, isCall: true, isKnown: false });
    const { parent } = whole(compiler, call);
    if (!compiler.isVariableDeclaration(parent) || !compiler.isIdentifier(parent.name)) continue;
    const symbol = checker.getSymbolAtLocation(parent.name);
    if (symbol !== undefined) held.set(symbol, name);
  }
  const reads = new Map<ts.Symbol, ts.Identifier[]>();
  visitNodes(compiler, main.body ?? main, (node) => {
    if (!compiler.isIdentifier(node)) return;
    if (node.text === "prototype" || node.text === "setPrototypeOf") isTampered = true;
    if (held.size === 0 || (compiler.isVariableDeclaration(node.parent) && node.parent.name === node)) return;
    const symbol = compiler.isShorthandPropertyAssignment(node.parent)
      ? checker.getShorthandAssignmentValueSymbol(node.parent)
      : checker.getSymbolAtLocation(node);
    if (symbol === undefined || !held.has(symbol)) return;
    if (isHandedOn(linked, node) || isWritten(linked, node, symbol)) held.delete(symbol);
    else reads.set(symbol, [...(reads.get(symbol) ?? []), node]);
  });
  if (isTampered) return [];
  for (const [symbol, tool] of held) {
    const nodes = reads.get(symbol) ?? [];
    const isKnown = nodes.some((node) => isAwaited(compiler, node) || isThen(compiler, node));
    for (const node of nodes) if (isPromise(linked, node)) uses.push({ node, tool, isCall: false, isKnown });
  }
  return uses;
}

function isThen(compiler: TypeScript, node: ts.Node): boolean {
  const { parent } = whole(compiler, node);
  return compiler.isPropertyAccessExpression(parent) && parent.name.text === "then";
}

/** Whether other code might give the promise properties. */
function isHandedOn({ ts: compiler }: LinkedProgram, node: ts.Identifier): boolean {
  const user = whole(compiler, node);
  const { parent } = user;
  if (compiler.isCallExpression(parent) && parent.expression !== user) return true;
  return compiler.isPropertyAccessExpression(parent) && isTarget(compiler, parent);
}

/** Whether the variable may hold something else from here on. */
function isWritten(
  { ts: compiler }: LinkedProgram,
  node: ts.Identifier,
  { declarations }: ts.Symbol,
): boolean {
  const [declared, again] = declarations ?? [];
  const isVariable = declared !== undefined && compiler.isVariableDeclaration(declared);
  if (isVariable && isConst(compiler, declared)) return false;
  const { parent } = whole(compiler, node);
  return (
    again !== undefined ||
    isTarget(compiler, node) ||
    compiler.isPostfixUnaryExpression(parent) ||
    (compiler.isPrefixUnaryExpression(parent) && parent.operator !== compiler.SyntaxKind.ExclamationToken) ||
    ((compiler.isForInStatement(parent) || compiler.isForOfStatement(parent)) &&
      parent.expression !== whole(compiler, node)) ||
    // The targets of destructuring assignments look like these.
    compiler.isArrayLiteralExpression(parent) ||
    compiler.isPropertyAssignment(parent) ||
    compiler.isShorthandPropertyAssignment(parent) ||
    compiler.isSpreadElement(parent) ||
    compiler.isSpreadAssignment(parent)
  );
}

/** Whether the program writes or deletes here. */
export function isTarget(compiler: TypeScript, node: ts.Node): boolean {
  const target = whole(compiler, node);
  const { parent } = target;
  if (compiler.isBinaryExpression(parent) && parent.left === target) {
    const { kind } = parent.operatorToken;
    return kind >= compiler.SyntaxKind.FirstAssignment && kind <= compiler.SyntaxKind.LastAssignment;
  }
  return compiler.isDeleteExpression(parent);
}

export function isPromise({ checker }: LinkedProgram, node: ts.Node): boolean {
  const type = checker.getTypeAtLocation(node);
  return !type.isUnion() && type.getSymbol()?.name === "Promise";
}
