/**
 * Runs in the check's thread. Finds promises of calls that a program uses as if they were the calls' outputs.
 *
 * - Some of these uses throw: a loop over the promise, an input that holds it. Others silently give nonsense (a
 *   property that a promise does not have, `[object Promise]` in a text) and are wrong wherever the program reaches
 *   them.
 * - Uses that are odd but right for a promise are left alone: comparisons, conditions on a variable, `??`.
 */
import { cutShort } from "../contract/cut-short.ts";
import type ts from "@typescript/typescript6";
import type { CallSite } from "./call-sites.ts";
import type { Reachabilities } from "./reachability.ts";
import type { Finding } from "./finding.ts";
import type { LinkedProgram } from "./linked-program.ts";
import type { TypeScript } from "./load-typescript.ts";
import { isPromise, isTarget, type PromiseUse, promisesOf } from "./promise-uses.ts";
import { bare, callOf, whole } from "./syntax.ts";

interface Misuse {
  readonly node: ts.Node;
  /** What the program does with the promise. */
  readonly verb: string;
  /** Whether the program throws there; otherwise it goes on with nonsense. */
  readonly throws: boolean;
}

export function findMissingAwaits(
  linked: LinkedProgram,
  sites: readonly CallSite[],
  reachabilities: Reachabilities,
): Finding[] {
  return promisesOf(linked, sites).flatMap((use) => {
    const misuse = misuseOf(linked, use);
    if (misuse === undefined) return [];
    const { node, verb, throws } = misuse;
    return [
      {
        code: "missing_await" as const,
        node,
        what: `Cannot ${verb}: the call of "${use.tool}" gives a promise, ${remedyFor(use, misuse)}`,
        isProvable: throws
          ? reachabilities.of(node) === "certain"
          : !use.isKnown && reachabilities.isReached(node),
      },
    ];
  });
}

function remedyFor({ node, isCall }: PromiseUse, { verb }: Misuse): string {
  if (!isCall) return `await the call where "${textOf(node)}" is made`;
  return verb.startsWith("read") ? `write (await ${textOf(node)})` : `write await ${textOf(node)}`;
}

const LONGEST_TEXT = 80;

function textOf(node: ts.Node): string {
  return cutShort(node.getText().replaceAll(/\s+/gu, " "), LONGEST_TEXT);
}

function misuseOf(linked: LinkedProgram, use: PromiseUse): Misuse | undefined {
  const { ts: compiler } = linked;
  const user = whole(compiler, use.node);
  const { parent } = user;
  if (compiler.isPropertyAccessExpression(parent)) return readOf(linked, use, parent, parent.name);
  if (compiler.isElementAccessExpression(parent) && parent.expression === user) {
    return readOf(linked, use, parent, parent.argumentExpression);
  }
  if (compiler.isTemplateSpan(parent) && !compiler.isTaggedTemplateExpression(parent.parent.parent)) {
    return { node: user, verb: "put a promise into a text", throws: false };
  }
  if (compiler.isForOfStatement(parent) && parent.expression === user) {
    return { node: user, verb: "loop over a promise", throws: true };
  }
  if (compiler.isSpreadElement(parent)) return { node: user, verb: "spread a promise", throws: true };
  if (compiler.isSpreadAssignment(parent)) return { node: user, verb: "spread a promise", throws: false };
  if (callOf(compiler, use.node) !== undefined) return { node: user, verb: "call a promise", throws: true };
  if (compiler.isVariableDeclaration(parent) && parent.initializer === user)
    return destructureOf(linked, use, parent);
  if (compiler.isBinaryExpression(parent) && isArithmetic(compiler, parent)) {
    return { node: user, verb: "calculate with a promise", throws: false };
  }
  if (use.isCall && isCondition(compiler, user)) {
    return { node: user, verb: "decide on a promise, which is always true", throws: false };
  }
  return carriedOf(linked, user);
}

function readOf(
  linked: LinkedProgram,
  use: PromiseUse,
  read: ts.Expression,
  key: ts.Node,
): Misuse | undefined {
  const { ts: compiler, checker } = linked;
  const isIndex = compiler.isNumericLiteral(key);
  if (!isIndex && !compiler.isIdentifier(key) && !compiler.isStringLiteralLike(key)) return undefined;
  if (compiler.isElementAccessExpression(read) && compiler.isIdentifier(key)) return undefined;
  const type = checker.getTypeAtLocation(use.node);
  if (!isIndex && checker.getPropertyOfType(checker.getApparentType(type), key.text) !== undefined)
    return undefined;
  if (isTarget(compiler, read) || isTested(compiler, read)) return undefined;
  return { node: key, verb: `read "${key.text}" of a promise`, throws: false };
}

