/**
 * Runs in the check's thread. Reachability says what a failure at some place of a program leads to.
 *
 * - `certain`: whenever the program gets there, the run fails. This includes calls that nobody awaits: a run waits
 *   for them before it completes, and their rejections fail it.
 * - `caught`: something in the program may handle the failure.
 * - `unreached`: the program may never get there, or the check cannot tell. Examples: dead code, a branch that
 *   constants decide, a function that nothing seems to call, code under `@ts-ignore`.
 *
 * A branch that depends on data counts as reached. In doubt a place is `unreached`.
 */
import type ts from "@typescript/typescript6";
import type { LinkedProgram } from "./linked-program.ts";
import { bare, callerOf, callOf, isAwaited, isConst, visitNodes, whole } from "./syntax.ts";

export type Reachability = "certain" | "caught" | "unreached";

const CATCHERS: ReadonlySet<string> = new Set(["catch", "allSettled", "any", "race"]);
const UNREACHABLE_CODE = 7027;
const SUPPRESSED = /^\s*(?:\/\/|\/\*)\s*@ts-(?:ignore|expect-error)\b/u;
const UNCHECKED = /^\s*\/\/\s*@ts-nocheck\b/mu;

export class Reachabilities {
  readonly #linked: LinkedProgram;
  readonly #dead: readonly ts.TextRange[];
  readonly #isUnchecked: boolean;
  readonly #lines: readonly string[];
  readonly #references = new Map<ts.Symbol, ts.Identifier[]>();
  /** Whether anything in the program can keep a rejection from failing the run. */
  #hasCatcher = false;

  constructor(linked: LinkedProgram, diagnostics: readonly ts.Diagnostic[]) {
    this.#linked = linked;
    this.#dead = diagnostics
      .filter(({ code }) => code === UNREACHABLE_CODE)
      .map(({ start = 0, length = 0 }) => ({ pos: start, end: start + length }));
    this.#isUnchecked = UNCHECKED.test(linked.file.text);
    this.#lines = linked.file.text.split(/\r\n|\n/u);
    const { ts: compiler, main, checker } = linked;
    visitNodes(compiler, main.body ?? main, (node) => {
      this.#hasCatcher ||= this.#isCatcher(node);
      if (!compiler.isIdentifier(node)) return;
      const symbol = checker.getSymbolAtLocation(node);
      if (symbol === undefined) return;
      const known = this.#references.get(symbol);
      if (known === undefined) this.#references.set(symbol, [node]);
      else known.push(node);
    });
  }

