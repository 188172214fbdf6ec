/**
 * Blank: removes the types from TypeScript text without moving or changing anything else. Runs anywhere.
 *
 * - Text that exists only for the type checker becomes spaces. Constructs for which TypeScript would generate code
 *   (enums, namespaces, parameter properties) are refused with advice, and so is every unknown TypeScript node.
 * - A blanked declaration or class member leaves a `;`, so that its neighbours stay apart.
 * - A blanked type must not leave a line break between `)` and `=>`, or between `return` and a value: in these cases
 *   the bracket moves to the other side of the type.
 * - A cast in angle brackets becomes a pair of parentheses, so that the text after the cast cannot become a block, a
 *   declaration or a new statement.
 */

import { blankMember } from "./blank-member.ts";
import type { Edits } from "./edits.ts";
import { child, children, isParenthesized, type SyntaxNode } from "./tree.ts";

export interface Refusal {
  readonly node: SyntaxNode;
  readonly what: string;
}

/** What to do with a node: visit its children, skip them, or refuse the source. */
export type Blanked = "inside" | "done" | Refusal;

/** Whether a statement exists only for the type checker. */
export function isErased(node: SyntaxNode): boolean {
  switch (node.type) {
    case "TSInterfaceDeclaration":
    case "TSTypeAliasDeclaration":
    case "TSDeclareFunction":
      return true;
    case "ImportDeclaration":
      return node["importKind"] === "type";
    case "ExportNamedDeclaration":
    case "ExportAllDeclaration":
      return node["exportKind"] === "type";
    case "ExportDefaultDeclaration": {
      const declaration = child(node, "declaration");
      return declaration !== undefined && isErased(declaration);
    }
    default:
      return node["declare"] === true && !node.type.endsWith("Property");
  }
}

