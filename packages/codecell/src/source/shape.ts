/**
 * Shape: models do not always write a bare function body. This file decides what the program's result is. Runs
 * anywhere.
 *
 * 1. If the source is one fenced Markdown block, the program is the text inside the block.
 * 2. A program with a `return` of its own (in blocks too, but not inside functions) stays as it is.
 * 3. `export default` may be the last statement. A function, or the name of a function declared at the top level, is
 *    called without arguments; any other expression is the result.
 * 4. If the only statement declares a function, that function is called without arguments.
 * 5. If the last statement is an expression, its value is the result. If this expression is an arrow function or a
 *    function expression, it is called without arguments.
 * 6. Otherwise there is no result.
 *
 * "Last" and "only" do not count empty statements and types. "Last" does not count function declarations either,
 * because they do nothing where they stand. Nothing is unwrapped inside blocks. Generators are never called. A function
 * that would be called but needs arguments is refused, because a program gets no arguments.
 */

import { isErased, type Refusal } from "./blank.ts";
import { blankText, type Edits } from "./edits.ts";
import { bareExpression, child, children, type SyntaxNode } from "./tree.ts";

const FENCED = /^\s*(?<mark>`{3,}|~{3,}(?!~))[^\n`]*\n(?:[^]*\n)?[ \t]*\k<mark>[`~]*\s*$/u;

/** Blanks the two fence lines, so that every offset stays the same. */
export function blankFence(source: string): string {
  const mark = FENCED.exec(source)?.groups?.["mark"];
  if (mark === undefined) return source;
  const bodyStart = source.indexOf("\n", source.indexOf(mark));
  const bodyEnd = source.lastIndexOf("\n", source.trimEnd().length - 1);
  return (
    blankText(source.slice(0, bodyStart)) +
    source.slice(bodyStart, bodyEnd) +
    blankText(source.slice(bodyEnd))
  );
}

export type Shape =
  | {
      readonly kind: "shaped";
      /** Statements that follow the body. */
      readonly tail: string;
      /** Whether the result is the value of the last expression, because the program has no `return`. */
      readonly isImplied: boolean;
    }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  | { readonly kind: "module"; readonly node: SyntaxNode };

/** `ls -la` is also valid JavaScript: it subtracts one undeclared name from another. */
const SHELL = /^\s*[a-z][\w.]*(?:[ \t]+-[a-z]\w*)+\s*$/iu;
const RETURN = "return(";
const UNTOUCHED: Shape = { kind: "shaped", tail: "", isImplied: false };

export function applyShape(edits: Edits, program: SyntaxNode, hasReturn: boolean): Shape {
  const statements = children(program, "body").filter(
    (node) => node.type !== "EmptyStatement" && !isErased(node),
  );
  const last = statements.findLast((node) => node.type !== "FunctionDeclaration");
  const exported = statements.find((node) => node.type === "ExportDefaultDeclaration");
  if (exported !== undefined) {
    return exported === last && !hasReturn
      ? unwrapExport(edits, exported, statements)
      : { kind: "module", node: exported };
  }
  if (hasReturn) return UNTOUCHED;
  const only = statements[0];
  if (statements.length === 1 && only?.type === "FunctionDeclaration") return callByName(only);
  if (statements.length === 1 && only !== undefined && SHELL.test(edits.source)) {
    return { kind: "refused", refusal: { node: only, what: "Expected a program, not a shell command" } };
  }
  if (last?.type === "ExpressionStatement") return returnStatement(edits, last);
  const directive = children(program, "directives").at(-1);
  if (
    statements.length === 0 &&
    directive !== undefined &&
    child(directive, "value")?.["value"] !== "use strict"
  ) {
    return returnStatement(edits, directive);
  }
  return UNTOUCHED;
}

function returnStatement(edits: Edits, statement: SyntaxNode): Shape {
  const expression = child(statement, "expression");
  const called = expression !== undefined && isCallable(bareExpression(expression));
  if (called) {
    const refusal = refuseParameters(bareExpression(expression));
    if (refusal !== undefined) return { kind: "refused", refusal };
  }
  const end = edits.source[statement.end - 1] === ";" ? statement.end - 1 : statement.end;
  edits.closeEnd(statement);
  edits.insert(statement.start, RETURN);
  edits.insert(end, called ? ")()" : ")");
  return { kind: "shaped", tail: "", isImplied: !called };
}

function unwrapExport(edits: Edits, node: SyntaxNode, statements: readonly SyntaxNode[]): Shape {
  const declaration = child(node, "declaration");
  if (declaration === undefined) return { kind: "module", node };
  const bare = bareExpression(declaration);
  const target = bare.type === "Identifier" ? (functionNamed(statements, bare["name"]) ?? bare) : bare;
  if (declaration.type === "ClassDeclaration" || target["generator"] === true)
    return { kind: "module", node };
  const called = isCallable(target);
  const refusal = called ? refuseParameters(target) : undefined;
  if (refusal !== undefined) return { kind: "refused", refusal };

  if (declaration.type === "FunctionDeclaration" && child(declaration, "id") !== undefined) {
    edits.blank(node.start, declaration.start);
    return callByName(declaration);
  }
  const end = edits.source[node.end - 1] === ";" ? node.end - 1 : node.end;
  edits.blank(
    node.start,
    edits.skipForward(edits.skipForward(node.start + "export".length) + "default".length),
  );
  for (let index = 0; index < RETURN.length; index++) edits.put(node.start + index, RETURN.charAt(index));
  edits.insert(end, called ? ")()" : ")");
  return UNTOUCHED;
}

function callByName(declaration: SyntaxNode): Shape {
  if (!isCallable(declaration)) return UNTOUCHED;
  const refusal = refuseParameters(declaration);
  if (refusal !== undefined) return { kind: "refused", refusal };
  return {
    kind: "shaped",
    isImplied: false,
    tail: `return ${String(child(declaration, "id")?.["name"])}()\n`,
  };
}

function isCallable(node: SyntaxNode): boolean {
  if (node["generator"] === true) return false;
  return (
    node.type === "ArrowFunctionExpression" ||
    node.type === "FunctionExpression" ||
    node.type === "FunctionDeclaration"
  );
}

function refuseParameters(node: SyntaxNode): Refusal | undefined {
  const needed = children(node, "params").find(
    (param) =>
      param.type !== "AssignmentPattern" &&
      param.type !== "RestElement" &&
      param["optional"] !== true &&
      !(param.type === "Identifier" && param["name"] === "this"),
  );
  if (needed === undefined) return undefined;
  return {
    node: needed,
    what: "A program is a function without parameters, use the globals instead or call this function with arguments",
  };
}

function functionNamed(statements: readonly SyntaxNode[], name: unknown): SyntaxNode | undefined {
  for (const statement of statements) {
    if (statement.type === "FunctionDeclaration" && child(statement, "id")?.["name"] === name)
      return statement;
    if (statement.type !== "VariableDeclaration" || statement["kind"] !== "const") continue;
    for (const declarator of children(statement, "declarations")) {
      const init = child(declarator, "init");
      if (child(declarator, "id")?.["name"] !== name || init === undefined) continue;
      const bare = bareExpression(init);
      if (isCallable(bare)) return bare;
    }
  }
  return undefined;
}