/** Whether the program tests what the property is, or has a value to use instead. */
function isTested(compiler: TypeScript, read: ts.Node): boolean {
  let at = whole(compiler, read);
  // The end of the chain decides: `p?.a?.b ?? 0`.
  while (
    (compiler.isPropertyAccessExpression(at.parent) ||
      compiler.isElementAccessExpression(at.parent) ||
      compiler.isCallExpression(at.parent)) &&
    at.parent.expression === at
  ) {
    at = whole(compiler, at.parent);
  }
  const { parent } = at;
  if (compiler.isBinaryExpression(parent)) {
    const { kind } = parent.operatorToken;
    const { SyntaxKind } = compiler;
    return (
      kind === SyntaxKind.QuestionQuestionToken ||
      kind === SyntaxKind.BarBarToken ||
      kind === SyntaxKind.AmpersandAmpersandToken ||
      (kind >= SyntaxKind.EqualsEqualsToken && kind <= SyntaxKind.ExclamationEqualsEqualsToken)
    );
  }
  return compiler.isTypeOfExpression(parent) || isCondition(compiler, at);
}

function isCondition(compiler: TypeScript, node: ts.Node): boolean {
  const { parent } = node;
  if (compiler.isIfStatement(parent) || compiler.isWhileStatement(parent)) return parent.expression === node;
  if (compiler.isConditionalExpression(parent)) return parent.condition === node;
  return compiler.isPrefixUnaryExpression(parent) && parent.operator === compiler.SyntaxKind.ExclamationToken;
}

function isArithmetic(compiler: TypeScript, { operatorToken: { kind } }: ts.BinaryExpression): boolean {
  const { SyntaxKind } = compiler;
  return (
    kind === SyntaxKind.PlusToken ||
    kind === SyntaxKind.MinusToken ||
    kind === SyntaxKind.AsteriskToken ||
    kind === SyntaxKind.SlashToken ||
    kind === SyntaxKind.PercentToken
  );
}

function destructureOf(
  { ts: compiler, checker }: LinkedProgram,
  use: PromiseUse,
  { name }: ts.VariableDeclaration,
): Misuse | undefined {
  if (compiler.isArrayBindingPattern(name)) return { node: name, verb: "take a promise apart", throws: true };
  if (!compiler.isObjectBindingPattern(name)) return undefined;
  const type = checker.getApparentType(checker.getTypeAtLocation(use.node));
  const unknown = name.elements.find(({ propertyName, name: target, initializer, dotDotDotToken }) => {
    const key = propertyName ?? target;
    if (!compiler.isIdentifier(key) || initializer !== undefined || dotDotDotToken !== undefined)
      return false;
    return checker.getPropertyOfType(type, key.text) === undefined;
  });
  if (unknown === undefined) return undefined;
  const key = unknown.propertyName ?? unknown.name;
  return { node: key, verb: `read "${key.getText()}" of a promise`, throws: false };
}

/** A promise that would have to become JSON: a call's input, or a part of an input or of the returned value. */
function carriedOf(linked: LinkedProgram, user: ts.Node): Misuse | undefined {
  const { ts: compiler } = linked;
  let at = user;
  while (isPart(compiler, at.parent)) {
    at = at.parent;
    // An object with `toJSON` chooses its own JSON.
    if (
      compiler.isObjectLiteralExpression(at) &&
      at.properties.some(({ name }) => name?.getText() === "toJSON")
    ) {
      return undefined;
    }
  }
  const carrier = whole(compiler, at);
  const { parent } = carrier;
  if (compiler.isReturnStatement(parent) || (compiler.isArrowFunction(parent) && parent.body === carrier)) {
    return at !== user && isResult(linked, parent)
      ? { node: user, verb: "return a promise inside a value", throws: true }
      : undefined;
  }
  if (!compiler.isCallExpression(parent) || parent.expression === carrier) return undefined;
  const callee = bare(compiler, parent.expression);
  const isTool =
    compiler.isPropertyAccessExpression(callee) &&
    compiler.isIdentifier(callee.expression) &&
    callee.expression.text === "tools" &&
    isPromise(linked, parent);
  return isTool ? { node: user, verb: "pass a promise to a tool", throws: true } : undefined;
}

function isPart(compiler: TypeScript, node: ts.Node): boolean {
  return (
    compiler.isPropertyAssignment(node) ||
    compiler.isShorthandPropertyAssignment(node) ||
    compiler.isObjectLiteralExpression(node) ||
    compiler.isArrayLiteralExpression(node) ||
    compiler.isParenthesizedExpression(node)
  );
}

/**
 * Whether this returns the program's result. An implied result that is not JSON is lost without an error, so it does
 * not count.
 */
function isResult(
  { ts: compiler, main, isResultImplied }: LinkedProgram,
  returning: ts.ReturnStatement | ts.ArrowFunction,
): boolean {
  if (isResultImplied) return false;
  let at: ts.Node = returning;
  for (;;) {
    while (!compiler.isFunctionLike(at)) at = at.parent;
    if (at === main) return true;
    // The program may be a function that is called at once and whose promise is returned.
    const call = callOf(compiler, at);
    if (call === undefined) return false;
    const user = whole(compiler, call);
    if (!compiler.isReturnStatement(user.parent)) return false;
    at = user.parent;
  }
}