export function blankTypes(edits: Edits, node: SyntaxNode): Blanked {
  if (isErased(node)) {
    edits.erase(node);
    return "done";
  }
  switch (node.type) {
    case "TSTypeParameterInstantiation":
      if (isFollowedBy(edits, node, /[+<>[-]/u)) return { node, what: BRACKETS_AROUND_TYPES };
      edits.blank(node.start, node.end);
      return "done";
    case "TSTypeAnnotation":
    case "TSTypeParameterDeclaration":
      edits.blank(node.start, node.end);
      return "done";
    case "TSAsExpression":
    case "TSSatisfiesExpression":
      return blankSuffix(edits, node);
    case "TSNonNullExpression":
      edits.blank(node.end - 1, node.end);
      return "inside";
    case "TSInstantiationExpression":
      return "inside";
    case "TSTypeAssertion":
      return blankCast(edits, node);
    case "BinaryExpression":
      return regroups(node)
        ? { node, what: 'Put brackets around the expression before "as" or "satisfies"' }
        : "inside";
    case "NewExpression": {
      const types = child(node, "typeArguments");
      if (types?.end === node.end && isFollowedBy(edits, node, /[[.?`]/u))
        return { node, what: ARGUMENTS_AFTER_TYPES };
      return "inside";
    }
    case "ArrowFunctionExpression":
      blankArrow(edits, node);
      return "inside";
    case "FunctionDeclaration":
    case "FunctionExpression":
    case "ObjectMethod":
      blankThisParameter(edits, node);
      return "inside";
    case "Identifier":
      if (node["optional"] === true) blankMark(edits, node, "?");
      return "inside";
    case "VariableDeclarator": {
      const id = child(node, "id");
      if (node["definite"] === true && id !== undefined) blankMark(edits, id, "!");
      return "inside";
    }
    case "ForStatement":
    case "ForInStatement":
    case "ForOfStatement": {
      const head = child(node, "init") ?? child(node, "left");
      if (head !== undefined) edits.closeEnd(head);
      return "inside";
    }
    case "Program":
    case "BlockStatement":
      guardDirective(edits, children(node, "body")[0]);
      return "inside";
    case "ExpressionStatement":
    case "VariableDeclaration":
    case "ReturnStatement":
    case "ThrowStatement":
      edits.noteEnd(node);
      return "inside";
    case "ClassDeclaration":
    case "ClassExpression":
      blankClassHead(edits, node);
      return "inside";
    case "ClassMethod":
    case "ClassPrivateMethod":
      blankThisParameter(edits, node);
      return blankMember(edits, node);
    case "ClassProperty":
    case "ClassPrivateProperty":
    case "TSIndexSignature":
    case "TSDeclareMethod":
      return blankMember(edits, node);
    default:
      return node.type.startsWith("TS") ? { node, what: ADVICE[node.type] ?? UNKNOWN } : "inside";
  }
}

const UNKNOWN = "This TypeScript construct is not supported, write it in plain JavaScript";

const BRACKETS_AROUND_TYPES =
  "Put brackets around the expression with type arguments, or end it with a semicolon";
const ARGUMENTS_AFTER_TYPES =
  "Write the arguments of new after its type arguments, even if there are none: new A<T>()";

const ADVICE: Readonly<Record<string, string>> = {
  TSEnumDeclaration:
    '"enum" is not supported, write a constant object: const Color = { Red: 0, Green: 1 } as const',
  TSModuleDeclaration: '"namespace" is not supported, write a constant object or plain functions',
  TSParameterProperty:
    "Parameter properties are not supported, declare the field and assign it in the constructor: this.x = x",
};

function blankSuffix(edits: Edits, node: SyntaxNode): Blanked {
  const expression = child(node, "expression");
  if (expression === undefined) return { node, what: UNKNOWN };
  let keyword = edits.skipForward(expression.end);
  while (edits.source[keyword] === ")") keyword = edits.skipForward(keyword + 1);
  edits.blank(keyword, node.end);
  return "inside";
}

function blankCast(edits: Edits, node: SyntaxNode): Blanked {
  const annotation = child(node, "typeAnnotation");
  if (annotation === undefined) return { node, what: UNKNOWN };
  edits.blank(node.start, edits.skipForward(annotation.end) + 1);
  edits.put(node.start, "(");
  edits.insert(node.end, ")");
  return "inside";
}

/** `a + b as T * c` groups as `(a + b) * c`. Without the type the text would group differently. */
function regroups(node: SyntaxNode): boolean {
  let left = child(node, "left");
  let typed = false;
  while (left !== undefined && !isParenthesized(left) && TYPED.has(left.type)) {
    left = child(left, "expression");
    typed = true;
  }
  if (!typed || left === undefined || isParenthesized(left)) return false;
  if (node["operator"] === "**") return left.type !== "Identifier" && !left.type.endsWith("MemberExpression");
  if (left.type !== "BinaryExpression") return false;
  return precedence(left) < precedence(node);
}

const TYPED: ReadonlySet<string> = new Set(["TSAsExpression", "TSSatisfiesExpression"]);

const PRECEDENCE: readonly string[] = [
  "|",
  "^",
  "&",
  "== != === !==",
  "< > <= >= in instanceof",
  "<< >> >>>",
  "+ -",
  "* / %",
  "**",
];

function precedence(node: SyntaxNode): number {
  const operator = String(node["operator"]);
  return PRECEDENCE.findIndex((level) => level.split(" ").includes(operator));
}

/** Whether the next character is one that TypeScript and the parser read differently after type arguments. */
function isFollowedBy(edits: Edits, node: SyntaxNode, pattern: RegExp): boolean {
  return pattern.test(edits.source.charAt(edits.skipForward(node.end)));
}

function blankArrow(edits: Edits, node: SyntaxNode): void {
  const typeParameters = child(node, "typeParameters");
  if (typeParameters !== undefined) {
    const open = edits.skipForward(typeParameters.end);
    if (edits.hasLineBreak(typeParameters.start, open)) {
      edits.put(typeParameters.start, "(");
      edits.put(open, " ");
    }
  }
  const returnType = child(node, "returnType");
  if (returnType !== undefined) {
    const close = edits.skipBack(returnType.start) - 1;
    if (edits.hasLineBreak(close, returnType.end)) {
      edits.put(close, " ");
      edits.put(returnType.end - 1, ")");
    }
  }
}

function blankThisParameter(edits: Edits, node: SyntaxNode): void {
  const first = children(node, "params")[0];
  if (first?.type !== "Identifier" || first["name"] !== "this") return;
  const after = edits.skipForward(first.end);
  edits.blank(first.start, edits.source[after] === "," ? after + 1 : first.end);
}

/** Blanks the `?` or `!` between a name and its type. */
function blankMark(edits: Edits, target: SyntaxNode, mark: string): void {
  const annotation = child(target, "typeAnnotation");
  const at = (annotation === undefined ? target.end : edits.skipBack(annotation.start)) - 1;
  if (edits.source[at] === mark) edits.blank(at, at + 1);
}

/** A string with a type around it is not a directive and must not become one. */
function guardDirective(edits: Edits, first: SyntaxNode | undefined): void {
  if (first?.type !== "ExpressionStatement") return;
  let expression = child(first, "expression");
  while (expression?.type.startsWith("TS")) expression = child(expression, "expression");
  if (expression?.type === "StringLiteral" && expression.start === first.start)
    edits.insert(first.start, ";");
}

function blankClassHead(edits: Edits, node: SyntaxNode): void {
  if (node["abstract"] === true) edits.blank(node.start, node.start + "abstract".length);
  const list = children(node, "implements");
  const first = list[0];
  const last = list.at(-1);
  if (first === undefined || last === undefined) return;
  edits.blank(edits.skipBack(first.start) - "implements".length, last.end);
}