  /** For a call whose promise will be rejected, or an expression that throws. */
  of(node: ts.Node): Reachability {
    const { ts: compiler } = this.#linked;
    if (!this.isReached(node)) return "unreached";
    let isInside = false;
    for (let at = node; at !== this.#linked.main; at = at.parent) {
      if (compiler.isTryStatement(at.parent)) return "caught";
      if (compiler.isFunctionLike(at.parent) && at.parent !== this.#linked.main) isInside = true;
    }
    const isLoose = compiler.isCallExpression(node) && !isAwaited(compiler, node);
    return this.#hasCatcher && (isInside || isLoose) ? "caught" : "certain";
  }

  /** Whether the program can be assumed to get there. */
  isReached(node: ts.Node): boolean {
    return this.#isReached(node, new Set());
  }

  #isReached(node: ts.Node, seen: Set<ts.Node>): boolean {
    const { ts: compiler, main } = this.#linked;
    if (this.#isUnchecked || this.#isSuppressed(node)) return false;
    const start = node.getStart();
    if (this.#dead.some(({ pos, end }) => pos <= start && start < end)) return false;
    for (let at = node; at !== main; at = at.parent) {
      const { parent } = at;
      if (this.#isDecided(parent, at)) return false;
      if (compiler.isCatchClause(parent) || compiler.isParameter(parent) || compiler.isClassLike(parent))
        return false;
      if (parent !== main && compiler.isFunctionLike(parent) && !this.#isCalled(parent, seen)) return false;
    }
    return true;
  }

  /** Whether constants decide a branch: somebody switches such code on and off by hand. */
  #isDecided(parent: ts.Node, branch: ts.Node): boolean {
    const { ts: compiler } = this.#linked;
    if (
      compiler.isIfStatement(parent) ||
      compiler.isWhileStatement(parent) ||
      compiler.isSwitchStatement(parent)
    ) {
      return branch !== parent.expression && this.#isConstant(parent.expression);
    }
    if (compiler.isConditionalExpression(parent)) {
      return branch !== parent.condition && this.#isConstant(parent.condition);
    }
    if (compiler.isForOfStatement(parent)) {
      let list = bare(compiler, parent.expression);
      if (compiler.isAsExpression(list)) list = bare(compiler, list.expression);
      return compiler.isArrayLiteralExpression(list) && list.elements.length === 0;
    }
    if (compiler.isForStatement(parent)) {
      return (
        branch === parent.statement && parent.condition !== undefined && this.#isConstant(parent.condition)
      );
    }
    if (!compiler.isBinaryExpression(parent) || branch !== parent.right) return false;
    const { kind } = parent.operatorToken;
    const isLogical =
      kind === compiler.SyntaxKind.AmpersandAmpersandToken ||
      kind === compiler.SyntaxKind.BarBarToken ||
      kind === compiler.SyntaxKind.QuestionQuestionToken;
    return isLogical && this.#isConstant(parent.left);
  }

  /**
   * Whether a condition has the same value in every run. `while (true)` does not count: that is how a loop is
   * written.
   */
  #isConstant(condition: ts.Expression): boolean {
    const { ts: compiler, checker } = this.#linked;
    const inner = bare(compiler, condition);
    if (inner.kind === compiler.SyntaxKind.TrueKeyword) return false;
    if (compiler.isPrefixUnaryExpression(inner) && this.#isConstant(inner.operand)) return true;
    if (compiler.isBinaryExpression(inner) && this.#isConstant(inner.left) && this.#isConstant(inner.right)) {
      return true;
    }
    const { Unit, Never } = compiler.TypeFlags;
    return (checker.getTypeAtLocation(inner).flags & (Unit | Never)) !== 0;
  }

  #isCalled(fn: ts.SignatureDeclaration, seen: Set<ts.Node>): boolean {
    const { ts: compiler, checker } = this.#linked;
    if (seen.has(fn)) return false;
    seen.add(fn);
    if (compiler.isFunctionDeclaration(fn)) return this.#isNameCalled(fn.name, fn, seen);
    if (!compiler.isArrowFunction(fn) && !compiler.isFunctionExpression(fn)) return false;
    if (fn.asteriskToken !== undefined) return false;
    if (callOf(compiler, fn) !== undefined) return true;
    const user = whole(compiler, fn);
    const { parent } = user;
    if (compiler.isVariableDeclaration(parent) && compiler.isIdentifier(parent.name)) {
      return isConst(compiler, parent) && this.#isNameCalled(parent.name, fn, seen);
    }
    if (compiler.isNewExpression(parent)) {
      return checker.getTypeAtLocation(parent.expression).getSymbol()?.name === "PromiseConstructor";
    }
    return this.#isGiven(user);
  }

  /** Whether a function is the argument of a method that calls it. */
  #isGiven(user: ts.Node): boolean {
    const { ts: compiler, checker } = this.#linked;
    const callee = callerOf(compiler, user);
    if (callee === undefined) return false;
    const method = checker.getSymbolAtLocation(callee.name)?.valueDeclaration;
    // The object has no known type, so it is data: take the method for the array's.
    if (method === undefined) return true;
    const owner = compiler.isInterfaceDeclaration(method.parent) ? method.parent.name.text : "";
    // Methods of iterators call the function only when somebody wants the next element.
    return method.getSourceFile() !== this.#linked.file && !owner.startsWith("Iterator");
  }

  #isNameCalled(name: ts.Identifier | undefined, fn: ts.SignatureDeclaration, seen: Set<ts.Node>): boolean {
    const { ts: compiler, checker } = this.#linked;
    if (name === undefined || ("asteriskToken" in fn && fn.asteriskToken !== undefined)) return false;
    const symbol = checker.getSymbolAtLocation(name);
    const references = symbol === undefined ? [] : (this.#references.get(symbol) ?? []);
    return references.some((reference) => {
      if (reference === name || isWithin(reference, fn)) return false;
      const isUsed = callOf(compiler, reference) !== undefined || this.#isGiven(whole(compiler, reference));
      return isUsed && this.#isReached(reference, seen);
    });
  }

  #isCatcher(node: ts.Node): boolean {
    const { ts: compiler } = this.#linked;
    if (compiler.isTryStatement(node)) return true;
    if (compiler.isElementAccessExpression(node)) {
      const { argumentExpression: key } = node;
      if (compiler.isStringLiteralLike(key)) return CATCHERS.has(key.text) || key.text === "then";
      return callOf(compiler, node) !== undefined;
    }
    if (compiler.isBindingElement(node)) {
      const key = node.propertyName ?? node.name;
      return compiler.isIdentifier(key) && (CATCHERS.has(key.text) || key.text === "then");
    }
    if (!compiler.isPropertyAccessExpression(node)) return false;
    if (CATCHERS.has(node.name.text)) return true;
    if (node.name.text !== "then") return false;
    const [first, ...others] = callOf(compiler, node)?.arguments ?? [];
    return first === undefined || others.length > 0 || compiler.isSpreadElement(first);
  }

  /** Whether the model has written `@ts-ignore` on the line before: it claims to know better. */
  #isSuppressed(node: ts.Node): boolean {
    const { file } = this.#linked;
    const { line } = file.getLineAndCharacterOfPosition(node.getStart());
    return SUPPRESSED.test(this.#lines[line - 1] ?? "");
  }
}

function isWithin(node: ts.Node, ancestor: ts.Node): boolean {
  return node.pos >= ancestor.pos && node.end <= ancestor.end;
}
